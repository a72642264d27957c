package signature

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"math/rand/v2"
	"strings"
	"testing"
)

type member struct{ name, data string }

func zipped(tb testing.TB, members ...member) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, m := range members {
		f, err := w.Create(m.name)
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := f.Write([]byte(m.data)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(tb testing.TB, name string, data []byte) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Name = name
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func tarred(tb testing.TB, members ...member) []byte {
	tb.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: 0o644, Size: int64(len(m.data))}); err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(m.data)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// random is text that does not compress below half its size.
func random(seed uint64, size int) string {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, size)
	for i := range b {
		b[i] = byte('a' + r.IntN(26))
	}
	return string(b)
}

func unpack(content []byte) (Digest, bool) {
	u := unpacker{left: 1 << 20, isStopped: new(computer).isStopped}
	return u.digest(content)
}

// All these hold the same.
func TestArchiveContent(t *testing.T) {
	a, b := random(1, 2000), random(2, 3000)
	want, ok := unpack(zipped(t, member{"a.txt", a}, member{"b.txt", b}))
	if !ok {
		t.Fatal("no digest")
	}
	for name, content := range map[string][]byte{
		"other order":       zipped(t, member{"b.txt", b}, member{"a.txt", a}),
		"other names":       zipped(t, member{"x/1.txt", a}, member{"x/2.txt", b}),
		"with what packers": zipped(t, member{"b.txt", b}, member{"a.txt", a}, member{"__MACOSX/._a.txt", a[:99]}, member{"Thumbs.db", "x"}),
		"a member twice":    zipped(t, member{"b.txt", b}, member{"a.txt", a}, member{"c.txt", a}),
		"an empty member":   zipped(t, member{"b.txt", b}, member{"a.txt", a}, member{"c.txt", ""}),
		"tar":               gzipped(t, "x.tar", tarred(t, member{"b.txt", b}, member{"a.txt", a})),
	} {
		if got, ok := unpack(content); !ok || got != want {
			t.Errorf("%s: %x, %v; want %x", name, got, ok, want)
		}
	}
	for name, content := range map[string][]byte{
		"other text":    zipped(t, member{"b.txt", b}, member{"a.txt", a + "."}),
		"a member less": zipped(t, member{"b.txt", b}),
		"a member more": zipped(t, member{"b.txt", b}, member{"a.txt", a}, member{"c.txt", "c"}),
		"gzip":          gzipped(t, "b.txt", []byte(b+a)),
	} {
		if got, ok := unpack(content); !ok || got == want {
			t.Errorf("%s: %x, %v; want another digest", name, got, ok)
		}
	}
}

func document(text string, others ...member) []member {
	return append([]member{
		{"[Content_Types].xml", random(11, 3000)}, {"_rels/.rels", random(12, 3000)}, {"word/styles.xml", random(13, 3000)},
		{"word/theme/theme1.xml", random(14, 3000)}, {"word/settings.xml", random(15, 3000)},
		{"word/document.xml", "<w:document xmlns='" + random(16, 3000) + "'>" + text + "</w:document>"},
	}, others...)
}

// Documents are told by their text, not by what the program made around it.
func TestDocumentContent(t *testing.T) {
	text := random(1, 2000)
	want, ok := unpack(zipped(t, document("<w:p>"+text+"</w:p>")...))
	if !ok {
		t.Fatal("no digest")
	}
	saved := document("<w:p w:rsidR='00A1'>\n "+text+"</w:p>", member{"docProps/core.xml", random(17, 3000)})
	if got, ok := unpack(zipped(t, saved...)); !ok || got != want {
		t.Error("a document that was saved again is another")
	}
	if got, ok := unpack(zipped(t, document("<w:p>"+text+"</w:p>", member{"word/media/image1.png", random(3, 2000)})...)); !ok || got == want {
		t.Error("a document with a picture is the same")
	}
}

func TestArchiveGuards(t *testing.T) {
	text := random(1, 2000)
	encrypted := zipped(t, member{"a.txt", text})
	for i := range encrypted {
		for offset, magic := range map[int]string{6: "PK\x03\x04", 8: "PK\x01\x02"} {
			if bytes.HasPrefix(encrypted[i:], []byte(magic)) {
				encrypted[i+offset] |= 1
			}
		}
	}
	short := document("<w:p>" + text[:500] + "</w:p>")
	whole := zipped(t, member{"a.txt", text})
	var many []member
	for i := range maxMembers + 1 {
		many = append(many, member{random(uint64(i), 8), random(uint64(i), 8)})
	}
	for _, tt := range []struct {
		name    string
		content []byte
		want    bool
	}{
		{"enough", whole, true},
		{"enough in gzip", gzipped(t, "", []byte(text)), true},
		{"encrypted", encrypted, true},
		{"too little", zipped(t, member{"a.txt", text[:minContent-1]}), false},
		{"too little text in a document", zipped(t, short...), false},
		{"nothing", zipped(t), false},
		{"too many members", zipped(t, many...), false},
		{"bomb", zipped(t, member{"a.txt", strings.Repeat("\x00", 1<<20+1)}), false},
		{"gzip bomb", gzipped(t, "", make([]byte, 1<<20+1)), false},
		{"cut", whole[:len(whole)-30], false},
		{"gzip cut", gzipped(t, "", []byte(text))[:900], false},
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

// The archives of a message share what may be inflated.
func TestInflationBounded(t *testing.T) {
	var raw strings.Builder
	raw.WriteString("Content-Type: multipart/mixed; boundary=b\n\n")
	for i := range 8 {
		bomb := gzipped(t, "", append([]byte(random(uint64(i), 3000)), make([]byte, freeInflated*2/5)...))
		raw.WriteString("--b\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n" + encode(bomb) + "\n")
	}
	s := Compute(Parse([]byte(raw.String())))
	if got := len(ofKind(s, KindContent)); got != 2 {
		t.Errorf("%d archives inflated, want 2", got)
	}
}

func FuzzUnpack(f *testing.F) {
	text := random(1, 2000)
	f.Add(zipped(f, member{"a.txt", text}, member{"b.txt", text[:50]}))
	f.Add(zipped(f, document(text)...))
	f.Add(gzipped(f, "a", []byte(text)))
	f.Add(gzipped(f, "a", tarred(f, member{"a.txt", text})))
	f.Add(somePDF("", text, ""))
	f.Add(somePDF("/Filter /FlateDecode", deflated(f, text), ""))
	f.Fuzz(func(t *testing.T, content []byte) {
		u := unpacker{left: 1 << 18, isStopped: new(computer).isStopped}
		u.digest(content)
		if u.left < 0 || len(u.members) > maxMembers {
			t.Errorf("%d bytes left, %d members", u.left, len(u.members))
		}
	})
}

func BenchmarkUnpack(b *testing.B) {
	content := zipped(b, member{"a.txt", random(1, 200<<10)}, member{"b.txt", random(2, 200<<10)})
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		if _, ok := unpack(content); !ok {
			b.Fatal("no digest")
		}
	}
}
