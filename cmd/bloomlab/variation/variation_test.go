package variation

import (
	"bytes"
	"fmt"
	"io"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// samples are own mails in testdata: plain text, HTML, both, and another charset.
func samples(t *testing.T) (mails []*message.Mail, raws [][]byte) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d samples, want at least 4: %v", len(files), err)
	}
	for _, name := range files {
		raw, err := os.ReadFile(name)
		testenv.Check(t, err)
		m, err := message.Parse(name, raw)
		testenv.Check(t, err)
		mails, raws = append(mails, m), append(raws, raw)
	}
	return mails, raws
}

func material(mails []*message.Mail) *Material {
	from := Gather(mails, nil)
	var page strings.Builder
	for i := range pageMin {
		fmt.Fprintf(&page, "%s%d ", from.Words[i%len(from.Words)], i)
	}
	from.Pages = []string{page.String(), "another page " + page.String()}
	return from
}

func TestKindsAreDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		if seen[k.Name] || k.Name == "" || k.About == "" || strings.Contains(k.About, "\n") {
			t.Errorf("kind %q: name or description missing, or twice", k.Name)
		}
		seen[k.Name] = true
		if k.Aim < 0 || k.Aim > 100 {
			t.Errorf("kind %s: aim %g %%", k.Name, k.Aim)
		}
	}
	if len(seen) < 40 {
		t.Errorf("%d kinds, want at least 40", len(seen))
	}
	if _, ok := Find("padded-after"); !ok {
		t.Error("padded-after is not found")
	}
	if _, ok := Find("none"); ok {
		t.Error("a kind that is not there is found")
	}
}

// Every kind varies some sample, by the seed alone, into a message that is read
// without an error; where it says so, the text that is read stays.
func TestKinds(t *testing.T) {
	mails, raws := samples(t)
	from := material(mails)
	for _, k := range Kinds() {
		t.Run(k.Name, func(t *testing.T) {
			varied, differ := 0, false
			for i, m := range mails {
				if k.Rebuilt() && i > 0 {
					continue // only the text in the picture or file would be another one
				}
				before := string(m.Raw())
				original, copied, ok := k.Vary(1, from, m, raws[i])
				if string(m.Raw()) != before {
					t.Fatalf("%s: the message itself was changed", m.Name)
				}
				if !ok {
					continue
				}
				varied++
				_, again, _ := k.Vary(1, from, m, raws[i])
				if !bytes.Equal(copied, again) {
					t.Errorf("%s: two copies of one seed differ", m.Name)
				}
				_, other, _ := k.Vary(2, from, m, raws[i])
				differ = differ || !bytes.Equal(copied, other)
				checkCopy(t, k, m.Name, original, copied)
			}
			if varied == 0 {
				t.Error("no sample is varied")
			}
			if !differ && !drawsNothing[k.Name] {
				t.Error("all seeds make the same copies")
			}
		})
	}
}

// drawsNothing are the kinds that make one copy only.
var drawsNothing = map[string]bool{"base64": true, "quoted-printable": true, "8bit": true, "charset-utf8": true,
	"charset-utf16": true, "html-to-plain": true, "plain-to-html": true, "line-numbers": true, "truncated": true}

// rewrites are the kinds that may leave every word, as they promise no exactness.
var rewrites = map[string]bool{"html-to-plain": true, "parts": true}

func checkCopy(t *testing.T, k Kind, name string, original, copied []byte) {
	t.Helper()
	if bytes.Equal(original, copied) {
		t.Errorf("%s: nothing was changed", name)
	}
	if _, err := message.Parse(name, copied); err != nil {
		t.Errorf("the copy cannot be read: %v", err)
	}
	m, err := mail.ReadMessage(bytes.NewReader(copied))
	if err != nil {
		t.Fatalf("%s: net/mail does not read the copy: %v", name, err)
	}
	if _, err := io.ReadAll(m.Body); err != nil {
		t.Fatal(err)
	}
	want, got := signature.Text(signature.Parse(original)), signature.Text(signature.Parse(copied))
	if k.Same && got != want {
		t.Errorf("%s: the text that is read has changed\n got %q\nwant %q", name, got, want)
	}
	if !k.Same && k.base == nil && !rewrites[k.Name] && got == want && bytes.Equal(parts(t, original), parts(t, copied)) {
		t.Errorf("%s: nothing that is read was changed", name)
	}
}

// parts are the decoded texts of a message.
func parts(t *testing.T, raw []byte) []byte {
	t.Helper()
	m, err := message.Parse("", raw)
	testenv.Check(t, err)
	var all []byte
	for _, p := range m.TextParts() {
		all = append(all, p.Body...)
	}
	return all
}

// What is taken apart and written down again is the same mail.
func TestRawKeepsMail(t *testing.T) {
	mails, raws := samples(t)
	for i, m := range mails {
		want, got := signature.Compute(signature.Parse(raws[i])), signature.Compute(signature.Parse(m.Raw()))
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("%s: other signatures\n got %v\nwant %v", m.Name, got, want)
		}
	}
}
