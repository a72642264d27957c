package signature

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/guard"
	"github.com/spambloom/spambloom/signature/links"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/words"
	"github.com/spambloom/spambloom/signature/work"
)

// Compute signs a message. It reads what mail programs would show, whatever the state of
// the message, at a cost linear in its size: FORMAT.md has the bound. Beside m itself it
// takes memory of up to three times the size of m, if encoded messages lie in each other,
// and up to 64 MiB for images and archives; for most mail, of the largest part. It is safe
// for concurrent use, and its calls do not wait for each other.
func Compute(m Message) Set { return ComputeWith(m, nil, nil) }

// ComputeWith is Compute for callers that bound how many messages are unpacked at a time,
// or that may give up. The signatures are the same, unless stop is closed before it
// returns: then it returns soon, after decoding one part at most, and what it returns is
// of no use. A nil stop never does that.
func ComputeWith(m Message, unpacking Unpacking, stop <-chan struct{}) Set {
	c := computers.Get().(*computer)
	defer c.release()
	c.turns.unpacking, c.work.Stop = unpacking, stop
	return c.compute(m)
}

// Text returns the normalised visible text of m as KindText signs it, or "" if it has too
// little content to be signed.
func Text(m Message) string {
	c := computers.Get().(*computer)
	defer c.release()
	c.begin(m)
	mail.Walk(m, nil, c.leaf)
	text, _ := c.reader.signed(c.read(m))
	return string(text)
}

// computer holds what the leaf parts of one message gave so far, by package, and buffers.
type computer struct {
	work   work.Steps
	limits work.Limits // reached, besides those of texts, reader and links

	parts      []byte // class and digest of each part
	isCalendar bool   // a part is a calendar object that asks or answers
	decoded    []byte // the latest part
	files      files
	pictures   pictures
	below      []part // parts that are text, and that some mail programs show below the other
	unshown    []part // other parts that are text, which readers open only where there is no other
	fields     []part // parts for the fields of a mail system, which only some programs show
	calendars  []part // calendar objects, whose text readers are shown beside the other
	texts      visible.Texts
	reader     reader
	links      links.Finder
	turns      turns
}

var computers = sync.Pool{New: func() any { return new(computer) }}

// begin prepares c for a message.
func (c *computer) begin(m mail.Message) {
	c.texts.Begin(m.Header, len(m.Body)-bytes.Count(m.Body, []byte("\r")), &c.work)
	c.reader.begin(&c.texts, &c.work)
}

// release empties c and returns it to the pool, without buffers that are too large to be
// kept.
func (c *computer) release() {
	c.parts, c.decoded = work.Keep(c.parts), work.Keep(c.decoded)
	c.texts.Reset()
	c.reader.reset()
	c.links.Reset()
	c.files, c.below, c.unshown, c.fields, c.calendars, c.isCalendar, c.limits, c.work, c.turns, c.pictures = files{}, nil, nil, nil, nil, false, 0, work.Steps{}, turns{}, pictures{}
	computers.Put(c)
}

// compute signs m. It reads the parts, then the texts as words, then images, archives and
// links, which depend on whether the text signs.
func (c *computer) compute(m mail.Message) Set {
	c.begin(m)
	c.limits |= mail.Walk(m, &c.work, c.leaf)
	f := c.read(m)
	c.readPictures()
	attachments, hasImages := c.attachments(f)
	c.boundReadings()
	images := c.imageSketches(f.needed)
	signsBody := len(attachments) > 0 || hasImages || len(images) > 0 || f.canSignText || f.canSignAll ||
		words.IsEnough(c.reader.shown.Text, words.Brief) || c.reader.hasTextAside()

	var set Set
	add := func(kind digest.Kind, d digest.Digest) { set.Signatures = append(set.Signatures, Signature{kind, d}) }
	if text, carried := c.reader.signed(f); len(text) > 0 {
		add(digest.KindText, digest.Sum(digest.KindText, marked(carried, text)))
	}
	set.Sketches = c.reader.textSketches(f)
	for _, d := range attachments {
		add(digest.KindAttachment, d)
	}
	for _, d := range c.contentDigests() {
		add(digest.KindContent, d)
	}
	set.Sketches = append(set.Sketches, images...)
	set.Domains, set.Carried = c.links.Domains(&c.texts, m.Header, &c.work)
	if !f.canSignText && !f.canSignAll {
		for _, d := range c.phrases(m, set.ToReport().Domains) {
			add(digest.KindPhrase, d)
			signsBody = true
		}
		signsBody = signsBody || c.mayShowMore(slices.Concat(set.Domains, c.links.Recipients)) || c.mayShowFields(m.Header)
	}
	if s, ok := c.shapeSketch(m.Header, set.Sketches); ok {
		set.Sketches = append(set.Sketches, s)
		signsBody = true
	}
	for i := range set.Sketches { // a report lists no text whose end is not known
		set.Sketches[i].AskOnly = set.Sketches[i].AskOnly || c.texts.IsCut
	}
	set.Limits = c.reached()
	isUnread := set.Limits&endsText != 0 && len(c.parts) > 0 // what was not read may be what readers see
	if !m.Truncated && (signsBody || isUnread) {
		set.Signatures = slices.Insert(set.Signatures, 0, Signature{digest.KindBody, digest.Sum(digest.KindBody, c.parts)})
	}
	if len(set.Signatures) == 0 && !(m.Truncated && signsBody) { // a text that is cut, or beside a cut file, may have a sketch alone
		set.Sketches = nil
	}
	set.Counting = Counting(set.Signatures)
	set.NoHeader = !m.HasHeader()
	return set
}

