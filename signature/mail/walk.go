package mail

import (
	"bytes"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mimefield"
	"github.com/spambloom/spambloom/signature/work"
)

const (
	// maxEntities bounds the messages, multiparts and leaf parts of one message.
	maxEntities = 50_000
	// maxWrapped bounds how deep messages may lie in each other, each encoded once more. Each level is decoded whole.
	maxWrapped = 4
	// maxHeld bounds a message and the decoded ones around it, in bytes for 16 of the whole: four in base64, two otherwise.
	maxHeld = 35
	// maxReadings bounds how often a part is read with all that it contains: one of two types and encodings, in four ways.
	maxReadings = 4
	// maxReach is how far behind the header, in bytes without CR, a part may begin to
	// sign as text or to raise the amount of text needed. A milter keeps only the
	// beginning of a large message. What is beyond must not change the text signature of
	// the whole message.
	maxReach = 1 << 20
)

// Leaf is a part that has no parts.
type Leaf struct {
	mimeHeader
	surroundings
	raw     []byte // as transferred
	IsCut   bool   // the part reaches to the end of a truncated message
	IsFar   bool   // the part begins more than maxReach bytes behind the header
	IsAgain bool   // the part, or one with it inside, is also read in another way, which counts more
}

// Len returns the length of a part as transferred, with one byte for each line end. No reading of it is longer.
func (l Leaf) Len() int { return len(l.raw) - bytes.Count(l.raw, []byte("\r\n")) }

// surroundings are the multiparts around a part.
type surroundings struct {
	// Alternative is the number of the outermost multipart/alternative within the part's
	// message, 0 if there is none.
	Alternative int
	Branch      int  // number of the part of that alternative that contains it
	IsRelated   bool // a multipart/related within the part's message
	IsBeside    bool // the part belongs to the one that a multipart/related shows
	IsReport    bool // a multipart/report, also around the part's message
	IsDigest    bool // a multipart/digest, also around the part's message
	Carried     Carriage
	Part, Size  int // number and length (Len) of the outermost part that is, or contains, this one in any encoding
}

// walker finds the leaf parts of a message in one pass over its body, however deep they
// lie. The open multiparts are on a stack, and a line that begins with "--" is looked up
// among their boundaries. A delimiter of an outer multipart ends all inner ones, so an
// unclosed one costs nothing.
type walker struct {
	visit func(Leaf)
	work  *work.Steps // may be nil
	// isDeep is set to look into message/rfc822 parts; otherwise they are leaves.
	isDeep      bool
	isTruncated bool

	body         []byte
	size         int // length of body
	stack        []multipart
	open         map[string]int // boundary to its innermost index in stack
	entities     int
	alternatives int
	wrapped      int
	held         int         // bytes of the decoded messages around body
	mayHold      int         // of them
	room         int         // bytes of body that may be read in a further way; each part has its share
	left         int         // of the share of the part that is read now
	used         int         // of room
	isAgain      bool        // what is visited is read in a further way
	limits       work.Limits // reached; after LimitParts, the rest was not read

	lastReport int // where the last part for programs is declared in body, from 1 on; -1: nowhere, 0: not sought yet

	base    int // where body begins, in bytes behind the message's header
	counted int // length is counted up to here in body
	length  int
}

type multipart struct {
	boundaries    []string
	shadowed      []int        // for each boundary, the index in stack of the outer multipart with it, or -1
	inside        surroundings // of its next part
	isAlternative bool         // readers show one of its parts, not all
	isDigest      bool         // a part without a type is a message (RFC 2046 section 5.1.5)
	start         string       // Content-ID of the part that readers show; "" for the first one
	isStarted     bool         // that part was found
	isRelated     bool
	// isOutermost is set for the alternative whose branches are numbered.
	isOutermost bool
}

// next returns the header and the surroundings of the next part, which has header h. The parts of an
// alternative replace each other. In all other multiparts, all but one are carried: the
// first, or the one of the parameter start (RFC 2387 section 3.2).
func (m *multipart) next(h mimeHeader) (mimeHeader, surroundings) {
	if m.isDigest && h.isUntyped {
		h.MediaType = "message/rfc822"
	}
	around := m.inside
	if m.isOutermost {
		m.inside.Branch++
	}
	isShown := !m.isStarted && (m.start == "" || m.start == h.ID)
	if m.isStarted = m.isStarted || isShown; !isShown && !m.isAlternative {
		around.Carried, around.IsBeside = max(around.Carried, LaterPart), around.IsBeside || m.isRelated
	}
	return h, around
}

