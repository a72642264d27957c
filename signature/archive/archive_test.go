package archive

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/archive/archivetest"
	"github.com/spambloom/spambloom/signature/digest"
)

func unpack(content []byte) (digest.Digest, bool) {
	u := contents{left: 1 << 20, isStopped: func() bool { return false }}
	return u.digest(content)
}

// All these files have the same content.
func TestArchiveContent(t *testing.T) {
	a, b := archivetest.Random(1, 2000), archivetest.Random(2, 3000)
	want, ok := unpack(archivetest.Zip(t, archivetest.File("a.txt", a), archivetest.File("b.txt", b)))
	if !ok {
		t.Fatal("no digest")
	}
	for name, content := range map[string][]byte{
		"other order":       archivetest.Zip(t, archivetest.File("b.txt", b), archivetest.File("a.txt", a)),
		"other names":       archivetest.Zip(t, archivetest.File("x/1.txt", a), archivetest.File("x/2.txt", b)),
		"with what packers": archivetest.Zip(t, archivetest.File("b.txt", b), archivetest.File("a.txt", a), archivetest.File("__MACOSX/._a.txt", a[:99]), archivetest.File("Thumbs.db", "x")),
		"a member twice":    archivetest.Zip(t, archivetest.File("b.txt", b), archivetest.File("a.txt", a), archivetest.File("c.txt", a)),
		"an empty member":   archivetest.Zip(t, archivetest.File("b.txt", b), archivetest.File("a.txt", a), archivetest.File("c.txt", "")),
		"tar":               archivetest.Gzip(t, "x.tar", archivetest.Tar(t, archivetest.File("b.txt", b), archivetest.File("a.txt", a))),
	} {
		if got, ok := unpack(content); !ok || got != want {
			t.Errorf("%s: %x, %v; want %x", name, got, ok, want)
		}
	}
	for name, content := range map[string][]byte{
		"other text":    archivetest.Zip(t, archivetest.File("b.txt", b), archivetest.File("a.txt", a+".")),
		"a member less": archivetest.Zip(t, archivetest.File("b.txt", b)),
		"a member more": archivetest.Zip(t, archivetest.File("b.txt", b), archivetest.File("a.txt", a), archivetest.File("c.txt", "c")),
		"gzip":          archivetest.Gzip(t, "b.txt", []byte(b+a)),
	} {
		if got, ok := unpack(content); !ok || got == want {
			t.Errorf("%s: %x, %v; want another digest", name, got, ok)
		}
	}
}

func document(text string, others ...archivetest.Member) []archivetest.Member {
	return append([]archivetest.Member{
		archivetest.File("[Content_Types].xml", archivetest.Random(11, 3000)), archivetest.File("_rels/.rels", archivetest.Random(12, 3000)), archivetest.File("word/styles.xml", archivetest.Random(13, 3000)),
		archivetest.File("word/theme/theme1.xml", archivetest.Random(14, 3000)), archivetest.File("word/settings.xml", archivetest.Random(15, 3000)),
		archivetest.File("word/document.xml", "<w:document xmlns='"+archivetest.Random(16, 3000)+"'>"+text+"</w:document>"),
	}, others...)
}

// The digest of a document is that of its text, whatever a program writes around it.
func TestDocumentContent(t *testing.T) {
	text := archivetest.Random(1, 2000)
	want, ok := unpack(archivetest.Zip(t, document("<w:p>"+text+"</w:p>")...))
	if !ok {
		t.Fatal("no digest")
	}
	saved := document("<w:p w:rsidR='00A1'>\n "+text+"</w:p>", archivetest.File("docProps/core.xml", archivetest.Random(17, 3000)))
	if got, ok := unpack(archivetest.Zip(t, saved...)); !ok || got != want {
		t.Error("a document that was saved again is another")
	}
	if got, ok := unpack(archivetest.Zip(t, document("<w:p>"+text+"</w:p>", archivetest.File("word/media/image1.png", archivetest.Random(3, 2000)))...)); !ok || got == want {
		t.Error("a document with a picture is the same")
	}
}

func TestArchiveGuards(t *testing.T) {
	text := archivetest.Random(1, 2000)
	encrypted := archivetest.Zip(t, archivetest.File("a.txt", text))
	for i := range encrypted {
		for offset, magic := range map[int]string{6: "PK\x03\x04", 8: "PK\x01\x02"} {
			if bytes.HasPrefix(encrypted[i:], []byte(magic)) {
				encrypted[i+offset] |= 1
			}
		}
	}
	short := document("<w:p>" + text[:500] + "</w:p>")
	whole := archivetest.Zip(t, archivetest.File("a.txt", text))
	var many []archivetest.Member
	for i := range maxMembers + 1 {
		many = append(many, archivetest.File(archivetest.Random(uint64(i), 8), archivetest.Random(uint64(i), 8)))
	}
	for _, tt := range []struct {
		name    string
		content []byte
		want    bool
	}{
		{"enough", whole, true},
		{"enough in gzip", archivetest.Gzip(t, "", []byte(text)), true},
		{"encrypted", encrypted, true},
		{"too little", archivetest.Zip(t, archivetest.File("a.txt", text[:minContent-1])), false},
		{"too little text in a document", archivetest.Zip(t, short...), false},
		{"nothing", archivetest.Zip(t), false},
		{"too many members", archivetest.Zip(t, many...), false},
		{"bomb", archivetest.Zip(t, archivetest.File("a.txt", strings.Repeat("\x00", 1<<20+1))), false},
		{"gzip bomb", archivetest.Gzip(t, "", make([]byte, 1<<20+1)), false},
		{"cut", whole[:len(whole)-30], false},
		{"gzip cut", archivetest.Gzip(t, "", []byte(text))[:900], false},
		{"no archive", []byte("PK\x03\x04" + text), false},
	} {
		if _, ok := unpack(tt.content); ok != tt.want {
			t.Errorf("%s: digest %v, want %v", tt.name, ok, tt.want)
		}
	}
	closed, _ := unpack(encrypted)
	if open, _ := unpack(whole); closed == open {
		t.Error("an encrypted archive passes for a plain one")
	}
}

func FuzzUnpack(f *testing.F) {
	text := archivetest.Random(1, 2000)
	f.Add(archivetest.Zip(f, archivetest.File("a.txt", text), archivetest.File("b.txt", text[:50])))
	f.Add(archivetest.Zip(f, document(text)...))
	f.Add(archivetest.Gzip(f, "a", []byte(text)))
	f.Add(archivetest.Gzip(f, "a", archivetest.Tar(f, archivetest.File("a.txt", text))))
	f.Add(archivetest.PDF("", text, ""))
	f.Add(archivetest.PDF("/Filter /FlateDecode", archivetest.Deflate(f, text), ""))
	f.Fuzz(func(t *testing.T, content []byte) {
		u := contents{left: 1 << 18, isStopped: func() bool { return false }}
		u.digest(content)
		if u.left < 0 || len(u.members) > maxMembers {
			t.Errorf("%d bytes left, %d members", u.left, len(u.members))
		}
	})
}

func BenchmarkUnpack(b *testing.B) {
	content := archivetest.Zip(b, archivetest.File("a.txt", archivetest.Random(1, 200<<10)), archivetest.File("b.txt", archivetest.Random(2, 200<<10)))
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, ok := unpack(content); !ok {
			b.Fatal("no digest")
		}
	}
}
