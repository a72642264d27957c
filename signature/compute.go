package signature

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

const (
	// maxSource bounds the decoded text, in bytes, from which the visible text
	// is taken.
	maxSource = 1 << 20
	// minAttachment is the decoded size, in bytes, from which on an attachment
	// signs: below it are short notes and empty archives, which people send to
	// each other without the sender's knowledge.
	minAttachment = 1 << 10
	// minImage is the same for images: below it are logos, buttons and tracking
	// pixels, which spam copies from the mail it imitates.
	minImage = 16 << 10
	// maxAttachments bounds the attachment signatures of one message.
	maxAttachments = 16
	// maxKept bounds the buffers, in bytes, that are kept for the next message.
	maxKept = 1 << 20
)

// Compute signs a message. It reads what mail programs would show, whatever
// the state of the message, at a cost linear in its size: FORMAT.md has the bound.
// Beside m itself it takes memory of up to three times the size of m, where encoded
// messages lie in each other, and up to 64 MiB for images and archives; mostly, of the
// largest part. It is safe for concurrent use, and its calls do not wait for each other.
func Compute(m Message) Set { return ComputeWith(m, nil) }

// ComputeWith is Compute for callers that bound how many messages are unpacked at a time.
// The signatures are the same.
func ComputeWith(m Message, unpacking Unpacking) Set {
	c := computers.Get().(*computer)
	defer c.release()
	c.unpacking = unpacking
	return c.compute(m)
}

func (c *computer) compute(m Message) Set {
	c.origin = originOf(m.Header)
	w := walker{visit: c.leaf, work: &c.work, descend: true}
	limits := w.walk(m)
	c.limits |= limits
	complete := limits&LimitParts == 0
	r := c.readings(m)
	attachments := c.files
	if !r.signsText || !r.bodySigns {
		attachments = addDigests(attachments, c.embedded)
	}
	if !r.signsText {
		attachments = addDigests(attachments, c.inner)
	}
	images := c.imageSketches(r.needed)

	var set Set
	add := func(kind Kind, d Digest) { set.Signatures = append(set.Signatures, Signature{kind, d}) }
	signsBody := len(attachments) > 0 || len(images) > 0 || r.signsText || r.signsAll || isEnough(c.words.text, brief, boilerplate()) || c.hasTextAside()
	if text, carried := c.signed(r); len(text) > 0 {
		add(KindText, Sum(KindText, carried.marked(text)))
	}
	set.Sketches = c.textSketches(r)
	for _, d := range attachments {
		add(KindAttachment, d)
	}
	for _, d := range c.contents() {
		add(KindContent, d)
	}
	set.Sketches = append(set.Sketches, images...)
	set.Domains, set.Carried = c.domains(m.Header)
	if complete && !m.Truncated && (signsBody || c.work.isOver()) {
		set.Signatures = slices.Insert(set.Signatures, 0, Signature{KindBody, Sum(KindBody, c.parts)})
	}
	if len(set.Signatures) == 0 {
		set.Sketches = nil
	}
	set.Counting = counting(set.Signatures)
	set.Limits = c.hit()
	return set
}

// Text returns the normalised visible text of m as KindText signs it, or ""
// where it has too little content to be signed.
func Text(m Message) string {
	c := computers.Get().(*computer)
	defer c.release()
	walk(m, true, c.leaf)
	text, _ := c.signed(c.readings(m))
	return string(text)
}

// Attached returns the messages attached to m as message/rfc822, as mail
// programs forward them. Those inside an attached message stay there. The
// messages in a multipart/report (RFC 6522) and a multipart/digest (RFC 2046
// section 5.1.5) are not attached: a mail system returned the one to its
// sender, and a mailing list bundled the others.
func Attached(m Message) []Message {
	var attached []Message
	walk(m, false, func(l leaf) {
		if !isMessage(l.mimeHeader) || l.report || l.digest {
			return
		}
		inner := Parse(decodeTransfer(nil, l.raw, l.encoding))
		inner.Truncated = l.cut
		attached = append(attached, inner)
	})
	return attached
}

