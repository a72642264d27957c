package mail

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/emersion/go-message"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestDecodeTransfer(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for _, tt := range []struct{ name, encoding, raw, want string }{
		{"none", "", "a=41 b\r\n", "a=41 b\r\n"},
		{"unknown", "x-uue", "a=41", "a=41"},
		{"base64", "base64", "aGVs\r\n bG8=\r\n", "hello"},
		{"base64 garbage", "base64", "aGVs!!!bG8gd\x0029ybGQ=\n", "hello world"},
		{"base64 unpadded", "base64", "aGVsbG8", "hello"},
		{"base64 joined", "base64", "aGVsbG8=IHdvcmxk", "hello world"},
		{"base64 alone", "base64", "aGVsb", "hel"},
		{"base64 footer", "base64", "aGVsbG8=\n\n_____\n", "hello"},
		{"base64 empty", "base64", "", ""},
		{"uu", "x-uuencode", "for you\nbegin 644 x\n%:&5L;&\\\n`\nend\nrest\n", "hello"},
		{"uu with CRLF and lost blanks", "uuencode", "begin 644 x\r\n#80  \r\n#80\r\n \r\nend\r\n", "a\x00\x00a\x00\x00"},
		{"uu that is cut", "x-uue", "begin 644 x\nM:&5L", "hel"},
		{"qp", "quoted-printable", "caf=C3=a9 =\r\nau lait  \r\n", "café au lait\n"},
		{"qp bad escapes", "quoted-printable", "100=% =zz =4", "100=% =zz =4"},
		{"qp control character", "quoted-printable", "a=41\x00b=\n=42\n", "aA\x00bB\n"},
		{"qp blanks after =", "quoted-printable", "a= \nb=3d", "ab="},
		{"qp long line", "quoted-printable", long + "=41\r\n", long + "A\n"},
		{"qp quoted From", "quoted-printable", "a =\n>From b\n", "a From b\n"},
	} {
		if got := decodeTransfer([]byte("x"), []byte(tt.raw), tt.encoding); string(got) != "x"+tt.want {
			t.Errorf("%s: got %.60q, want %.60q after x", tt.name, got, tt.want)
		}
	}
}

// A text that is decoded in place becomes the same as in another place, and takes no further memory.
func TestDecodeInPlace(t *testing.T) {
	pieces := []string{"\r", "\n", "\r\n", "=", "=41", "=0A", "=\r\n", ">From ", ".", " ", "begin 644 x\n", "#80  \n", "!", "!\n", "%", "end\n", strings.Repeat("y", 987), strings.Repeat("z =3D", 300)}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		var b strings.Builder
		for range rng.IntN(30) {
			b.WriteString(pieces[rng.IntN(len(pieces))])
		}
		raw := []byte(b.String())
		for _, encoding := range []string{"", "quoted-printable", "x-uuencode"} {
			want := decodeTransfer(nil, stripCR(bytes.Clone(raw)), encoding)
			if encoding == "" {
				want = rejoin(stripFromQuotes(want))
			}
			l := Leaf{mimeHeader: mimeHeader{encoding: encoding}, raw: raw}
			if got := l.File([]byte("x")); string(got) != "x"+string(want) || string(raw) != b.String() {
				t.Fatalf("%q in %q: got %q, want %q", encoding, raw, got, want)
			}
		}
	}
	l := Leaf{mimeHeader: mimeHeader{encoding: "quoted-printable"}, raw: bytes.Repeat([]byte(strings.Repeat("x", 1200)+"\r\n"), 99)}
	dst := make([]byte, 0, len(l.raw))
	for name, decode := range map[string]func([]byte) []byte{"Content": l.Content, "File": l.File} {
		if n := testing.AllocsPerRun(1, func() { decode(dst) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func TestCanonical(t *testing.T) {
	for in, want := range map[string]string{
		"":                              "",
		"a\r\nb\r\r\nc\r\n\r\n":         "a\nb\nc",
		"a\rb\r":                        "a\rb",
		"\r\r\n\r":                      "",
		">From a\n>>From b\n> From c\n": "From a\nFrom b\n> From c",
		"a\n>>>From b\n>b\n>From":       "a\nFrom b\n>b\n>From",
		"a >From b":                     "a >From b",
		"\n\n>":                         "\n\n>",
		"a\r\n>From b":                  "a\nFrom b",
	} {
		if got := canonical([]byte(in)); string(got) != want {
			t.Errorf("canonical(%q) = %q, want %q", in, got, want)
		}
	}
}

// FuzzDecode checks that the loose decoders agree with go-message's if those find no
// fault.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("aGVsbG8=\r\n"))
	f.Add([]byte("caf=C3=A9 =\r\nau lait \t\r\n=3"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for encoding, loose := range map[string]func(dst, raw []byte) []byte{
			"base64": appendLooseBase64, "quoted-printable": appendLooseQP,
		} {
			var h message.Header
			h.Set("Content-Transfer-Encoding", encoding)
			entity, err := message.New(h, bytes.NewReader(raw))
			testenv.Check(t, err)
			strict, err := appendAll(nil, entity.Body)
			if err != nil {
				continue
			}
			got := loose(nil, raw)
			if len(got) > len(raw) {
				t.Errorf("%s made %d bytes of %d", encoding, len(got), len(raw))
			}
			if !bytes.Equal(canonical(got), canonical(strict)) {
				t.Errorf("%s of %q: loose %q, strict %q", encoding, raw, got, strict)
			}
		}
	})
}
