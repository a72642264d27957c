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
		"\vX-B: y\n\n" + rest:                              true, // NeoMutt
		"\fX-B: y\r\n\r\n" + rest:                          true,
		"\rX-B: y\n\n" + rest:                              true,
		rest:                                               true, // the line began with zero
		"X-Mailer: x\n" + rest:                             true,
		"--\n" + rest:                                      true,
		"--mixed\n" + rest:                                 true, // a word of the header's Content-Type
		"--zz\n" + rest:                                    true,

		"Bonjour :\n\nvoici\n":                           false,
		"De : Jean\nObjet : oui\n\nvoici\n":              false,
		"Content : yes\n":                                false,
		"hello\n\n" + rest:                               false,
		"hello\nworld\n" + rest:                          false,
		"--b\nContent-Type: text/html\n\nhello\n--b--\n": false, // the header has it
		"\r\n" + rest:                                    false,
		"\vhello\n\nworld\n":                             false,
		"--x : y\nContent-Type: text/html\n\nhello\n":    true,
		"":   false,
		"\n": false,
	} {
		for _, names := range [][]string{nil, {"-"}} {
			c := &verb.CLI{Streams: verb.Streams{In: strings.NewReader("From: a@example.org\nContent-Type: multipart/mixed; boundary=b\n\n" + body)}}
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

// Only a boundary that the signatures go by begins a part, not what looks like one.
func TestSplitBesideBoundary(t *testing.T) {
	const multipart, next = "multipart/mixed; boundary=", "\nContent-Type: "
	long := strings.Repeat("z", 64<<10)
	for contentType, refused := range map[string]bool{
		multipart + "zz": false,
		"Multipart/Mixed;\n\tboundary = \"zz\"; charset=x": false,
		multipart + "\"zz":                                                 false, // the quote is missing
		multipart + `"z\z"`:                                                false,
		multipart + "real; boundary=zz":                                    false,
		multipart + "zz; boundary=real":                                    false,
		multipart + "real; boundary*=us-ascii''zz":                         false, // RFC 2231
		"multipart/mixed; boundary*0=z; boundary*1=z; boundary=real":       false,
		"multipart/mixed; boundary*0*=us-ascii''z%7A; boundary=real":       false,
		multipart + "zz" + next + "text/plain":                             false,
		"text/plain" + next + multipart + "zz":                             false,
		multipart + "real" + next + "text/plain" + next + multipart + "zz": false,
		next + multipart + "zz" + next:                                     false, // fields without a value
		multipart + long:                                                   false,

		"text/plain; boundary=zz":                                              true,
		multipart + "zzz":                                                      true,
		`multipart/mixed; x="; boundary=zz"`:                                   true,
		multipart + `real; x="; boundary=zz"`:                                  true,
		`multipart/mixed; x="; boundary=zz"; x`:                                true,
		`multipart/mixed; x="; boundary=zz"; x=y`:                              true,
		multipart + `real; x="; boundary=zz"; y`:                               true,
		multipart + `real; x="; boundary=zz"; x=y`:                             true,
		`multipart/mixed;; boundary=real; x="; boundary=zz"`:                   true,
		`multipart/mixed; y="; boundary=zz"; y=x`:                              true,
		multipart + `real x; y="; boundary=zz"`:                                true,
		multipart + `real; y="; boundary=zz" q`:                                true,
		`multipart/mixed; =; y="; boundary=zz"`:                                true,
		multipart + "real" + next + multipart + "zz" + next + multipart + "qq": true,
		"text/plain" + next + multipart + "zz" + next + "text/plain":           true,
		multipart + "real" + next + multipart + "zz" + next + "text/plain":     true,
		"text/plain" + next + multipart + "zz" + next + multipart + "qq":       true,
		multipart + long + "z":                                                 true,
	} {
		line := "--zz"
		if i := strings.Index(contentType, long); i >= 0 {
			line = "--" + contentType[i:]
		}
		m := signature.Parse([]byte("From: a@example.org\nContent-Type: " + contentType + "\n\n" + line + "\nMIME-Version: 1.0\nContent-Type: text/html\n\n<p>hello\n"))
		if isSplit(m) != refused {
			t.Errorf("%.100s: refused %v", contentType, !refused)
		}
	}
}

// Mutt attaches a message as it pipes it. A message that another program attaches is as it arrived, so no sender keeps it
// from being reported.
func TestSplitAndAttached(t *testing.T) {
	const whole, split = "From: a@example.org\nX-Mailer : x\nMIME-Version: 1.0\n\nhello\n", "From: a@example.org\n\nX-Mailer : x\nMIME-Version: 1.0\n\nhello\n"
	for boundary, isMutts := range map[string]bool{
		`"low8aSg3kh9Gmyj2"`: true, `"lo/8aSg3kh+Gmyj2"`: true, "xq4ta2bd6u3zzm7c": true, `"low8aSg3kh9Gmyj2";` + "\n\tmicalg=x": true,
		`"------------low8aSg3kh9Gmyj2abcdefgh"`: false, `"=_low8aSg3kh9Gmyj"`: false, `"low8aSg3kh9Gmyj2a"`: false, "000000000000a1b2c3d4e5f60718": false,
	} {
		bare, _, _ := strings.Cut(strings.Trim(boundary, `"`), `"`)
		mail := "From: anna@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=" + boundary + "\n\n"
		for _, m := range []string{whole, split} {
			mail += "--" + bare + "\nContent-Type: message/rfc822\n\n" + m + "\n"
		}
		var errs []error
		for _, err := range attachedTo(Input{Name: "-", Message: signature.Parse([]byte(mail + "--" + bare + "--\n"))}) {
			errs = append(errs, err)
		}
		if len(errs) != 2 || errs[0] != nil || errors.Is(errs[1], errSplit) != isMutts || !isMutts && errs[1] != nil {
			t.Errorf("%s: %v", boundary, errs)
		}
	}
}