// counting picks the key under which a message is counted: the text signature, so
// that copies that vary in what it takes out count as one message; else the body
// signature; else the first attachment. One key, not all: each costs cells of the
// counting filter.
func counting(signatures []Signature) []Signature {
	for _, kind := range []Kind{KindText, KindBody, KindAttachment} {
		for _, s := range signatures {
			if s.Kind == kind {
				return []Signature{s}
			}
		}
	}
	return nil
}

// computer holds what the leaf parts of one message gave so far, and buffers.
type computer struct {
	parts    []byte   // class and digest of each part
	files    []Digest // attachments that sign, without duplicates
	embedded []Digest // images that sign where the text does not, likewise
	inner    []Digest // likewise, of attached messages
	calendar bool     // a part is a calendar object that asks or answers
	hasFile  bool     // the text stands beside a file
	source   []byte   // the decoded text parts, one after the other
	images   []leaf   // that may have a sketch
	packed   []leaf   // archives and PDFs
	texts    []textPart
	hasHTML  map[int]bool // by number of alternative
	lastPage map[int]int  // by number of alternative: its last branch with HTML
	last     map[int]int  // likewise: with plain text, another page, or a picture
	limits   Limits
	work     work

	unpacking Unpacking       // nil: nothing bounds it
	stop      <-chan struct{} // of the latest unpacking
	stopped   bool            // that was stopped

	decoded []byte
	page    page
	words   tokeniser // the visible text, tokens and all
	all     tokeniser // the same with what is hidden
	every   tokeniser // the text aside; later, that of all texts
	own     []byte    // the words of it that are sketched
	links   links
	origin  origin // what the header says

	bodyText int // bytes of words, from the beginning, that are of the message's own parts

	ownTokens      []token // of own
	shingled, long []word  // buffers, of up to maxSketched
}

// textPart is a text that may be visible.
type textPart struct {
	start, end  int // in source
	charset     string
	isHTML      bool
	alternative int
	branch      int
	aside       bool // signs with the body only
	carried     carriage
	isUsual     bool   // text/plain or text/html, which readers prefer to all other text
	utf8        []byte // nil until it is asked for
	view        *view  // likewise
}

var computers = sync.Pool{New: func() any {
	c := &computer{hasHTML: make(map[int]bool), lastPage: make(map[int]int), last: make(map[int]int)}
	c.page.work, c.words.work, c.all.work, c.every.work, c.links.work = &c.work, &c.work, &c.work, &c.work, &c.work
	return c
}}

// release empties c and gives it back, without the buffers that are too large
// to be kept.
func (c *computer) release() {
	keep := func(b []byte) []byte {
		if cap(b) > maxKept {
			return nil
		}
		return b[:0]
	}
	c.parts, c.source, c.decoded = keep(c.parts), keep(c.source), keep(c.decoded)
	c.page.reset(keep)
	c.words.reset(keep)
	c.all.reset(keep)
	c.every.reset(keep)
	c.own = keep(c.own)
	clear(c.texts)
	c.links.reset(keep)
	c.files, c.embedded, c.inner, c.hasFile, c.calendar, c.texts = nil, nil, nil, false, false, c.texts[:0]
	c.images, c.packed = nil, nil
	clear(c.hasHTML)
	clear(c.lastPage)
	clear(c.last)
	c.limits = 0
	c.work = work{}
	c.unpacking, c.stop, c.stopped = nil, nil, false
	computers.Put(c)
}

// Classes of parts: what the exact body signature keeps of a media type.
const (
	classPlain = 'p'
	classHTML  = 'h'
	classOther = 'o'
)

func class(mediaType string) byte {
	switch {
	case mediaType == "text/html":
		return classHTML
	case strings.HasPrefix(mediaType, "text/"):
		return classPlain
	}
	return classOther
}

