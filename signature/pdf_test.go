package signature

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
)

func deflated(tb testing.TB, data string) string {
	tb.Helper()
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(data)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.String()
}

// somePDF has one stream with a dictionary, and rest behind it.
func somePDF(dictionary, stream, rest string) []byte {
	return fmt.Appendf(nil, "%%PDF-1.4\n1 0 obj\n<</Type /Catalog>>\nendobj\n2 0 obj\n<< %s /Length %d >>\nstream\n%s\nendstream\nendobj\n%strailer <<>>\n",
		dictionary, len(stream), stream, rest)
}

func TestPDFContent(t *testing.T) {
	page := "BT (" + random(1, 2000) + ") Tj ET"
	want, ok := unpack(somePDF("", page, ""))
	if !ok {
		t.Fatal("no digest")
	}
	metadata := "5 0 obj << /Type /Metadata >>\nstream\n" + random(9, 500) + "\nendstream\nendobj\n"
	font := "6 0 obj << /Length1 500 >>\nstream\n" + random(8, 500) + "\nendstream\nendobj\n"
	for name, content := range map[string][]byte{
		"packed":        somePDF("/Filter /FlateDecode", deflated(t, page), ""),
		"with metadata": somePDF("", page, metadata+font),
		"other program": somePDF("", page, "7 0 obj << /Producer (x) /ID [<00>] >> endobj\n"),
	} {
		if got, ok := unpack(content); !ok || got != want {
			t.Errorf("%s: %x, %v; want %x", name, got, ok, want)
		}
	}
	if got, ok := unpack(somePDF("", page+" ", "8 0 obj << /Length 9 >>\nstream\n(another page) Tj\nendstream\nendobj\n")); !ok || got == want {
		t.Error("another page, the same digest")
	}
}

func TestPDFGuards(t *testing.T) {
	page := random(1, 2000)
	for _, tt := range []struct {
		name    string
		content []byte
	}{
		{"too little", somePDF("", page[:minContent-1], "")},
		{"encrypted", somePDF("", page, "trailer << /Encrypt 9 0 R >>")},
		{"only a font", somePDF("/Length1 2000", page, "")},
		{"only metadata", somePDF("/Type /Metadata", page, "")},
		{"no dictionary", []byte("%PDF-1.4\nstream\n" + page + "\nendstream\n")},
		{"no end", []byte("%PDF-1.4\n1 0 obj <<>>\nstream\n" + page)},
		{"faulty data", somePDF("/Filter /FlateDecode", page, "")},
		{"bomb", somePDF("/Filter /FlateDecode", deflated(t, strings.Repeat(" ", 1<<20+1)), "")},
		{"many streams", somePDF("", page, strings.Repeat("1 0 obj <<>>\nstream\n1\nendstream\n", maxMembers))},
	} {
		if _, ok := unpack(tt.content); ok {
			t.Errorf("%s has a digest", tt.name)
		}
	}
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }
