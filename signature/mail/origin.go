package mail

import (
	"mime"
	"strings"

	"github.com/spambloom/spambloom/signature/ascii"
)

// Answer is whether a message answers another one or forwards it, and how that is known.
type Answer uint8

const (
	NoAnswer  Answer = iota
	BySubject        // by a mark of its subject: "Re: ", "Fw: "
	ByThread         // its header names the other message (RFC 5322 section 3.6.4)
)

// Origin is the origin of a message, by its header.
type Origin struct {
	Answer Answer
	IsList bool // a mailing list distributed it
}

// longestOrigin is the length of the longest name of a field that OriginOf reads.
const longestOrigin = len("x-mailman-version")

// OriginOf reads a message's header.
func OriginOf(header []Field) Origin {
	var o Origin
	var buf [longestOrigin]byte
	for _, f := range header {
		name := strings.TrimRight(f.Name, " \t")
		if len(name) > longestOrigin {
			continue
		}
		switch string(ascii.AppendLower(buf[:0], []byte(name))) {
		case "in-reply-to", "references":
			o.Answer = ByThread
		case "subject":
			if o.Answer == NoAnswer && isAnswerSubject(f.Value) {
				o.Answer = BySubject
			}
		case "list-id", "list-post", "mailing-list", "x-mailing-list", "x-beenthere", "x-mailman-version":
			o.IsList = true
		case "precedence":
			value := strings.ToLower(strings.TrimSpace(f.Value))
			o.IsList = o.IsList || value == "list" || value == "bulk"
		}
	}
	return o
}

// answerMarks are the marks of European languages that mail programs put before the
// subject of an answer, or of a forwarded message.
var answerMarks = map[string]bool{
	"re": true, "aw": true, "sv": true, "vs": true, "antw": true, "odp": true, "rif": true, "res": true, "ynt": true,
	"fw": true, "fwd": true, "wg": true, "tr": true, "rv": true, "enc": true, "doorst": true, "vl": true,
}

// isAnswerSubject reports whether a subject has such a mark, which may stand after the
// name of a mailing list in brackets.
func isAnswerSubject(value string) bool {
	value = unfold.Replace(value[:min(len(value), maxSubject)])
	if strings.Contains(value, "=?") {
		if decoded, err := new(mime.WordDecoder).DecodeHeader(value); err == nil {
			value = decoded
		}
	}
	value = strings.TrimSpace(value)
	if strings.HasPrefix(value, "[") {
		_, value, _ = strings.Cut(value, "]")
		value = strings.TrimSpace(value)
	}
	mark, _, ok := strings.Cut(value[:min(len(value), 10)], ":")
	mark = strings.TrimRight(mark, "0123456789[]() ") // "Re[2]:"
	return ok && answerMarks[strings.ToLower(mark)]
}