// leaf reads one part.
func (c *computer) leaf(l mail.Leaf) {
	c.texts.Note(l)
	isText := visible.IsText(l)
	c.work.Count(l.Steps())
	c.decoded = l.Content(c.decoded[:0])
	content := c.decoded
	if len(content) == 0 {
		return
	}
	before := len(c.parts)
	d := c.addPart(l, isText, content)
	if l.IsAgain && !isText && bytes.HasSuffix(c.parts[:before], d[:]) { // the other way to read it has the same content
		return
	}
	if !isText {
		c.files.addImage(l, content)
	}
	if mail.IsCalendar(l.MediaType) {
		c.isCalendar = c.isCalendar || guard.IsCalendarMethod(content)
		if !l.IsReport {
			c.calendars, _ = addLargest(c.calendars, maxUnshown, part{l, len(content)})
		}
	}
	switch {
	case isText:
	case l.IsReport || l.MediaType == "text/rfc822-headers":
		if isLegible(content) {
			c.fields, _ = addLargest(c.fields, maxUnshown, part{l, len(content)})
		}
	default:
		c.addUnshown(l, content)
	}
	switch {
	case isText:
		c.texts.Add(l, content)
	case !l.IsReport && signsAttachment(l.MediaType, content):
		c.attach(l, content, d)
	}
}

// addPart adds a part to what the body signature is made of, and returns its digest. A part
// that is cut has none.
func (c *computer) addPart(l mail.Leaf, isText bool, content []byte) digest.Digest {
	if l.IsCut {
		return digest.Digest{}
	}
	d := digest.Sum(digest.KindAttachment, content)
	carried, class := l.CarriedAsFile(), mail.Class(l.MediaType)
	if isText {
		carried = l.Carried
	} else if l.Disposition == "attachment" { // differs from a message with this text as its body
		class = mail.ClassOther
	}
	c.parts = append(append(c.parts, carried.Mark()...), class)
	c.parts = append(c.parts, d[:]...)
	return d
}

// addUnshown notes a part that is not declared as text to be shown, if it is text.
func (c *computer) addUnshown(l mail.Leaf, content []byte) {
	list := &c.unshown
	if !unsigned[l.MediaType] && (strings.HasPrefix(l.MediaType, "text/") || isMarkup(l.MediaType)) {
		list = &c.below
	}
	if isLegible(content) {
		*list, _ = addLargest(*list, maxUnshown, part{l, len(content)})
	}
}

// isMarkup reports whether readers of a type see the words between tags, as in a page. All else, such as
// the lines of a logo and the names in an invoice for programs, is the same in many mails.
func isMarkup(mediaType string) bool { return strings.HasSuffix(mediaType, "xml") }

// read reads the texts of m. If these are too few to sign, parts that programs show below them are
// read as well. If these say nothing, so are all parts that are text: whatever type and disposition its
// sender declared, readers open them. Beside a few words they do not, and a format's own words would be
// all that different mails share, such as signed ones, or those with an invoice for programs.
func (c *computer) read(m mail.Message) findings {
	c.reader.visibleText() // before what may use up the budget
	c.work.Renew()
	c.texts.ShowTextBehindPages(c.reader.says)
	if c.texts.HasReported() && !guard.IsNotice(m.Header, c.reader.textAside()) {
		c.texts.ShowReported()
	}
	if len(c.below)+len(c.unshown) > 0 {
		text := c.reader.visibleText()
		isGreeting := len(text) <= maxGreeting
		if !words.IsEnough(text, words.Brief) {
			c.addTexts(c.below)
		}
		if isGreeting {
			c.addTexts(c.unshown)
		}
	}
	if len(c.calendars) > 0 {
		isBrief := words.IsEnough(c.reader.visibleText(), words.Brief)
		for _, l := range c.calendars {
			c.addCalendar(l.Leaf, isBrief)
		}
	}
	return c.reader.read(c.needed(m), func(text []byte) bool { return c.guardOf(m, text) != guard.None })
}

// addTexts adds parts to the texts, as carried ones.
func (c *computer) addTexts(parts []part) {
	for _, p := range parts {
		l := p.Leaf
		c.work.Count(l.Steps())
		c.decoded = l.Content(c.decoded[:0])
		l.Carried = max(l.Carried, mail.LaterPart)
		content := c.decoded
		if isMarkup(l.MediaType) {
			l.MediaType = "text/html"
		} else {
			content = withoutColumns(content)
		}
		c.texts.Add(l, content)
	}
}

