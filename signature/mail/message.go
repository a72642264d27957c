package mail

import (
	"mime"
	"strings"
)

// Field is one header field as it stands in the message. Value may be folded
// (CRLF or LF, then a blank or tab) and may hold any bytes.
type Field struct{ Name, Value string }

// is tells whether the field has this name. Blanks may stand before its colon.
func (f Field) Is(name string) bool {
	end := len(f.Name)
	for end > 0 && (f.Name[end-1] == ' ' || f.Name[end-1] == '\t') {
		end--
	}
	return strings.EqualFold(f.Name[:end], name)
}

// Message is a message as the milter or a mailbox hands it over: nothing in it
// is trusted to be well-formed.
type Message struct {
	Header    []Field // in the order of the message
	Body      []byte  // raw, after the empty line; CRLF or LF
	Truncated bool    // Body is only the beginning of the message's body
}

// field returns the value of the first header field of a name, unfolded.
func Value(header []Field, name string) string {
	for _, f := range header {
		if f.Is(name) {
			return strings.TrimSpace(unfold.Replace(f.Value))
		}
	}
	return ""
}

// maxSubject bounds, in bytes, what is read of a subject.
const maxSubject = 1000

// subjectOf decodes the subject (RFC 2047) as far as its charset is known.
func Subject(header []Field) string {
	raw := Value(header, "Subject")
	raw = raw[:min(len(raw), maxSubject)]
	if decoded, err := new(mime.WordDecoder).DecodeHeader(raw); err == nil {
		return decoded
	}
	return raw
}
