package signature_test

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/mail/mailtest"
)

// hostile are messages made to cost much. The benchmark shows that none does; the tests
// show that each is still read.
var hostile = []struct {
	name  string
	make  func() string
	kinds string
}{
	{"20,000 deep", func() string { return mailtest.Nested(20_000) }, "body"},
	{"20,000 deep, then text", func() string {
		return "Content-Type: multipart/mixed; boundary=top\n\n--top\n" + mailtest.Nested(20_000) + "\n--top\n\n" + prose + "\n--top--\n"
	}, "body"},
	{"500,000 parts", func() string {
		return "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + prose + strings.Repeat("--b\n\nx\n", 500_000/scale)
	}, "body text"},
	{"reports, below the type of a part for programs", func() string {
		return "Content-Type: multipart/report; boundary=b\n\nContent-Type: message/x\n" + strings.Repeat("\n", 1<<19/scale) + strings.Repeat("--b\nContent-Type:multipart/report;boundary=b\n\n", 4000) + "\n" + prose
	}, "body text"},
	{"an encoded message of 51,000 parts, then text", func() string {
		parts := base64.StdEncoding.EncodeToString([]byte("Content-Type: multipart/mixed; boundary=c\n\n" + strings.Repeat("--c\n\n", 51_000)))
		return "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" +
			parts + "\n--b\n\n" + prose + "\n--b--\n"
	}, "body text"},
	{"header line of 1 MB", func() string { return "X: " + strings.Repeat("y", 1<<20/scale) + "\n\n" + prose }, "body text"},
	{"content type of 1 MB", func() string {
		return "Content-Type: text/plain; " + strings.Repeat("a*0=b;", 1<<17/scale) + "\n\n" + prose
	}, "body text"},
	{"part header of 1 MB", func() string {
		return "Content-Type: multipart/mixed; boundary=b\n\n--b\n" + strings.Repeat("X: y\n", maxReach/4) + "\n" + prose
	}, "body"},
	{"50 MB of text", func() string { return "Subject: x\n\n" + strings.Repeat(prose, 50<<20/scale/len(prose)) }, "body text"},
	{"50 MB attachment", func() string {
		return "Content-Type: application/pdf\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString(make([]byte, 37<<20/scale))
	}, "body attachment"},
	{"50 MB of quoted-printable", func() string {
		return "Content-Transfer-Encoding: quoted-printable\n\n" + prose + strings.Repeat("=41=\n", 10<<20/scale)
	}, "body text"},
	{"NUL bytes", func() string { return "Subject: x\n\n" + prose + strings.Repeat("\x00", 5<<20/scale) }, "body text"},
	{"carriage returns", func() string { return "Subject: x\n\n" + prose + strings.Repeat("\r", 5<<20/scale) }, "body text"},
	{"quotes", func() string {
		return "Subject: x\n\n" + prose + strings.Repeat(">", 5<<20/scale) + strings.Repeat("\n>", 1<<20/scale)
	}, "body text"},
	{"open elements", func() string {
		return "Content-Type: text/html\n\n" + strings.Repeat("<div><p><td>", 1<<16/scale) + prose + strings.Repeat("</b>", 1<<18/scale)
	}, "body text"},
	{"attributes", func() string {
		return "Content-Type: text/html\n\n" + prose + "<p " + strings.Repeat("a=b ", 1<<18/scale) + " style='" + strings.Repeat("display:none;", 1<<16/scale) + "'>"
	}, "body text"},
	{"a million tags", func() string {
		return "Content-Type: text/html\n\n" + prose + strings.Repeat("<td><tr><p><hr>", 1<<18/scale)
	}, "body text"},
	{"links of 100 kB", func() string {
		return "Content-Type: text/html\n\n" + prose + strings.Repeat("<img src='http://a.example/"+strings.Repeat("b/c1?", 20<<10/scale)+"'>", 8)
	}, "body text"},
	{"10,000 pictures", func() string {
		var page strings.Builder
		for i := range 10_000 / scale {
			fmt.Fprintf(&page, "<img src='http://a.example/orchard-%d/basket-%x.png' alt='fruit %d'>", i, i*i, i)
		}
		return "Content-Type: text/html\n\n" + prose + page.String()
	}, "body text"},
	{"nested redirectors", func() string {
		return "Content-Type: text/html\n\n" + prose + strings.Repeat("<a href='http://a.example/orchard?u="+strings.Repeat("http%3A%2F%2Fb.example%2Fbasket%3Fu=", 50)+"'>x</a>", 1<<10/scale)
	}, "body text"},
	{"data URL of 10 MB", func() string {
		return "Content-Type: text/html\n\n" + prose + "<img src='data:image/png;base64," + strings.Repeat("iVBORw0K", 10<<17/scale) + "'>"
	}, "body text"},
	{"charsets to detect", func() string {
		return "Content-Type: multipart/mixed; boundary=b\n\n--b\n\n" + prose + "\n" + strings.Repeat("--b\nContent-Type: text/plain; charset=windows-1252\n\n"+strings.Repeat("\x82\xa0\xa4\xe5\x88 ", 400)+"\n", 1<<10/scale)
	}, "body text"},
	{"less-than signs", func() string { return "Content-Type: text/html\n\n" + prose + strings.Repeat("<", 2<<20/scale) }, "body text"},
	{"unclosed comment", func() string { return "Content-Type: text/html\n\n" + prose + strings.Repeat("<!-- ", 1<<19/scale) }, "body text"},
	{"unclosed script", func() string {
		return "Content-Type: text/html\n\n" + prose + "<script>" + strings.Repeat("<!--<script </scrip", 1<<17/scale)
	}, "body text"},
	{"entities", func() string { return "Content-Type: text/html\n\n" + prose + strings.Repeat("&ampx&#1;", 1<<18/scale) }, "body text"},
	{"ligatures that grow", func() string {
		return "Content-Type: text/plain; charset=utf-8\n\n" + prose + strings.Repeat("\uFDFA", 1<<19/scale)
	}, "body text"},
	{"100,000 selectors", func() string {
		var sheet strings.Builder
		for i := range 100_000 / scale {
			fmt.Fprintf(&sheet, ".c%d,p.c%d{color:red}", i, i)
		}
		return "Content-Type: text/html\n\n" + prose + "<style>" + sheet.String() + "</style>" + strings.Repeat("<p class='c1 c2 c3 c4'>x</p>", 1<<14/scale)
	}, "body text"},
	{"deep with styles", func() string {
		return "Content-Type: text/html\n\n<style>div{color:#111}</style>" + prose + strings.Repeat("<div style='color:#123456;font-size:12px' class='a b'>", 1<<15/scale)
	}, "body text"},
	{"10 MB of tags", func() string {
		return "Content-Type: text/html\n\n" + prose + strings.Repeat("<b></b><i class=x>", 10<<20/18/scale)
	}, "body text"},
	{"one class attribute of 1 MB", func() string {
		return "Content-Type: text/html\n\n<style>.x{color:red}</style>" + prose + "<p class='" + strings.Repeat("x ", 1<<19/scale) + "'>"
	}, "body text"},
	{"numbers that are slow to parse", func() string {
		return "Content-Type: text/html\n\n" + prose + "<p style='right:" + strings.Repeat("9e308 ", 1<<17/scale) + "'>x</p>"
	}, "body text"},
	{"open style sheets", func() string { return "Content-Type: text/html\n\n" + prose + strings.Repeat("<style>@{", 1<<17/scale) }, "body text"},
	{"leet without end", func() string { return "Subject: x\n\n" + prose + strings.Repeat("|\\/|1@(|<", 1<<18/scale) }, "body text"},
	{"single letters", func() string { return "Subject: x\n\n" + prose + strings.Repeat("r n ", 1<<18/scale) }, "body text"},
	{"overrides", func() string {
		return "Content-Type: text/plain; charset=utf-8\n\n" + prose + strings.Repeat("\u202eab", 1<<18/scale)
	}, "body text"},
	{"UTF-7", func() string {
		return "Content-Type: text/plain; charset=utf-7\n\n" + prose + strings.Repeat("+AGE-+", 1<<18/scale)
	}, "body text"},
	{"quotes and rules", func() string {
		return "Subject: x\n\n" + prose + strings.Repeat("> a\n__________\nb:\n", 1<<16/scale)
	}, "body text"},
	{"marks without end", func() string {
		return "Content-Type: text/plain; charset=utf-8\n\n" + prose + "a" + strings.Repeat("\u0301\u0316", 1<<19/scale)
	}, "body text"},
}