// delimiter is a line that separates or ends parts. The content before it ends at start,
// and the line after it begins at next.
type delimiter struct {
	level       int // index in stack; -1 at the end of the body
	isClosing   bool
	start, next int
}

// Walk calls visit for the leaf parts of m in order, also of messages inside it, and returns the limits that were reached. Steps may be nil.
func Walk(m Message, steps *work.Steps, visit func(Leaf)) work.Limits {
	return walk(m, true, steps, visit)
}

func walk(m Message, isDeep bool, steps *work.Steps, visit func(Leaf)) work.Limits {
	steps.Count(len(m.Body) / 4)
	w := walker{visit: visit, work: steps, isDeep: isDeep, isTruncated: m.Truncated, room: (maxReadings - 1) * length(m.Body), mayHold: length(m.Body) * maxHeld / 16}
	w.message(messageMIME(m.Header, steps), m.Body, surroundings{})
	return w.limits
}

func (w *walker) message(h mimeHeader, body []byte, around surroundings) {
	if last := body[bytes.LastIndexByte(body, '\n')+1:]; w.isTruncated && len(last) < 100 { // the beginning of a delimiter or field is no text
		body = body[:len(body)-len(last)]
	}
	w.body, w.size = body, length(body)
	pos := 0
	for {
		if w.work.IsStopped() {
			return
		}
		if w.entities++; w.entities > maxEntities {
			w.limits |= work.LimitParts
			w.visit(w.rest(pos, around))
			return
		}
		if w.isDeep && isMessage(h) && isIdentity(h.encoding) && h.other == "" {
			pos += len(body[pos:]) - len(skipPostmark(body[pos:]))
			h, pos = w.header(pos)
			around.Alternative, around.IsRelated, around.IsBeside, around.Carried = 0, false, false, AttachedPart
			continue
		}
		d := w.entity(h, pos, around)
		for d.isClosing { // an epilogue follows, up to an outer delimiter
			w.popTo(d.level)
			d = w.findDelimiter(d.next)
		}
		w.popTo(d.level + 1)
		if d.level < 0 {
			return
		}
		h, pos = w.header(d.next)
		h, around = w.stack[d.level].next(h)
	}
}

// entity reads the part with header h and content at pos, and returns the delimiter at
// which to go on.
func (w *walker) entity(h mimeHeader, pos int, around surroundings) delimiter {
	if !strings.HasPrefix(h.MediaType, "multipart/") {
		d := w.findDelimiter(pos)
		w.part(h, pos, d, around)
		return d
	}
	level := len(w.stack)
	if len(h.boundaries) > 0 {
		if len(h.boundaries) > 1 || h.isDoubtful { // readers may be shown other parts, and none of these
			around.Carried = max(around.Carried, LaterPart)
		}
		around.IsReport = around.IsReport || h.MediaType == "multipart/report" && w.hasReportBehind(pos)
		w.push(h, around)
	}
	d := w.findDelimiter(pos)
	if d.level < level || d.isClosing || h.isDoubtful {
		// If it has no part, its preamble is all that can be shown.
		w.part(mimeHeader{MediaType: "text/plain"}, pos, d, around)
	}
	return d
}

// part reads a part that has no parts. What is read of it in further ways leaves others their share.
func (w *walker) part(h mimeHeader, pos int, d delimiter, around surroundings) {
	raw := w.body[pos:max(pos, d.start)]
	if around.Part == 0 {
		around.Part, around.Size = w.entities, Leaf{raw: raw}.Len()
	}
	w.left = w.room * length(raw) / max(1, w.size)
	w.used += w.left
	w.leaf(h, pos, d, around)
	w.used -= w.left
}

func (w *walker) leaf(h mimeHeader, pos int, d delimiter, around surroundings) {
	if w.work.IsStopped() {
		return
	}
	raw := w.body[pos:max(pos, d.start)]
	if other := h.otherType; other != "" {
		h.otherType = ""
		as, carried := h, around
		as.MediaType, carried.Carried = other, max(around.Carried, LaterPart)
		w.twice(raw, func() { w.leaf(h, pos, d, around) }, func() { w.leaf(as, pos, d, carried) })
		return
	}
	if h.Disposition != "" && h.Disposition != "inline" && h.Disposition != "attachment" { // some programs show it as a file
		around.Carried = max(around.Carried, LaterPart)
	}
	if h.other != "" {
		w.doubtful(h, pos, d, around)
		return
	}
	cut := w.isTruncated && d.level < 0
	if w.isDeep && (isMessage(h) || isSigned(h)) {
		if isSigned(h) { // it is a file, too
			w.visit(Leaf{mimeHeader: h, surroundings: around, raw: raw, IsCut: cut, IsFar: w.offset(pos) > maxReach, IsAgain: true})
		}
		if w.wrapped+levels(h) <= maxWrapped && w.held+length(raw) <= w.mayHold && (!isSigned(h) && !w.isAgain || w.hasRoom(raw)) {
			w.unwrap(h, raw, around, w.offset(pos), cut)
			return
		}
		w.limits |= work.LimitWrapped
		if isSigned(h) {
			return
		}
	}
	if !cut || len(raw) > 0 { // otherwise its header may not be complete
		w.visit(Leaf{mimeHeader: h, surroundings: around, raw: raw, IsCut: cut, IsFar: w.offset(pos) > maxReach, IsAgain: w.isAgain})
	}
}

