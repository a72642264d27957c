package mail

import (
	"bytes"
	"math"
	"strings"
)

// Parse splits a raw message (RFC 5322) into header fields and body. It never fails:
// whatever is no header is body. Lines end in CRLF or LF, also mixed.
//
// The result has the same signatures as what a mail server passes to a milter for the
// same mail. A value loses one blank after the colon, its folds are "\n" and the blank
// that follows, and an mbox "From " line at the top is not part of the message. A line
// that is no field is skipped if a field follows it. Otherwise it begins the body, as it
// does for a mail server.
//
// Body is a part of raw, not a copy.
func Parse(raw []byte) Message {
	m, _ := ParseWithin(raw, math.MaxInt64)
	return m
}

// FieldOverhead is charged for each header field in addition to its bytes: two million fields of five
// bytes take 400 MiB. Unit: bytes.
const FieldOverhead = 64

// maxShort bounds, in bytes, a field that has room behind long ones. A third or later Content-Type counts
// only if it is that short, so that long and short headers are read alike.
const maxShort = 1000

func (f Field) isShort() bool { return len(f.Name)+len(f.Value) <= maxShort }

// unfolded returns a copy of a value in the form that does not depend on its way. Its length counts.
func unfolded(value string) string { return strings.Clone(strings.TrimSpace(unfold.Replace(value))) }

// HeaderRoom says how much of the bytes that are kept of a message its header may take: the rest is for the
// body, which a sender could otherwise hide behind empty fields. The fields that say how the body is read have
// more room than others.
type HeaderRoom struct {
	types, encodings, dispositions, ids int // how many of them had a value
	last                                int // how long the header was with the Content-Type that further ones replace; 0: none is
}

// all is the number of quarters of the bytes that are kept.
const all = 4

// quarters returns how many quarters of those bytes the header may take with this field, the next one.
func (r *HeaderRoom) quarters(f Field) int64 {
	const usual, more = 2, 3
	seen, readings := &r.types, 2 // readings: the first counts, and programs differ about a second one
	switch {
	case f.Is("Content-Type"):
	case f.Is("Content-Transfer-Encoding"):
		seen = &r.encodings
	case f.Is("Content-Disposition"):
		seen, readings = &r.dispositions, 1
	case f.Is("Content-ID"):
		seen, readings = &r.ids, 1
	default:
		return usual
	}
	if *seen >= readings || len(f.Value) > maxField || f.Value == "" {
		return usual
	}
	*seen++
	if f.isShort() { // has room behind long ones, too
		return all
	}
	return more
}

// Add appends the next field, if book reserves its bytes. The header may take that many quarters of all bytes
// with it. Of further types without room only the last one is kept, because programs read that or the first.
func (r *HeaderRoom) Add(header []Field, f Field, book func(n, quarters int64) bool) []Field {
	if new(mimeFields).slot(f.Name) != nil {
		f = Field{strings.Clone(strings.TrimRight(f.Name, " \t")), unfolded(f.Value)}
	}
	isFurther := r.types > 1 && f.Is("Content-Type") && f.isShort() && f.Value != ""
	switch {
	case isFurther && r.last > 0:
		header[r.last-1] = f
	case book(int64(len(f.Name)+len(f.Value)+FieldOverhead), r.quarters(f)):
		return append(header, f)
	case isFurther && book(maxShort+FieldOverhead, all):
		header = append(header, f)
		r.last = len(header)
	}
	return header
}

// ParseWithin is Parse with a bound: the message takes no more memory than one of which a milter keeps that
// many bytes. Fields without room are left out, and the end of the body is cut. isCut reports either.
func ParseWithin(raw []byte, most int64) (m Message, isCut bool) {
	s, header, room := fieldScanner{data: skipPostmark(raw)}, int64(0), HeaderRoom{}
	book := func(n, quarters int64) bool {
		hasRoom := header+n <= most/all*quarters
		if isCut = isCut || !hasRoom; hasRoom {
			header += n
		}
		return hasRoom
	}
	for name, value, ok := s.next(); ok; name, value, ok = s.next() {
		if header+int64(len(value)) > most { // is not copied
			isCut = true
			continue
		}
		m.Header = room.Add(m.Header, Field{string(name), fieldValue(value)}, book)
	}
	m.Body = s.data[s.pos:]
	if left := most - header + int64(len(m.Header))*FieldOverhead; int64(len(m.Body)) > left {
		m.Body, m.Truncated, isCut = m.Body[:left], true, true
	}
	return m, isCut
}