// leaf takes in one part.
func (c *computer) leaf(l leaf) {
	kind := class(l.mediaType)
	isText := kind != classOther && l.disposition != "attachment" && !unread[l.mediaType]
	if isText && l.far {
		c.limits |= LimitReach
	}
	if isText && kind == classHTML && !l.far {
		c.hasHTML[l.alternative], c.lastPage[l.alternative] = true, l.branch
	}
	if !l.far && l.disposition != "attachment" && isShownAlternative(l.mediaType) {
		c.last[l.alternative] = l.branch
	}
	if isText && l.cut {
		return
	}
	c.work.count(stepsOfDecoding(l))
	c.decoded = decodeTransfer(c.decoded[:0], l.raw, l.encoding)
	content := canonical(c.decoded)
	if isIdentity(l.encoding) {
		content = rejoin(content)
	}
	if len(content) == 0 {
		return
	}
	var digest Digest
	if !l.cut {
		digest = Sum(KindAttachment, content)
		carried, class := l.ofFile(), kind
		if isText {
			carried = l.carried
		} else if l.disposition == "attachment" { // no message with the same text as its body
			class = classOther
		}
		c.parts = append(append(c.parts, carried.mark()...), class)
		c.parts = append(c.parts, digest[:]...)
	}
	if !isText && !l.report && !l.cut && len(content) >= minPicture && isImage(l.mediaType, content) {
		c.look(l)
	}
	if l.mediaType == "text/calendar" || l.mediaType == "application/ics" {
		c.calendar = c.calendar || isCalendarMethod(content)
	}
	switch {
	case isText:
		c.keepText(l, kind == classHTML, content)
	case !isText && !l.report && signsAttachment(l.mediaType, content):
		c.attach(l, content, digest)
	}
}

func (c *computer) keepText(l leaf, isHTML bool, content []byte) {
	start := len(c.source)
	if len(content) > maxSource-start {
		content = content[:maxSource-start]
		c.limits |= LimitDecoded
	}
	c.source = append(c.source, content...)
	c.work.grant(len(content), isHTML)
	c.texts = append(c.texts, textPart{start, len(c.source), l.charset, isHTML, l.alternative, l.branch, l.report || l.far, l.carried,
		l.mediaType == "text/plain" || isHTML, nil, nil})
}

// hit are the limits that bit.
func (c *computer) hit() Limits {
	if c.words.full || c.all.full || c.every.full {
		c.limits |= LimitText
	}
	if c.work.isOver() {
		c.limits |= LimitWork
	}
	return c.limits | c.links.limits
}

// attach notes an attachment. One that is cut has no digest, but the text stands
// beside it as in the whole message.
func (c *computer) attach(l leaf, content []byte, d Digest) {
	d = l.ofFile().digest(KindAttachment, d)
	embedded := isEmbedded(l, content)
	if !embedded && !l.far {
		c.hasFile = true
	}
	switch {
	case l.cut:
	case embedded && l.carried == attachedPart:
		c.inner = addDigest(c.inner, d)
	case embedded:
		c.embedded = addDigest(c.embedded, d)
	case len(c.files) == maxAttachments && !slices.Contains(c.files, d):
		c.limits |= LimitAttachments
	default:
		c.files = addDigest(c.files, d)
		if isPacked(content) && len(c.packed) < maxAttachments {
			c.packed = append(c.packed, l)
		}
	}
}

// isEmbedded tells whether a part is an image that is shown in the text.
func isEmbedded(l leaf, content []byte) bool {
	return isImage(l.mediaType, content) && (l.disposition == "inline" || l.hasID || l.related)
}

func addDigest(list []Digest, d Digest) []Digest {
	if len(list) == maxAttachments || slices.Contains(list, d) {
		return list
	}
	return append(list, d)
}

func addDigests(list, more []Digest) []Digest {
	for _, d := range more {
		list = addDigest(list, d)
	}
	return list
}

// unread are text types that programs read, not people. Each comes with fixed
// words, the same from everyone. Any other type is shown as plain text, as RFC
// 2046 section 4.1.4 wants it.
var unread = map[string]bool{
	"text/calendar": true, "text/vcard": true, "text/x-vcard": true, "text/x-vcalendar": true, "text/directory": true,
	"text/rfc822-headers": true, "text/csv": true, "text/tab-separated-values": true, "text/xml": true,
	"text/css": true, "text/javascript": true, "text/ecmascript": true, "text/x-amp-html": true, "text/watch-html": true,
}