// doubtful visits a part whose encoding programs read in two ways. If it consists of base64, it is in
// that; otherwise both readings count, and are carried, as readers see one of them only.
func (w *walker) doubtful(h mimeHeader, pos int, d delimiter, around surroundings) {
	readings, raw := [2]string{h.encoding, h.other}, w.body[pos:max(pos, d.start)]
	h.other = ""
	if slices.Contains(readings[:], "base64") && isAllBase64(raw) {
		h.encoding = "base64"
		w.leaf(h, pos, d, around)
		return
	}
	around.Carried = max(around.Carried, LaterPart)
	other := h
	h.encoding, other.encoding = readings[0], readings[1]
	w.twice(raw, func() { w.leaf(h, pos, d, around) }, func() { w.leaf(other, pos, d, around) })
}

// hasRoom reports whether a part that was read may be read in a further way, and counts that.
func (w *walker) hasRoom(raw []byte) bool {
	n := length(raw)
	if n > w.left {
		w.limits |= work.LimitWrapped
		return false
	}
	w.left -= n
	w.entities++
	return true
}

// length is without CR, which copies differ in.
func length(b []byte) int { return len(b) - bytes.Count(b, []byte("\r")) }

// twice reads a part in two ways, if there is room: the second has it before what the first contains.
func (w *walker) twice(raw []byte, first, second func()) {
	hasRoom, before := w.hasRoom(raw), w.isAgain
	first()
	if w.isAgain = true; hasRoom {
		second()
	}
	w.isAgain = before
}

// rest returns all behind pos as one plain text, as it stands: there are too many parts to
// read them one by one, but a message must not hide behind them.
func (w *walker) rest(pos int, around surroundings) Leaf {
	around.Alternative, around.Carried = 0, max(around.Carried, LaterPart)
	return Leaf{mimeHeader: mimeHeader{MediaType: "text/plain"}, surroundings: around, raw: w.body[pos:], IsCut: w.isTruncated, IsFar: w.offset(pos) > maxReach, IsAgain: w.isAgain}
}

// unwrap walks a message that is transferred in an encoding, although RFC 2046 section
// 5.2.1 forbids it, or the mail inside signed data.
func (w *walker) unwrap(h mimeHeader, raw []byte, around surroundings, base int, cut bool) {
	w.work.Count(Leaf{mimeHeader: h, raw: raw}.Steps())
	decoded := raw
	if !isIdentity(h.encoding) {
		decoded = decodeTransfer(nil, raw, h.encoding)
	}
	levels := levels(h)
	around.Alternative, around.IsRelated, around.IsBeside = 0, false, false
	if isSigned(h) { // many programs show it as a file
		decoded, around.Carried = signedContent(decoded), max(around.Carried, LaterPart)
	} else {
		decoded, around.Carried = skipPostmark(decoded), AttachedPart
	}
	h, begin := partMIME(decoded, w.work, nil)
	inner := walker{visit: w.visit, work: w.work, isDeep: true, isTruncated: cut, base: base,
		wrapped: w.wrapped + levels, held: w.held + length(decoded), mayHold: w.mayHold, entities: w.entities, alternatives: w.alternatives, room: w.left, isAgain: w.isAgain}
	inner.message(h, decoded[begin:], around)
	w.entities, w.alternatives, w.left = inner.entities, inner.alternatives, w.left-inner.used
	w.limits |= inner.limits
}

// levels returns how many of maxWrapped a part takes: signed data may be copied twice.
func levels(h mimeHeader) int {
	if isSigned(h) {
		return 2
	}
	return 1
}

// offset returns how far pos, which never goes back, is behind the message's header.
func (w *walker) offset(pos int) int {
	w.length += length(w.body[w.counted:pos])
	w.counted = pos
	return w.base + w.length
}