// EachField calls add for each header field of raw, and returns the body. It is Parse without the memory for
// all fields.
func EachField(raw []byte, add func(Field)) (body []byte) {
	s := fieldScanner{data: skipPostmark(raw)}
	for name, value, ok := s.next(); ok; name, value, ok = s.next() {
		add(Field{string(name), fieldValue(value)})
	}
	return s.data[s.pos:]
}

// Behind returns what follows in raw after a header with the same fields, by their names. If isPart, header
// is a part of the fields only. Ok is false if raw begins with another header, which takes no memory,
// however long it is.
func Behind(raw []byte, header []Field, isPart bool) (body []byte, ok bool) {
	s := fieldScanner{data: skipPostmark(raw)}
	for {
		name, _, hasNext := s.next()
		switch {
		case !hasNext:
			return s.data[s.pos:], len(header) == 0
		case len(header) > 0 && bytes.EqualFold(name, []byte(header[0].Name)):
			header = header[1:]
		case !isPart:
			return nil, false
		}
	}
}

// skipPostmark skips the line with which an mbox begins each message, and which may be
// quoted itself (RFC 4155).
func skipPostmark(raw []byte) []byte {
	if !bytes.HasPrefix(bytes.TrimLeft(raw, ">"), []byte("From ")) {
		return raw
	}
	line, next := CutLine(raw, 0)
	if len(fieldName(line)) > 0 { // "From : someone"
		return raw
	}
	return raw[next:]
}

// fieldValue returns a milter's form of the bytes after the colon.
func fieldValue(raw []byte) string {
	raw = bytes.TrimPrefix(raw, []byte(" "))
	raw = bytes.TrimRight(raw, "\r\n")
	return strings.ReplaceAll(string(raw), "\r\n", "\n")
}

// fieldScanner reads header fields at the beginning of data. At the end, pos is where the
// body begins.
type fieldScanner struct {
	data []byte
	pos  int
	// stop, if set, reports whether a line beginning with "--" ends the header, because
	// it is a delimiter of an enclosing multipart.
	stop func(line []byte) bool
}

// next returns the name of a field and all after its colon, including folds and the last
// line's end. At the end of the header it is not ok.
func (s *fieldScanner) next() (name, value []byte, ok bool) {
	for s.pos < len(s.data) {
		line, after := CutLine(s.data, s.pos)
		if len(line) == 0 {
			s.pos = after
			return nil, nil, false
		}
		if s.stops(line) {
			return nil, nil, false
		}
		end := s.skipFolds(after)
		if name := fieldName(line); len(name) > 0 {
			colon := s.pos + bytes.IndexByte(line, ':')
			s.pos = end
			return name, s.data[colon+1 : end], true
		}
		following, _ := CutLine(s.data, end)
		if s.stops(following) || len(fieldName(following)) == 0 {
			return nil, nil, false // the body begins without an empty line
		}
		s.pos = end
	}
	return nil, nil, false
}

func (s *fieldScanner) stops(line []byte) bool {
	return s.stop != nil && bytes.HasPrefix(line, []byte("--")) && s.stop(line)
}

// skipFolds returns the first line at or after pos that continues no field.
func (s *fieldScanner) skipFolds(pos int) int {
	for pos < len(s.data) && (s.data[pos] == ' ' || s.data[pos] == '\t') {
		_, pos = CutLine(s.data, pos)
	}
	return pos
}

// CutLine returns the line at pos without its end, and where the next one begins.
func CutLine(data []byte, pos int) (line []byte, next int) {
	end := bytes.IndexByte(data[pos:], '\n')
	if end < 0 {
		return bytes.TrimSuffix(data[pos:], []byte("\r")), len(data)
	}
	line = data[pos : pos+end]
	return bytes.TrimSuffix(line, []byte("\r")), pos + end + 1
}

// fieldName returns the name of the field that begins with line, or nothing if line
// begins none. Names are printable ASCII (RFC 5322 section 2.2), and blanks may stand
// before the colon (section 4.5).
func fieldName(line []byte) []byte {
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 {
		return nil
	}
	name := bytes.TrimRight(line[:colon], " \t")
	for _, c := range name {
		if c <= ' ' || c > '~' {
			return nil
		}
	}
	return name
}
