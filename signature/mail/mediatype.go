package mail

import (
	"cmp"
	"strings"

	"github.com/spambloom/spambloom/signature/mimefield"
	"github.com/spambloom/spambloom/signature/work"
)

// maxField bounds the value of a MIME field, in bytes. A longer one counts as absent. Postfix passes
// on 100 KiB of a field, and other servers as much as fits into a packet of the milter protocol.
const maxField = 1 << 20

// mimeHeader is a part's header as far as it describes the content.
type mimeHeader struct {
	MediaType   string   // lower case, "text/plain" if absent or senseless
	boundaries  []string // the readings of the boundary; several if mail programs differ
	Charset     string   // lower case
	encoding    string   // Content-Transfer-Encoding, lower case
	other       string   // another reading of it; "": programs agree
	isDoubtful  bool     // programs differ in whether it is a multipart
	isUntyped   bool     // no Content-Type
	otherType   string   // a type of text by which some programs show it; "": none
	Disposition string   // lower case
	HasID       bool     // a Content-ID, by which HTML shows the part
	ID          string   // the Content-ID without <>
	Location    string   // Content-Location, by which HTML shows the part, too
	IsJoined    bool     // lines that end in a blank go on without it (RFC 3676)
	start       string   // of a multipart: Content-ID of the part that is shown, without <>
}

// mimeFields are the MIME fields of a header. The first of each name counts.
type mimeFields struct {
	contentType, encoding, disposition, id string
	location                               string
	otherType                              string // of the last field, which mutt reads
	otherEncoding                          string // of a further field
}

func (f *mimeFields) slot(name string) *string {
	const prefix = "content-"
	name = strings.TrimRight(name, " \t") // a milter's names have them
	if len(name) <= len(prefix) || !strings.EqualFold(name[:len(prefix)], prefix) {
		return nil
	}
	switch rest := name[len(prefix):]; {
	case strings.EqualFold(rest, "type"):
		return &f.contentType
	case strings.EqualFold(rest, "transfer-encoding"):
		return &f.encoding
	case strings.EqualFold(rest, "disposition"):
		return &f.disposition
	case strings.EqualFold(rest, "id"):
		return &f.id
	case strings.EqualFold(rest, "location"):
		return &f.location
	}
	return nil
}

// add records a field. One without a value counts as absent.
func (f *mimeFields) add(field Field) {
	slot := f.slot(field.Name)
	if slot == nil {
		return
	}
	if field.Value = unfolded(field.Value); field.Value == "" || len(field.Value) > maxField {
		return
	}
	isFurther := *slot != ""
	switch {
	case slot == &f.encoding && isFurther:
		slot = &f.otherEncoding
	case slot == &f.contentType && isFurther:
		if slot = &f.otherType; field.isShort() {
			*slot = "" // the last one counts
		}
	}
	*slot = cmp.Or(*slot, field.Value)
}

var unfold = strings.NewReplacer("\r", "", "\n", "", "\x00", " ") // a milter has a blank for a NUL

// parse reads the fields, strictly if possible. Comments are removed, as RFC 2045 asks; some programs
// do not do that, so both readings count where they differ.
func (f *mimeFields) parse() mimeHeader {
	h := mimeHeader{MediaType: "text/plain", encoding: mimefield.TransferEncoding(f.encoding)}
	readings := []string{mimefield.WithoutComments(f.encoding)}
	if f.otherEncoding != "" {
		readings = append(readings, f.otherEncoding)
	}
	for _, other := range readings {
		if other = mimefield.TransferEncoding(other); other != h.encoding && !(isIdentity(other) && isIdentity(h.encoding)) {
			h.other = cmp.Or(other, "7bit")
		}
	}
	f.parseType(&h)
	h.Disposition = mimefield.Disposition(f.disposition)
	h.HasID = f.id != ""
	h.ID, h.Location = contentID(f.id), strings.Trim(f.location, " \t\"")
	return h
}

// parseType reads the Content-Type.
func (f *mimeFields) parseType(h *mimeHeader) {
	if h.isUntyped = f.contentType == ""; h.isUntyped {
		return
	}
	value := mimefield.WithoutComments(f.contentType)
	mediaType, params := mimefield.ContentType(value)
	h.MediaType = mediaType
	isMultipart := strings.HasPrefix(mediaType, "multipart/")
	if isMultipart {
		h.boundaries = mimefield.Boundaries(nil, value, params["boundary"])
	}
	if value != f.contentType {
		mediaType, params := mimefield.ContentType(f.contentType)
		h.isDoubtful = isMultipart && mediaType != h.MediaType
		if isMultipart {
			h.boundaries = mimefield.Boundaries(h.boundaries, f.contentType, params["boundary"])
		}
	}
	f.parseOtherType(h)
	h.Charset = strings.ToLower(strings.TrimSpace(params["charset"]))
	h.start = contentID(params["start"])
	h.IsJoined = strings.EqualFold(params["format"], "flowed") && strings.EqualFold(params["delsp"], "yes")
}

// parseOtherType reads a further Content-Type. If it is a multipart, its boundaries separate parts, too. If
// it is text and the first one is a file, the part is also read as text.
func (f *mimeFields) parseOtherType(h *mimeHeader) {
	if f.otherType == "" {
		return
	}
	value := mimefield.WithoutComments(f.otherType)
	mediaType, params := mimefield.ContentType(value)
	isMultipart := strings.HasPrefix(mediaType, "multipart/")
	if isMultipart {
		h.boundaries = mimefield.Boundaries(h.boundaries, value, params["boundary"])
	}
	switch {
	case strings.HasPrefix(h.MediaType, "multipart/"):
		h.isDoubtful = h.isDoubtful || strings.HasPrefix(mediaType, "text/")
	case isMultipart:
		h.MediaType, h.isDoubtful = mediaType, true
	case strings.HasPrefix(mediaType, "text/") && !strings.HasPrefix(h.MediaType, "text/"):
		h.otherType = mediaType
	}
}

// contentID returns a Content-ID without the <>, which some programs leave out.
func contentID(value string) string { return strings.Trim(value, "<> \t") }

// messageMIME reads a message's own header.
func messageMIME(fields []Field, steps *work.Steps) mimeHeader {
	var f mimeFields
	for _, field := range fields {
		f.add(field)
	}
	steps.Count(f.steps())
	return f.parse()
}

// Boundaries returns the boundaries that separate the parts of a message with this header: all readings of its first
// and its last Content-Type. There are none if neither is a multipart.
func Boundaries(header []Field) []string { return messageMIME(header, nil).boundaries }

// stepsOfType are for a byte of a Content-Type, whose parameters may be pieces of a boundary (RFC 2231).
const stepsOfType = 20

func (f *mimeFields) steps() int { return stepsOfType * (len(f.contentType) + len(f.otherType)) }

// partMIME reads a header at the beginning of data, and returns where the body begins.
func partMIME(data []byte, steps *work.Steps, stop func(line []byte) bool) (mimeHeader, int) {
	s := fieldScanner{data: data, stop: stop}
	var f mimeFields
	for name, value, ok := s.next(); ok; name, value, ok = s.next() {
		if f.slot(string(name)) != nil { // others are not copied
			f.add(Field{string(name), string(value)})
		}
	}
	steps.Count(work.PerPart + s.pos + f.steps())
	return f.parse(), s.pos
}
