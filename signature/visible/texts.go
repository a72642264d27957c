package visible

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// maxSource bounds the decoded text, in bytes, from which the visible text is taken.
	maxSource = 1 << 20
	// maxParts bounds the text parts that are read one by one. Each takes half a kilobyte of
	// memory, even if it has one letter. Those behind them are read as one plain text, which is
	// carried: a message must not hide there, and it may be another's.
	maxParts = 4096
)

// Texts are the text parts of one message. They are empty after Reset, and are used by
// one goroutine at a time.
type Texts struct {
	Parts  []Part
	Origin mail.Origin // of the message
	Limits work.Limits // that were reached so far
	IsCut  bool        // a text that is not far reaches to the end of a truncated message

	showsAll bool // the text beside a page is visible, too

	source   []byte       // the decoded parts, one after the other
	hasHTML  map[int]bool // by number of alternative
	lastPage map[int]int  // by number of alternative: its last branch with HTML
	lastText map[int]int  // by number of alternative: its last branch with plain text
	isText   map[int]bool // by number of alternative: plain text is shown, not the page before it
	last     map[int]int  // by number of alternative: its last branch with plain text, another page or a picture
	page     page.Reader
	work     *work.Steps
	room     int // bytes of texts for which the budget is not granted yet
	changes  int // of what is visible
}

// Part is a text part that may be visible.
type Part struct {
	IsHTML  bool
	IsAside bool // its words sign with the body only
	IsFar   bool // IsAside, and not because of a multipart/report
	Carried mail.Carriage
	View    *View // nil until Show

	start, end  int // in source
	charset     string
	alternative int
	branch      int
	isBeside    bool   // belongs to a page of a multipart/related
	isReported  bool   // IsAside because of a multipart/report only
	isUsual     bool   // text/plain or text/html, which readers prefer to other text
	mayDoubt    bool   // is one of the first parts, and was not shown yet
	isDoubted   bool   // its charset was detected
	utf8        []byte // nil until text
}

// Begin prepares t for a message with a body of size bytes. Reading its texts spends steps of w, which may be nil.
func (t *Texts) Begin(header []mail.Field, size int, w *work.Steps) {
	t.room = size
	if t.hasHTML == nil {
		t.hasHTML, t.lastPage, t.lastText, t.isText, t.last = make(map[int]bool), make(map[int]int), make(map[int]int), make(map[int]bool), make(map[int]int)
	}
	t.Origin, t.work, t.page.Work = mail.OriginOf(header), w, w
}

// Reset empties t for the next message. It keeps buffers that are not too large.
func (t *Texts) Reset() {
	t.source = work.Keep(t.source)
	t.page.Reset()
	clear(t.Parts)
	t.Parts, t.Limits, t.IsCut, t.showsAll, t.changes = t.Parts[:0], 0, false, false, 0
	clear(t.hasHTML)
	clear(t.lastPage)
	clear(t.lastText)
	clear(t.isText)
	clear(t.last)
}

// IsText reports whether readers are shown a part as text.
func IsText(l mail.Leaf) bool {
	return mail.Class(l.MediaType) != mail.ClassOther && l.Disposition != "attachment" && !unread[l.MediaType]
}

// unread are text types for programs, not for people. Their words are the same from
// everyone. Any other type is shown as plain text, as RFC 2046 section 4.1.4 requires.
var unread = map[string]bool{
	"text/calendar": true, "text/vcard": true, "text/x-vcard": true, "text/x-vcalendar": true, "text/directory": true,
	"text/rfc822-headers": true, "text/csv": true, "text/tab-separated-values": true, "text/xml": true,
	"text/css": true, "text/javascript": true, "text/ecmascript": true, "text/x-amp-html": true, "text/watch-html": true,
}

