package signature_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/mail/mailtest"
)

// A milter gets fields one by one, with folds as "\n\t" whatever the message's line ends
// are. Those that say how the body is read are unfolded.
func TestParseEqualsMilter(t *testing.T) {
	fields := []signature.Field{{Name: "Received", Value: "from a\n\tby b"}, {Name: "Content-Type", Value: "multipart/mixed;\n\tboundary=\"b c\""}}
	body := "--b c\r\n\r\n" + strings.ReplaceAll(prose, "\n", "\r\n") + "--b c--\r\n"
	want := signature.Compute(signature.Message{Header: fields, Body: []byte(body)})
	raw := "Received: from a\n\tby b\nContent-Type: multipart/mixed;\n\tboundary=\"b c\"\n\n" + body
	for _, raw := range []string{raw, strings.ReplaceAll(strings.ReplaceAll(raw, "\r\n", "\n"), "\n", "\r\n")} {
		m := signature.Parse([]byte(raw))
		if kept := []signature.Field{fields[0], {Name: "Content-Type", Value: "multipart/mixed;\tboundary=\"b c\""}}; !reflect.DeepEqual(m.Header, kept) {
			t.Errorf("header %q, want %q", m.Header, kept)
		}
		if got := signature.Compute(m); !reflect.DeepEqual(got, want) || len(got.Signatures) != 2 {
			t.Errorf("signatures %v, want %v", got, want)
		}
	}
}

// longLine returns text of n bytes that is different everywhere.
func longLine(n int) string {
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "word%cis%cnice%c ", 'a'+i%26, 'a'+i/3%26, 'a'+i*7%26)
	}
	return b.String()[:n]
}

func TestDeliveredCopiesAgree(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, head := range []string{"", "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: 8bit\n",
		"Content-Transfer-Encoding: quoted-printable\n", "Content-Type: application/json\n"} {
		for _, n := range []int{989, 990, 991, 997, 998, 999, 1979, 1995, 1996, 2039, 2040, 2041, 10_000} {
			whole := prose + longLine(n) + "\n" + prose
			want := signature.Compute(signature.Parse([]byte(head + "\n" + whole)))
			if len(want.Signatures) < 2 {
				t.Fatalf("%q and a line of %d bytes: signed by %q", head, n, kinds(want))
			}
			for name, deliver := range mailtest.Deliveries {
				copied := deliver(whole)
				for _, copied := range []string{copied, toCRLF(copied)} {
					if got := signature.Compute(signature.Parse([]byte(head + "\n" + copied))); !reflect.DeepEqual(got, want) {
						t.Errorf("%q and a line of %d bytes through %s: got %v, want %v", head, n, name, got, want)
					}
				}
			}
		}
	}
}
