package mail

import (
	"mime"
	"slices"
	"strings"
)

// Field is one header field of a message. Value may be folded (CRLF or LF, then a blank
// or tab) and may have any bytes.
type Field struct{ Name, Value string }

// Is reports whether the field has this name. Blanks may stand before its colon.
func (f Field) Is(name string) bool {
	end := len(f.Name)
	for end > 0 && (f.Name[end-1] == ' ' || f.Name[end-1] == '\t') {
		end--
	}
	return strings.EqualFold(f.Name[:end], name)
}

// Message is a message as the milter or a mailbox provides it. Nothing in it is trusted
// to be well-formed.
type Message struct {
	Header    []Field // in the order of the message
	Body      []byte  // raw, after the empty line; CRLF or LF
	Truncated bool    // Body is only the beginning of the message's body
}

// messageFields are the fields by which the header of a message is recognised: those of its
// author (RFC 5322, section 3.6), and those that mail servers add. Date, for example, is
// none of them: notes and settings in other formats begin with such a line, too.
var messageFields = []string{"From", "Sender", "To", "Subject", "Message-ID", "Received", "Return-Path", "Delivered-To", "MIME-Version"}

// HasHeader reports whether the message has a header field that only a message has. A
// program, a picture or a licence has none.
func (m Message) HasHeader() bool {
	return slices.ContainsFunc(m.Header, func(f Field) bool { return slices.ContainsFunc(messageFields, f.Is) })
}

// Value returns the value of the first header field of a name, unfolded; "" if there is
// none.
func Value(header []Field, name string) string {
	for _, f := range header {
		if f.Is(name) {
			return strings.TrimSpace(unfold.Replace(f.Value))
		}
	}
	return ""
}

// maxSubject bounds, in bytes, the part of a subject that is read.
const maxSubject = 1000

// Subject returns the decoded subject (RFC 2047), or the field itself if its charset is
// unknown.
func Subject(header []Field) string {
	raw := Value(header, "Subject")
	raw = raw[:min(len(raw), maxSubject)]
	if decoded, err := new(mime.WordDecoder).DecodeHeader(raw); err == nil {
		return decoded
	}
	return raw
}