func TestHostile(t *testing.T) {
	t.Parallel()
	if testenv.RanWithoutRace(t) {
		return
	}
	for _, tt := range hostile {
		if got := kinds(signature.Compute(signature.Parse([]byte(tt.make())))); got != tt.kinds {
			t.Errorf("%s: signed by %q, want %q", tt.name, got, tt.kinds)
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for _, tt := range hostile {
		raw := []byte(tt.make())
		b.Run(strings.ReplaceAll(tt.name, ",", ""), func(b *testing.B) {
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				signature.Compute(signature.Parse(raw))
			}
		})
	}
}

// An encoded message in a message costs its size, not its fields.
func TestWrappedMemory(t *testing.T) {
	inner := strings.Repeat("a:\n", 1<<20/3) + "\n" + prose
	m := signature.Parse([]byte("Content-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\n" + base64.StdEncoding.EncodeToString([]byte(inner))))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := signature.Compute(m)
	runtime.ReadMemStats(&after)
	if got := kinds(s); got != "body text" {
		t.Errorf("signed by %q", got)
	}
	if got, limit := after.TotalAlloc-before.TotalAlloc, uint64(4*len(m.Body)); got > limit {
		t.Errorf("%d bytes taken for a message of %d, want at most %d", got, len(m.Body), limit)
	}
}

func TestAttachmentsBounded(t *testing.T) {
	var raw strings.Builder
	raw.WriteString("Content-Type: multipart/mixed; boundary=b\n\n")
	for i := range 40 {
		fmt.Fprintf(&raw, "--b\nContent-Type: application/zip\n\n%d%s\n", i/2, strings.Repeat("x", minAttachment))
	}
	s := signature.Compute(signature.Parse([]byte(raw.String())))
	if got := len(ofKind(s, signature.KindAttachment)); got != maxAttachments {
		t.Errorf("%d attachment signatures, want %d", got, maxAttachments)
	}
	seen := make(map[signature.Signature]bool)
	for _, sig := range s.Signatures {
		if seen[sig] {
			t.Errorf("%s twice", sig.ID())
		}
		seen[sig] = true
	}
}
