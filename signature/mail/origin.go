package mail

import (
	"mime"
	"strings"
)

// answer tells whether a message answers another or passes it on.
type answer uint8

const (
	NoAnswer  answer = iota
	bySubject        // its subject says so: "Re: ", "Fw: "
	ByThread         // its header names the other (RFC 5322 section 3.6.4)
)

// origin is what a header says of where a message comes from.
type Origin struct {
	Answer answer
	IsList bool // a mailing list distributed it
}

// originOf reads a message's header.
func OriginOf(header []Field) Origin {
	var o Origin
	for _, f := range header {
		switch name := strings.ToLower(strings.TrimRight(f.Name, " \t")); name {
		case "in-reply-to", "references":
			o.Answer = ByThread
		case "subject":
			if o.Answer == NoAnswer && isAnswerSubject(f.Value) {
				o.Answer = bySubject
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

// answerMarks are what mail programs put before the subject of an answer, or of a
// message that is passed on, in the languages of Europe.
var answerMarks = map[string]bool{
	"re": true, "aw": true, "sv": true, "vs": true, "antw": true, "odp": true, "rif": true, "res": true, "ynt": true,
	"fw": true, "fwd": true, "wg": true, "tr": true, "rv": true, "enc": true, "doorst": true, "vl": true,
}

// isAnswerSubject tells a subject with such a mark, after the name of a mailing list
// in brackets or not.
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