// Note records where a part stands, with text or without. It decides which branch of an
// alternative is shown, so it is called for every part, before the part is decoded.
func (t *Texts) Note(l mail.Leaf) {
	isText := IsText(l)
	if isText && l.IsFar {
		t.Limits |= work.LimitReach
	}
	if isText && mail.Class(l.MediaType) == mail.ClassHTML && !l.IsFar {
		t.hasHTML[l.Alternative], t.lastPage[l.Alternative] = true, l.Branch
	}
	if isText && l.MediaType == "text/plain" && !l.IsFar {
		t.lastText[l.Alternative] = l.Branch
	}
	if !l.IsFar && l.Disposition != "attachment" && isShownAlternative(l.MediaType) {
		t.last[l.Alternative] = l.Branch
	}
}

// Add adds a text part with its decoded content, and grants the budget for it. All texts together are granted
// no more than that of the message's length, in however many ways its parts are read.
func (t *Texts) Add(l mail.Leaf, content []byte) {
	t.changes++
	if len(t.Parts) > maxParts && len(t.source) < maxSource {
		t.source = append(t.source, '\n')
	}
	t.IsCut = t.IsCut || l.IsCut && !l.IsFar
	start := len(t.source)
	if len(content) > maxSource-start {
		content = content[:maxSource-start]
		t.Limits |= work.LimitDecoded
	}
	isHTML := mail.Class(l.MediaType) == mail.ClassHTML
	if l.IsJoined && !isHTML {
		content = mail.JoinFlowed(content)
	}
	t.source = append(t.source, content...)
	granted := min(len(content), t.room)
	t.room -= granted
	t.work.Grant(granted, isHTML)
	if n := len(t.Parts); n >= maxParts {
		t.Limits |= work.LimitParts
		l.Carried, l.Alternative, isHTML = max(l.Carried, mail.LaterPart), 0, false
		if last := &t.Parts[n-1]; n > maxParts && last.IsAside == (l.IsReport || l.IsFar) {
			last.end, last.Carried = len(t.source), max(last.Carried, l.Carried)
			last.utf8, last.View = nil, nil
			return
		}
	}
	t.Parts = append(t.Parts, Part{
		start: start, end: len(t.source), charset: l.Charset, IsHTML: isHTML,
		alternative: l.Alternative, branch: l.Branch, IsAside: l.IsReport || l.IsFar, IsFar: l.IsFar && !l.IsReport, Carried: l.Carried,
		isReported: l.IsReport && !l.IsFar, isBeside: l.IsBeside, isUsual: l.MediaType == "text/plain" || isHTML,
		mayDoubt: len(t.Parts) < maxDetected,
	})
}

// HasReported reports whether a multipart/report has texts.
func (t *Texts) HasReported() bool {
	return slices.ContainsFunc(t.Parts, func(p Part) bool { return p.isReported })
}

// ShowReported makes the texts of a multipart/report visible ones.
func (t *Texts) ShowReported() {
	t.changes++
	for i := range t.Parts {
		if p := &t.Parts[i]; p.isReported {
			p.IsAside, p.isReported = false, false
		}
	}
}

// IsReplaced reports whether readers show the HTML part of an alternative instead. HTML
// nearly always has the same words as the plain text beside it, but a sender who wants to
// hide can write any words there.
func (t *Texts) IsReplaced(p *Part) bool { return !t.showsAll && t.isBesidePage(p) }

// isBesidePage reports whether a text stands in an alternative with HTML.
func (t *Texts) isBesidePage(p *Part) bool {
	return p.alternative > 0 && t.showsPage(p.alternative) && !p.IsHTML
}

// showsPage reports whether most programs show the HTML of an alternative.
func (t *Texts) showsPage(alternative int) bool {
	return t.hasHTML[alternative] && !t.isText[alternative]
}

// maxTextBehind bounds the alternatives in which plain text may be shown and not the page before it.
const maxTextBehind = 16

// ShowTextBehindPages shows the plain text behind the page of an alternative, and not the page, where says reports
// that both say something. Most programs show the last branch that they can, but no mail program puts plain text there:
// of a page and a few words, either may be what its sender wants read. says returns whether some parts have content.
func (t *Texts) ShowTextBehindPages(says func(isPart func(*Part) bool) bool) {
	behind := slices.DeleteFunc(slices.Sorted(maps.Keys(t.lastText)), func(a int) bool {
		return a == 0 || !t.hasHTML[a] || t.lastText[a] <= t.lastPage[a]
	})
	for _, a := range behind[:min(len(behind), maxTextBehind)] {
		t.isText[a] = true
		if t.isText[a] = says(func(p *Part) bool { return p.alternative == a && p.branch == t.lastText[a] }) &&
			says(func(p *Part) bool { return p.alternative == a && p.IsHTML }); t.isText[a] {
			t.changes++
		}
	}
}