// withoutColumns returns a table without its first line if that names columns, as it is the same in all tables of a
// program: four cells or more, of at most four words each and two on average, above a line with four cells or more.
func withoutColumns(content []byte) []byte {
	names, next := mail.CutLine(content, 0)
	row, _ := mail.CutLine(content, next)
	if len(names) > maxColumns {
		return content
	}
	for _, separator := range []string{";", ",", "\t", "|"} {
		cells := bytes.Split(names, []byte(separator))
		isLong := func(cell []byte) bool { return len(bytes.Fields(cell)) > 4 }
		if len(cells) >= 4 && bytes.Count(row, []byte(separator)) >= 3 &&
			!slices.ContainsFunc(cells, isLong) && len(bytes.Fields(bytes.Join(cells, []byte(" ")))) <= 2*len(cells) {
			return content[next:]
		}
	}
	return content
}

// addCalendar adds the text of a calendar object, beside a brief text only if that does not have it. It is
// carried, as few words of an invitation are its sender's, and shown whatever stands beside it. Beside a brief text most
// programs show it as a file or a form.
func (c *computer) addCalendar(l mail.Leaf, isBrief bool) {
	c.work.Count(2 * l.Steps())
	c.decoded = l.Content(c.decoded[:0])
	text := mail.CalendarText(c.decoded)
	if isBrief && !c.reader.isNew(text) {
		return
	}
	l.Carried, l.Alternative, l.IsBeside = max(l.Carried, mail.LaterPart), 0, isBrief
	c.texts.Add(l, text)
}

// needed returns what the text needs to sign.
func (c *computer) needed(m mail.Message) words.Amount {
	if c.files.hasFile || isAutoReply(m.Header) {
		return words.Ample
	}
	return words.Brief
}

const (
	// maxUnshown bounds the parts that are read only where there is no other text. These are the largest.
	maxUnshown = 4
	// maxColumns bounds the line of a table, in bytes, that names its columns.
	maxColumns = 4 << 10
	// maxGreeting is the length, in bytes, of normalised text that says nothing beside a
	// part that is text itself.
	maxGreeting = 12
)

// isLegible reports whether a part that is not declared as text is text: its beginning has
// no control characters, and it is no object that programs read, such as a vCard.
func isLegible(content []byte) bool {
	content = bytes.TrimLeft(content[:min(len(content), 512)], " \t\r\n\ufeff")
	if len(content) == 0 || bytes.HasPrefix(content, []byte("BEGIN:")) || bytes.HasPrefix(content, []byte("%PDF-")) {
		return false
	}
	return !bytes.ContainsFunc(content, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' && r != '\n' && r != '\f' && r != 0x1b })
}

// isAutoReply reports whether a program replied (RFC 3834 section 5).
func isAutoReply(header []mail.Field) bool {
	return strings.HasPrefix(strings.ToLower(mail.Value(header, "Auto-Submitted")), "auto-replied")
}

// guardOf returns the guard that covers the message if text is its visible text.
func (c *computer) guardOf(m mail.Message, text []byte) guard.Guard {
	return guard.Of(guard.Message{Header: m.Header, Text: text, IsCalendar: c.isCalendar, HasFile: len(c.files.attached) > 0, ShowsCode: c.showsCode})
}

// maxCodeSource bounds the text, in bytes and markup included, that is searched for
// a code.
const maxCodeSource = 256 << 10

// showsCode reports whether a code stands in the visible text.
func (c *computer) showsCode() bool {
	size := 0
	for i := range c.texts.Parts {
		p := &c.texts.Parts[i]
		source := len(c.texts.SourceOf(p))
		size += source
		if p.IsAside || size > maxCodeSource || c.texts.IsReplaced(p) {
			continue
		}
		c.work.Spend(source)
		if guard.HasCode(c.texts.Show(p).Shown.Text) {
			return true
		}
	}
	return false
}

// Counting returns the signature under which a message is counted: the text signature, so
// that copies that vary in what it leaves out count as one message; else the body
// signature; else the first attachment or phrase. It is one, as each takes cells of the counting
// filter.
func Counting(signatures []Signature) []Signature {
	for _, kind := range []digest.Kind{digest.KindText, digest.KindBody, digest.KindAttachment, digest.KindPhrase} {
		for _, s := range signatures {
			if s.Kind == kind {
				return []Signature{s}
			}
		}
	}
	return nil
}

// endsText are the limits beyond which content that readers see is not read, or is taken for hidden.
const endsText = work.LimitParts | work.LimitWrapped | work.LimitReach | work.LimitDecoded | work.LimitText |
	work.LimitOpenElements | work.LimitStyleSheets | work.LimitImages | work.LimitLinks | work.LimitDomains | work.LimitWork

// reached returns the limits that were reached.
func (c *computer) reached() work.Limits {
	limits := c.limits | c.texts.Limits | c.reader.limits() | c.links.Limits
	if c.work.WasOver() {
		limits |= work.LimitWork
	}
	return limits
}
