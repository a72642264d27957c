package page

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// TestMarkup compares markup with html.Tokenizer on pages made of pieces that matter.
func TestMarkup(t *testing.T) {
	pieces := []string{"<", ">", "/", "=", "!", "--", "-", "?", "\"", "'", " ", "\n", "\r", "\x00", "&amp;", "&lt", "&copy=", "&", "x", "A",
		"<a ", "</a", "<svg", "<math ", "<p>", "<!--", "-->", "--!>", "<script>", "</script>", "<SCRIPT", "</Script ", "<title>", "</title>",
		"<style>", "</style/", "<textarea>", "</textarea>", "<plaintext>", "<xmp>", "</xmp>", "<!doctype html>", "id=", "ID", "style=", "href", "type", "é", "\xff"}
	rapid.Check(t, func(t *rapid.T) {
		sameMarkup(t, []byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 40).Draw(t, "pieces"), "")))
	})
}

// FuzzMarkup is TestMarkup with any bytes.
func FuzzMarkup(f *testing.F) {
	for _, seed := range []string{"<p id='a&amp;b' ID=c>x&lt;y</p/>", "<script><!-- <script> </script> --></script>z", "<svg/><svg a=/><svg / >", "<title>&amp;\x00</title>", "<!-->a<!--->b<!--a--!>c<", "</>x</ a>", "<a b", "<xmp></xmp", "&#0", "&#1&#2&#33 &#x4", "<a b='&#0' c=&#9>", "<a id=\x00>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, page []byte) { sameMarkup(t, page) })
}

func sameMarkup(t interface{ Fatalf(string, ...any) }, source []byte) {
	before := bytes.Clone(source)
	var m markup
	m.begin(source)
	var got, want []string
	for begin := 0; ; begin = m.pos {
		token := m.next()
		if token == markupEnd {
			break
		}
		switch token {
		case markupText:
			got = append(got, fmt.Sprintf("text %q", m.shown()))
		case markupFinish:
			got = append(got, fmt.Sprintf("end %q", m.name))
		case markupStart:
			line := fmt.Sprintf("start %q", m.name)
			for _, a := range m.attrs {
				line += fmt.Sprintf(" %s=%q", a.key, m.value(a))
			}
			if m.isClosed && mayClose(m.name, source[begin:m.pos]) {
				line += " closed"
			}
			got = append(got, line)
		}
	}
	z := html.NewTokenizer(bytes.NewReader(source))
	for token := z.Next(); token != html.ErrorToken; token = z.Next() {
		switch token {
		case html.TextToken:
			want = append(want, fmt.Sprintf("text %q", z.Text()))
		case html.EndTagToken:
			name, _ := z.TagName()
			want = append(want, fmt.Sprintf("end %q", name))
		case html.StartTagToken, html.SelfClosingTagToken:
			line := otherStart(z, token == html.SelfClosingTagToken)
			if strings.HasPrefix(line, `start "noscript"`) { // its text is raw if scripts run
				z.NextIsNotRawText()
			}
			want = append(want, line)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%q:\n got %s\nwant %s", source, got, want)
	}
	if !bytes.Equal(source, before) {
		t.Fatalf("%q was changed", before)
	}
}

func otherStart(z *html.Tokenizer, closed bool) string {
	name, more := z.TagName()
	line, seen := fmt.Sprintf("start %q", name), make(map[string]bool)
	for more {
		var key, value []byte
		if key, value, more = z.TagAttr(); attributeNames.of(key).key != "" && !seen[attributeNames.of(key).key] {
			line += fmt.Sprintf(" %s=%q", attributeNames.of(key).key, value)
			seen[attributeNames.of(key).key] = true
		}
	}
	if closed && mayClose(name, z.Raw()) {
		line += " closed"
	}
	return line
}

// mayClose reports whether html.Tokenizer can be trusted on a tag that closes itself: it
// errs if an attribute occurs twice, as in <svg a a=/>.
func mayClose(name, tag []byte) bool {
	return (string(name) == "svg" || string(name) == "math") && bytes.IndexByte(tag, '=') < 0
}

// A tag keeps one attribute of each name, and one of all events. Each attribute is compared with
// those kept before: 512 KB of events and others took 20 s.
func TestTagKeepsFewAttributes(t *testing.T) {
	var m markup
	m.begin([]byte("<p " + strings.Repeat("onx id ", 1000) + ">"))
	if token := m.next(); token != markupStart || len(m.attrs) != 2 {
		t.Errorf("token %d with %d attributes, want a start tag with 2", token, len(m.attrs))
	}
}

// Blanks are read once, however many style sheets stand behind them: 5,000 behind 880 KB took 2 s.
func TestBlanksBeforeStyleSheets(t *testing.T) {
	var p Reader
	p.text = bytes.Repeat([]byte(" "), 1000)
	if p.hasText() || p.blank != 1000 {
		t.Errorf("%d of 1000 blanks are known", p.blank)
	}
	p.text = append(p.text, "x"...)
	if !p.hasText() {
		t.Error("no text behind blanks")
	}
}

// The references of an attribute take memory in proportion to their number. The conversion of the
// rest of the value at each of them took 0.65 GB for 60 kB.
func TestReferencesTakeLinearMemory(t *testing.T) {
	taken := func(n int) uint64 {
		value := bytes.Repeat([]byte("&a "), n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		unescapeAttribute(value)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	few, many := taken(2000), taken(20000)
	if many > 30*few {
		t.Errorf("%d bytes for ten times as many references as took %d", many, few)
	}
}
