package batch

import (
	"bytes"
	"errors"
	"iter"
	"regexp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature"
)

var errSplit = errors.New("the body begins with the rest of a header: the mail program that passed it on has probably split it")

const splitHint = "name the file of the message, not a copy that the mail program saves; a program that passes mail on unchanged can name standard input: -"

// whole refuses messages whose header was split on their way through a mail program. Mutt ends a header at a line
// that is no field to it, such as "X-Mailer : x" or "--", and pipes the message with an empty line there. What is signed
// then is not the spam, but what its sender has put into it for that purpose. It is not repaired: the sender of
// another message can have written it just so.
func whole(inputs iter.Seq2[Input, error]) iter.Seq2[Input, error] {
	return func(yield func(Input, error) bool) {
		for in, err := range inputs {
			if err == nil && isSplit(in.Message) {
				err = NewRefusal(in.Name, errSplit, splitHint)
			}
			if !yield(in, err) {
				return
			}
		}
	}
}

// muttsBoundary matches a Content-Type of mutt and NeoMutt (mutt_generate_boundary); other programs' are longer.
var muttsBoundary = regexp.MustCompile(`(?i:boundary)="?[A-Za-z0-9+/]{16}(?:["; \t\r\n]|$)`)

// isByMutt reports whether m is probably a mail that mutt wrote: a message that it attaches is split as in a pipe.
func isByMutt(m signature.Message) bool {
	return slices.ContainsFunc(m.Header, func(f signature.Field) bool {
		return f.Is("Content-Type") && muttsBoundary.MatchString(f.Value)
	})
}

// isSplit reports whether the body of m begins with fields, of which one says how a body is read. The line that ended
// the header for mutt stands before them, or before an empty line (NeoMutt: one that begins with white space other than
// a blank or tab), or is lost (one that begins with zero).
func isSplit(m signature.Message) (found bool) {
	first, rest, _ := bytes.Cut(m.Body, []byte("\n"))
	first, fields := bytes.TrimSuffix(first, []byte("\r")), m.Body
	if isDelimiter(first, m.Header) {
		return false
	}
	if len(first) > 0 && bytes.ContainsAny(first[:1], "\v\f\r") {
		fields = bytes.TrimLeft(rest, "\r\n")
	}
	signature.EachField(fields, func(f signature.Field) {
		const types = "content-"
		found = found || f.Is("MIME-Version") || len(f.Name) > len(types) && strings.EqualFold(f.Name[:len(types)], types)
	})
	return found
}

// isDelimiter reports whether a line begins a part for the signatures of a message with this header. What begins one for
// other readers only is not exempt: a copy would be signed as a text that it is not.
func isDelimiter(line []byte, header []signature.Field) bool {
	boundary, is := strings.CutPrefix(strings.TrimRight(string(line), " \t"), "--")
	return is && slices.Contains(signature.Boundaries(header), boundary)
}
