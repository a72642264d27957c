package archive

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/archive/archivetest"
)

func TestPDFContent(t *testing.T) {
	page := "BT (" + archivetest.Random(1, 2000) + ") Tj ET"
	want, ok := unpack(archivetest.PDF("", page, ""))
	if !ok {
		t.Fatal("no digest")
	}
	metadata := "5 0 obj << /Type /Metadata >>\nstream\n" + archivetest.Random(9, 500) + "\nendstream\nendobj\n"
	font := "6 0 obj << /Length1 500 >>\nstream\n" + archivetest.Random(8, 500) + "\nendstream\nendobj\n"
	for name, content := range map[string][]byte{
		"packed":        archivetest.PDF("/Filter /FlateDecode", archivetest.Deflate(t, page), ""),
		"with metadata": archivetest.PDF("", page, metadata+font),
		"other program": archivetest.PDF("", page, "7 0 obj << /Producer (x) /ID [<00>] >> endobj\n"),
	} {
		if got, ok := unpack(content); !ok || got != want {
			t.Errorf("%s: %x, %v; want %x", name, got, ok, want)
		}
	}
	if got, ok := unpack(archivetest.PDF("", page+" ", "8 0 obj << /Length 9 >>\nstream\n(another page) Tj\nendstream\nendobj\n")); !ok || got == want {
		t.Error("another page, the same digest")
	}
}

func TestPDFGuards(t *testing.T) {
	page := archivetest.Random(1, 2000)
	for _, tt := range []struct {
		name    string
		content []byte
	}{
		{"too little", archivetest.PDF("", page[:minContent-1], "")},
		{"encrypted", archivetest.PDF("", page, "trailer << /Encrypt 9 0 R >>")},
		{"only a font", archivetest.PDF("/Length1 2000", page, "")},
		{"only metadata", archivetest.PDF("/Type /Metadata", page, "")},
		{"no dictionary", []byte("%PDF-1.4\nstream\n" + page + "\nendstream\n")},
		{"no end", []byte("%PDF-1.4\n1 0 obj <<>>\nstream\n" + page)},
		{"faulty data", archivetest.PDF("/Filter /FlateDecode", page, "")},
		{"bomb", archivetest.PDF("/Filter /FlateDecode", archivetest.Deflate(t, strings.Repeat(" ", 1<<20+1)), "")},
		{"many streams", archivetest.PDF("", page, strings.Repeat("1 0 obj <<>>\nstream\n1\nendstream\n", maxMembers))},
	} {
		if _, ok := unpack(tt.content); ok {
			t.Errorf("%s has a digest", tt.name)
		}
	}
}
