package mail

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/mail/mailtest"
)

// leaves lists the leaf parts of a message: type, number of alternative if there is one,
// and content.
func leaves(raw string) (list []string, complete bool) {
	limits := Walk(Parse([]byte(raw)), nil, func(l Leaf) {
		s := l.MediaType
		if l.Alternative > 0 {
			s += fmt.Sprint(" ", l.Alternative)
		}
		list = append(list, s+": "+strings.TrimRight(string(l.raw), "\r\n"))
	})
	return list, limits == 0
}

func TestWalk(t *testing.T) {
	const mixed = "Content-Type: multipart/mixed; boundary=b\n\n"
	for _, tt := range []struct {
		name, raw string
		want      []string
	}{
		{"plain", "Subject: x\n\nhello\n", []string{"text/plain: hello"}},
		{"empty", "", []string{"text/plain: "}},
		{"preamble and epilogue", mixed + "pre\n--b\n\none\n--b\nContent-Type: text/html\n\ntwo\n--b--\nepilogue\n--b\n\nhidden\n",
			[]string{"text/plain: one", "text/html: two"}},
		{"long preamble line", mixed + strings.Repeat("x", 70_000) + "\n--b\n\none\n--b--\n", []string{"text/plain: one"}},
		{"no final boundary", mixed + "--b\n\none\n--b\n\ntwo\n", []string{"text/plain: one", "text/plain: two"}},
		{"blanks after the boundary", mixed + "--b \t\r\n\r\none\r\n--b-- \r\n", []string{"text/plain: one"}},
		{"longer boundary", mixed + "--b\n\none\n--bb\nmore\n--b--x\n--b--\n", []string{"text/plain: one\n--bb\nmore\n--b--x"}},
		{"no parameter", "Content-Type: multipart/mixed\n\n--b\n\none\n", []string{"text/plain: --b\n\none"}},
		{"boundary never used", mixed + "--c\n\none\n", []string{"text/plain: --c\n\none"}},
		{"no part", mixed + "all\n--b--\n", []string{"text/plain: all"}},
		{"part without header", mixed + "--b\nno header\n--b\n\ntwo\n--b--\n", []string{"text/plain: no header", "text/plain: two"}},
		{"part without empty line", mixed + "--b\nContent-Type: text/html\n--b\n\ntwo\n--b--\n", []string{"text/html: ", "text/plain: two"}},
		{"broken part header", mixed + "--b\nbroken\nContent-Type: text/html\n\none\n--b--\n", []string{"text/html: one"}},
		{"nested, same boundary", mixed + "--b\nContent-Type: multipart/alternative; boundary=b\n\n--b\n\none\n--b--\n--b\n\ntwo\n--b--\n",
			[]string{"text/plain 1: one", "text/plain: two"}},
		{"nested, inner unclosed", mixed + "--b\nContent-Type: multipart/alternative; boundary=i\n\n--i\n\none\n--b\n\ntwo\n--b--\n",
			[]string{"text/plain 1: one", "text/plain: two"}},
		{"two alternatives", mixed + "--b\nContent-Type: multipart/alternative; boundary=i\n\n--i\n\none\n--i--\n--b\nContent-Type: multipart/alternative; boundary=i\n\n" +
			"--i\nContent-Type: multipart/related; boundary=k\n\n--k\n\ntwo\n--i--\n--b--\n",
			[]string{"text/plain 1: one", "text/plain 2: two"}},
		{"attached message", "Content-Type: message/rfc822\n\n>From a@b\nSubject: x\nContent-Type: text/html\n\none\n", []string{"text/html: one"}},
		{"encoded attached message", "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" +
			base64.StdEncoding.EncodeToString([]byte(mixed+"--b\n\none\n")), []string{"text/plain: one"}},
	} {
		for _, raw := range []string{tt.raw, strings.ReplaceAll(strings.ReplaceAll(tt.raw, "\r\n", "\n"), "\n", "\r\n")} {
			got, complete := leaves(raw)
			for i := range got {
				got[i] = strings.ReplaceAll(got[i], "\r\n", "\n")
			}
			if !complete || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%s: got %q, complete %v; want %q", tt.name, got, complete, tt.want)
			}
		}
	}
}

func TestWalkLimits(t *testing.T) {
	for _, tt := range []struct {
		name, raw string
		complete  bool
	}{
		{"20,000 deep", mailtest.Nested(20_000), true},
		{"20,000 deep, unclosed", mailtest.Nested(20_000)[:20_000*50], true},
		{"100,000 deep", mailtest.Nested(100_000), false},
		{"20,000 attached messages", strings.Repeat("Content-Type: message/rfc822\n\n", 20_000) + "\n" + prose, true},
		{"100,000 attached messages", strings.Repeat("Content-Type: message/rfc822\n\n", 100_000) + "\n" + prose, false},
		{"500,000 parts", "Content-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat("--b\n\nx\n", 500_000), false},
		{"500,000 lines like boundaries", "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + strings.Repeat("--c\n", 500_000), true},
		{"long line like a boundary", "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + strings.Repeat("--", 5<<20), true},
	} {
		n := 0
		if complete := Walk(Parse([]byte(tt.raw)), nil, func(Leaf) { n++ }) == 0; complete != tt.complete {
			t.Errorf("%s: complete = %v, want %v", tt.name, complete, tt.complete)
		}
		if n > maxEntities {
			t.Errorf("%s: %d leaf parts, more than %d", tt.name, n, maxEntities)
		}
	}
}

// A message that is wrapped and encoded many times is decoded up to the limit.
func TestWalkWrapped(t *testing.T) {
	wrap := func(depth int) string {
		raw := "Subject: inmost\n\n" + prose
		for range depth {
			raw = "Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(raw))
		}
		return raw
	}
	for depth, want := range map[int]string{0: "text/plain", maxWrapped: "text/plain", maxWrapped + 1: "message/rfc822"} {
		got, _ := leaves(wrap(depth))
		if len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("wrapped %d times: got %.60q, want one part of %s", depth, got, want)
		}
	}
}