// ShowAll makes the texts visible that an HTML part replaces, as carried ones. It reports
// whether there are any.
func (t *Texts) ShowAll() bool {
	t.changes++
	for i := range t.Parts {
		t.showsAll = t.showsAll || t.IsReplaced(&t.Parts[i])
	}
	return t.showsAll
}

// Changes returns how often what is visible may have changed.
func (t *Texts) Changes() int { return t.changes }

// maxDetected bounds the parts of a message whose charset is doubted.
const maxDetected = 8

// DoubtCharsets reads all parts again whose declared charset may be another one. It reports
// whether there are any.
func (t *Texts) DoubtCharsets() (changed bool) {
	for i := range t.Parts[:min(len(t.Parts), maxDetected)] {
		if t.detect(&t.Parts[i]) {
			t.changes, changed = t.changes+1, true
		}
	}
	return changed
}

// detect finds the charset of a part, once, and reports whether that is another one than the declared.
func (t *Texts) detect(p *Part) bool {
	t.work.Spend(work.PerText)
	if p.isDoubted || t.work.IsOver() || ascii.Is(t.SourceOf(p)) {
		return false
	}
	p.isDoubted = true
	t.work.Spend(2 * len(t.SourceOf(p)))
	name := mail.Detect(t.SourceOf(p), p.charset, p.IsHTML, t.work)
	if name == "" || name == p.charset {
		return false
	}
	p.charset, p.utf8, p.View = name, nil, nil
	return true
}

// isGarbled reports whether text looks as if it were read in a Western charset by mistake:
// at its beginning it has more characters of Latin-1 beyond ASCII, or without a meaning,
// than ASCII letters.
func isGarbled(text []byte) bool {
	const beginning = 4 << 10
	text = text[:min(len(text), beginning)]
	if ascii.Is(text) {
		return false
	}
	plain, beyond := 0, 0
	for _, c := range text {
		if ascii.IsLetter(c) {
			plain++
		} else if c >= utf8.RuneSelf {
			beyond++
		}
	}
	if beyond <= plain { // characters have one byte or more, so most texts need no closer look
		return false
	}
	others := 0
	for _, r := range string(text) {
		if utf8.RuneSelf <= r && r <= 0xFF || r == utf8.RuneError {
			others++
		}
	}
	return others > plain
}

// CarriageOf returns how a text is carried. Readers show one branch of an alternative as
// the message's own: the last one with HTML, or without any, the last one that they can
// show.
func (t *Texts) CarriageOf(p *Part) mail.Carriage {
	if t.isOtherBranch(p) {
		return max(p.Carried, mail.LaterPart)
	}
	return p.Carried
}

// IsUnshown reports whether most programs do not show a text: another branch of its alternative is shown, or it belongs to
// the page of a multipart/related.
func (t *Texts) IsUnshown(p *Part) bool { return p.isBeside || t.isOtherBranch(p) }

func (t *Texts) isOtherBranch(p *Part) bool {
	last := t.last[p.alternative]
	if t.showsPage(p.alternative) {
		last = t.lastPage[p.alternative]
	}
	return p.alternative > 0 && (p.branch < last || !p.isUsual || t.isBesidePage(p))
}

// isShownAlternative reports whether readers show such a branch of an alternative without
// HTML, if it is the last one.
func isShownAlternative(mediaType string) bool {
	return mediaType == "text/plain" || mediaType == "application/xhtml+xml" || strings.HasPrefix(mediaType, "image/")
}

// SourceOf returns the decoded part in its own charset.
func (t *Texts) SourceOf(p *Part) []byte { return t.source[p.start:p.end] }
