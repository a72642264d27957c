package batch

import (
	"errors"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/signature"
)

// Bodies as mutt pipes them if the header has a line that is no field to it, and those of other mail. Without names, the
// first ones are refused; a caller that names standard input is believed, since anybody can write such a body.
func TestSplitHeader(t *testing.T) {
	const rest = "MIME-Version: 1.0\nContent-Type: text/html\n\n<p>hello\n"
	for body, refused := range map[string]bool{
		"X-Mailer : x\n" + rest:                            true,
		"X-Mailer\t: x\n fold\nSubject: y\n" + rest:        true,
		"X-Mailer : x\r\ncontent-type : text/html\r\n":     true,
		"Content-Transfer-Encoding : base64\n\naGVsbG8=\n": true,
		"X Mailer: x\n" + rest:                             true,
		"hello\n" + rest:                                   true,

		rest:                                false, // mutt would have read this as header
		"X-Mailer: x\n" + rest:              false,
		"Bonjour :\n\nvoici\n":              false,
		"De : Jean\nObjet : oui\n\nvoici\n": false,
		"Content : yes\n":                   false,
		"hello\n\n" + rest:                  false,
		"hello\nworld\n" + rest:             false,
		"--b\nContent-Type: text/html\n\nhello\n--b--\n": false,
		"":   false,
		"\n": false,
	} {
		for _, names := range [][]string{nil, {"-"}} {
			c := &verb.CLI{Streams: verb.Streams{In: strings.NewReader("From: a@example.org\n\n" + body)}}
			for in, err := range Messages(c, names, false) {
				if want := refused && names == nil; errors.Is(err, errSplit) != want || !want && err != nil {
					t.Errorf("%q of %q: %v", body, names, err)
				}
				if want := signature.Parse([]byte("A: 1\n\n" + body)); string(in.Message.Body) != string(want.Body) {
					t.Errorf("%q is changed to %q", body, in.Message.Body)
				}
			}
		}
	}
}
