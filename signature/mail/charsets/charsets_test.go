package charsets_test

import (
	"bytes"
	"testing"

	"github.com/spambloom/spambloom/signature/mail/charsets"
)

// FuzzKnown checks that no text makes a decoder fail or return much more than it read, and that letters of
// ASCII stay under each name whose charset has them.
func FuzzKnown(f *testing.F) {
	names := []string{"iso-2022-kr", "iso-2022-cn", "utf-32", "ucs-4", "utf-7-imap", "ibm037", "ucs2be", "8859_5", "x-unknown"}
	for i, text := range []string{"\x1b$)C\x0e0!\x0f a\n0!", "\x1b$)A\x0eDc\x0f \x1b$)", "\xff\xfe\x00\x00a\x00\x00\x00",
		"\x00\x00O\x60\xff", "&AEgAaf,9- &- + &", "\xc8\x85\x93", "plain words\x00", "\xe0", ""} {
		f.Add(uint8(i), []byte(text))
	}
	f.Fuzz(func(t *testing.T, which uint8, text []byte) {
		name := names[int(which)%len(names)]
		before := bytes.Clone(text)
		got, _ := charsets.Known(text, name)
		if !bytes.Equal(text, before) {
			t.Errorf("%s changed %q to %q", name, before, text)
		}
		if len(got) > 2*len(text) {
			t.Errorf("%s: %d bytes of %d", name, len(got), len(text))
		}
		words := append([]byte("plain words of this letter "), bytes.ReplaceAll(bytes.ReplaceAll(text[:min(len(text), 8)], []byte{'@'}, nil), []byte{0}, nil)...)
		if shown, _ := charsets.Known(words, name); !bytes.HasPrefix(shown, []byte("plain words")) {
			t.Errorf("%s of %q: %q", name, words, shown)
		}
	})
}
