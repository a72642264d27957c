package signature

import (
	"mime"
	"strings"
)

// answer tells whether a message answers another or passes it on.
type answer uint8

const (
	noAnswer  answer = iota
	bySubject        // its subject says so: "Re: ", "Fw: "
	byThread         // its header names the other (RFC 5322 section 3.6.4)
)

// answerOf reads a message's header.
func answerOf(header []Field) answer {
	a := noAnswer
	for _, f := range header {
		switch name := strings.TrimRight(f.Name, " \t"); {
		case strings.EqualFold(name, "In-Reply-To"), strings.EqualFold(name, "References"):
			return byThread
		case strings.EqualFold(name, "Subject") && isAnswerSubject(f.Value):
			a = bySubject
		}
	}
	return a
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
	value = unfold.Replace(value)
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