// unsigned are types of parts that do not sign as attachments: what names its
// sender and so comes with all his mail, what mail systems make, and what
// belongs to a page.
var unsigned = map[string]bool{
	"text/vcard": true, "text/x-vcard": true, "text/directory": true, "text/rfc822-headers": true,
	"text/css": true, "text/javascript": true, "text/ecmascript": true, "text/x-amp-html": true, "text/watch-html": true,
	"application/pgp-keys": true, "application/pgp-signature": true,
	"application/pkcs7-signature": true, "application/x-pkcs7-signature": true,
}

// signsAttachment tells whether an attachment has content of its own.
func signsAttachment(mediaType string, content []byte) bool {
	if unsigned[mediaType] || strings.HasPrefix(mediaType, "message/") {
		return false
	}
	if isImage(mediaType, content) {
		return len(content) >= minImage
	}
	return len(content) >= minAttachment
}

// isImage knows the image formats of mail by their first bytes too, as the media
// type often is application/octet-stream.
func isImage(mediaType string, content []byte) bool {
	if strings.HasPrefix(mediaType, "image/") {
		return true
	}
	for _, magic := range []string{"GIF8", "\x89PNG", "\xFF\xD8\xFF", "BM"} {
		if bytes.HasPrefix(content, []byte(magic)) {
			return true
		}
	}
	return bytes.HasPrefix(content, []byte("RIFF")) && len(content) > 12 && string(content[8:12]) == "WEBP"
}

// needed is what the text needs to sign.
func (c *computer) needed(m Message) amount {
	if c.hasFile || isAutoReply(m.Header) {
		return ample
	}
	return brief
}

// isAutoReply knows the replies that programs give (RFC 3834 section 5).
func isAutoReply(header []Field) bool {
	for _, f := range header {
		if f.is("Auto-Submitted") {
			value := strings.ToLower(strings.TrimSpace(unfold.Replace(f.Value)))
			return strings.HasPrefix(value, "auto-replied")
		}
	}
	return false
}

// visibleText returns the normalised text that a reader sees; it is left in c.words.
//
// Where a multipart/alternative has an HTML part, that is the one he sees, and
// the others in it do not count; HTML has nearly always the same words as the
// plain text beside it, but a sender who wants to hide can put any words there.
//
// Attached messages come last: what the message shows itself is the beginning.
func (c *computer) visibleText() []byte {
	c.words.restart()
	c.readTexts(&c.words, false, false)
	c.bodyText = len(c.words.text)
	c.readTexts(&c.words, false, true)
	return c.words.text
}

// hasTextAside tells whether the other texts are enough to sign the body: those in
// a multipart/report, as a mail system's notice is the same for everyone, and the
// message that it returns is not this one; and those beyond maxReach.
func (c *computer) hasTextAside() bool {
	c.every.restart()
	c.readTexts(&c.every, true, false)
	c.readTexts(&c.every, true, true)
	return isEnough(c.every.text, brief, boilerplate())
}

// readTexts adds the visible text of the message's own parts, or of attached messages.
func (c *computer) readTexts(words *tokeniser, aside, attached bool) {
	for i := range c.texts {
		t := &c.texts[i]
		if t.aside != aside || (t.carried == attachedPart) != attached || c.isReplaced(t) {
			continue
		}
		if c.work.isOver() {
			break
		}
		seen := c.show(t)
		words.carried = c.carriageOf(t)
		words.add(seen.text, seen.quotes, nil)
	}
}

// isReplaced reports whether readers show the HTML part of an alternative instead.
func (c *computer) isReplaced(t *textPart) bool {
	return t.alternative > 0 && c.hasHTML[t.alternative] && !t.isHTML
}

// carriageOf is how a text is carried. Of an alternative, readers show one branch, the
// message's own: the last one with HTML, or without any, the last one that they know.
func (c *computer) carriageOf(t *textPart) carriage {
	last := c.last[t.alternative]
	if c.hasHTML[t.alternative] {
		last = c.lastPage[t.alternative]
	}
	if t.alternative > 0 && (t.branch < last || !t.isUsual) {
		return max(t.carried, laterPart)
	}
	return t.carried
}

// isShownAlternative reports whether readers show such a branch of an alternative without
// HTML, if it is the last one.
func isShownAlternative(mediaType string) bool {
	return mediaType == "text/plain" || mediaType == "application/xhtml+xml" || strings.HasPrefix(mediaType, "image/")
}