// header reads the header of a part that begins at pos, and returns where its content
// begins.
func (w *walker) header(pos int) (mimeHeader, int) {
	h, length := partMIME(w.body[pos:], w.work, func(line []byte) bool {
		level, _ := w.match(line)
		return level >= 0
	})
	return h, pos + length
}

func (w *walker) push(h mimeHeader, around surroundings) {
	outermost, start := false, ""
	switch h.MediaType {
	case "multipart/alternative":
		if around.Alternative == 0 {
			outermost = true
			w.alternatives++
			around.Alternative = w.alternatives
		}
	case "multipart/related":
		around.IsRelated, start = true, h.start
	case "multipart/digest":
		around.IsDigest = true
	}
	if w.open == nil {
		w.open = make(map[string]int)
	}
	shadowed := make([]int, len(h.boundaries))
	for i, boundary := range h.boundaries {
		outer, ok := w.open[boundary]
		if shadowed[i] = outer; !ok {
			shadowed[i] = -1
		}
		w.open[boundary] = len(w.stack)
	}
	w.stack = append(w.stack, multipart{boundaries: h.boundaries, shadowed: shadowed, inside: around,
		isAlternative: h.MediaType == "multipart/alternative", isDigest: h.MediaType == "multipart/digest",
		isRelated: h.MediaType == "multipart/related", start: start, isOutermost: outermost})
}

// hasReportBehind reports whether a part for programs follows within maxReach, as each multipart/report has
// one (RFC 6522 section 3). Otherwise readers see its parts as those of any message.
func (w *walker) hasReportBehind(pos int) bool {
	if w.lastReport == 0 {
		w.work.Count(len(w.body) / 4)
		w.lastReport = lastReport(w.body[:min(len(w.body), maxReach)])
	}
	return w.lastReport > pos+1
}

// lastReport returns where the last type of a part that only programs read is declared, from 1 on, or
// -1 if there is none.
func lastReport(body []byte) int {
	last := -1
	for pos := 0; pos < len(body); {
		line, next := CutLine(body, pos)
		if ascii.HasPrefixFold(line, "content-type:") {
			value := bytes.TrimLeft(body[pos+len("content-type:"):], " \t\r\n")
			if ascii.HasPrefixFold(value, "message/") || ascii.HasPrefixFold(value, "text/rfc822-headers") {
				last = pos + 1
			}
		}
		pos = next
	}
	return last
}

// popTo closes the multiparts from index level on.
func (w *walker) popTo(level int) {
	for i := len(w.stack) - 1; i >= level; i-- {
		top := w.stack[i]
		for j, boundary := range top.boundaries {
			if top.shadowed[j] >= 0 {
				w.open[boundary] = top.shadowed[j]
			} else {
				delete(w.open, boundary)
			}
		}
	}
	w.stack = w.stack[:level]
}

// findDelimiter returns the first delimiter of an open multipart at or after the line
// that begins at pos. The line end before it belongs to it (RFC 2046 section 5.1.1).
func (w *walker) findDelimiter(pos int) delimiter {
	for start := pos; len(w.stack) > 0 && start < len(w.body); {
		if !bytes.HasPrefix(w.body[start:], []byte("--")) {
			i := bytes.Index(w.body[start:], []byte("\n--"))
			if i < 0 {
				break
			}
			start += i + 1
		}
		line, next := CutLine(w.body, start)
		if level, closing := w.match(line); level >= 0 {
			return delimiter{level, closing, start, next}
		}
		start = next
	}
	return delimiter{level: -1, start: len(w.body), next: len(w.body)}
}

// match returns the level of the open multipart that has line as a delimiter; -1 if none
// has.
func (w *walker) match(line []byte) (level int, isClosing bool) {
	line = bytes.TrimRight(line, " \t\r")
	if len(line) > mimefield.MaxBoundary+4 {
		return -1, false
	}
	line = line[2:]
	if level, ok := w.open[string(line)]; ok {
		return level, false
	}
	if line, ok := bytes.CutSuffix(line, []byte("--")); ok {
		if level, ok := w.open[string(line)]; ok { // another reading of the boundary may go on
			return level, len(w.stack[level].boundaries) == 1
		}
	}
	return -1, false
}

func isMessage(h mimeHeader) bool {
	return h.MediaType == "message/rfc822" || h.MediaType == "message/global"
}

func isIdentity(encoding string) bool {
	return encoding != "base64" && encoding != "quoted-printable" && !isUU[encoding]
}
