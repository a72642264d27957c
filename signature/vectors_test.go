package signature_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

var update = flag.Bool("update", false, "rewrite testdata/*.want")

// vector returns the content of a .want file: a line for each signature, for each image
// the anchors and keys of its first view, for each group of a page a line, a line for each
// domain, then the text.
func vector(m signature.Message) []byte {
	var b bytes.Buffer
	set := signature.Compute(m)
	for _, s := range set.Signatures {
		fmt.Fprintf(&b, "%s %x\n", s.Kind, s.Digest)
	}
	for _, s := range set.Sketches {
		if s.Kind == signature.KindImage {
			reported := s.Reported(func(hash uint64) uint64 { return hash })
			for _, g := range reported {
				fmt.Fprintf(&b, "image anchor %016x\n", g.Anchor)
			}
			fmt.Fprintf(&b, "image keys %016x\n", reported[0].Keys)
		}
	}
	for _, s := range set.Sketches {
		if s.Kind != signature.KindShape {
			continue
		}
		for _, g := range s.Reported(func(hash uint64) uint64 { return hash }) {
			fmt.Fprintf(&b, "shape %s %016x keys %016x\n", g.By, g.Anchor, g.Keys)
		}
	}
	for i, d := range set.Domains {
		if i >= len(set.Domains)-set.Carried {
			b.WriteString("carried ")
		}
		fmt.Fprintf(&b, "domain %s\n", d)
	}
	if text := signature.Text(m); text != "" {
		fmt.Fprintf(&b, "text: %s\n", text)
	}
	return b.Bytes()
}

func TestVectors(t *testing.T) {
	mails, err := filepath.Glob("testdata/*.eml")
	if err != nil || len(mails) == 0 {
		t.Fatalf("no vectors: %v", err)
	}
	for _, mail := range mails {
		t.Run(filepath.Base(mail), func(t *testing.T) {
			got := vector(signature.Parse(readVector(t, mail)))
			base := strings.TrimSuffix(mail, ".eml")
			if *update {
				writeFile(t, base+".want", got)
				return
			}
			want, err := os.ReadFile(base + ".want")
			testenv.Check(t, err)
			if !bytes.Equal(got, want) {
				writeFile(t, base+".got", got)
				t.Errorf("see %s.got: got\n%s\nwant\n%s", base, got, want)
			}
		})
	}
}

func readVector(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	testenv.Check(t, err)
	return raw
}

func writeFile(t *testing.T, name string, data []byte) {
	t.Helper()
	testenv.Check(t, os.WriteFile(name, data, 0o644))
}

// vectorSet computes the vector whose name begins with number.
func vectorSet(t *testing.T, number string) signature.Set {
	t.Helper()
	names, _ := filepath.Glob("testdata/" + number + "-*.eml")
	if len(names) != 1 {
		t.Fatalf("vector %s: found %v", number, names)
	}
	return signature.Compute(signature.Parse(readVector(t, names[0])))
}

func ofKind(s signature.Set, k signature.Kind) []signature.Digest {
	var digests []signature.Digest
	for _, sig := range s.Signatures {
		if sig.Kind == k {
			digests = append(digests, sig.Digest)
		}
	}
	return digests
}

func TestVectorsAgree(t *testing.T) {
	for _, tt := range []struct {
		kind    signature.Kind
		vectors string
		why     string
	}{
		{signature.KindBody, "01 02 03 04 05 06 08", "encoding, line ends, blank lines at the end and header fields are not content"},
		{signature.KindBody, "11 12 13 14 38", "boundaries are not content"},
		{signature.KindBody, "15 16", "an unclosed multipart ends with the one around it"},
		{signature.KindBody, "20 21", "a mailbox quotes From lines"},
		{signature.KindBody, "40 41 42 43 44", "lines that servers break on delivery are rejoined"},
		{signature.KindText, "01 09", "what varies from copy to copy is taken out"},
		{signature.KindText, "45 54", "a reader sees the same"},
		{signature.KindText, "20 21", "a mailbox quotes From lines"},
		{signature.KindText, "40 41 42 43 44", "lines that servers break on delivery are rejoined"},
		{signature.KindText, "23 24 25", "charsets are not content"},
		{signature.KindText, "26 27", "charsets are not content"},
		{signature.KindText, "28 29", "charsets are not content"},
		{signature.KindText, "59 67", "a charset that gives no sense is not content"},
		{signature.KindText, "68 69", "a charset that gives no sense is not content"},
		{signature.KindText, "81 82", "a lone part is text, whatever type its sender declared"},
		{signature.KindText, "01 02 03 04 05 06 07 08 09 10 11 12 13 14 18 32 38 60 61 62 63 64 65 66", "a reader sees the same"},
		{signature.KindAttachment, "15 16 17", "the same file"},
		{signature.KindAttachment, "45 46", "the same file"},
		{signature.KindContent, "72 73", "names, order, dates and compression are not content"},
		{signature.KindContent, "74 75", "identifiers, dates, order and the name of the program are not content"},
	} {
		numbers := strings.Fields(tt.vectors)
		first := ofKind(vectorSet(t, numbers[0]), tt.kind)
		if len(first) == 0 {
			t.Errorf("vector %s has no %s signature", numbers[0], tt.kind)
		}
		for _, number := range numbers[1:] {
			if got := ofKind(vectorSet(t, number), tt.kind); !slices.Equal(got, first) {
				t.Errorf("%s of vectors %s and %s differ: %s", tt.kind, numbers[0], number, tt.why)
			}
		}
	}
}

func TestVectorsDiffer(t *testing.T) {
	for _, tt := range []struct {
		kind    signature.Kind
		vectors string
	}{
		{signature.KindBody, "01 07 09 10 11 15 17 18 20 22 23 24 40 45 46 47 48 49 50 52 53 54 55 56"},
		{signature.KindText, "01 20 22 23 26 28 30 31 40 45 48 49 90 91 92 93 94"},
	} {
		seen := make(map[signature.Digest]string)
		for number := range strings.FieldsSeq(tt.vectors) {
			for _, d := range ofKind(vectorSet(t, number), tt.kind) {
				if other := seen[d]; other != "" {
					t.Errorf("vectors %s and %s have the same %s signature", other, number, tt.kind)
				}
				seen[d] = number
			}
		}
	}
}

func TestVectorsUnsigned(t *testing.T) {
	for number := range strings.FieldsSeq("19 33 34 35 37 51 85") {
		if s := vectorSet(t, number); len(s.Signatures)+len(s.Counting) > 0 {
			t.Errorf("vector %s is signed: %v", number, s)
		}
	}
}

// Text that programs and habit put into mail gives no common signature.
func TestVectorsShareNothing(t *testing.T) {
	for _, pair := range []string{"46 47", "48 49", "52 53", "52 54", "55 56"} {
		a, b, _ := strings.Cut(pair, " ")
		first := vectorSet(t, a).Signatures
		if len(first) == 0 {
			t.Errorf("vector %s is not signed", a)
		}
		for _, s := range vectorSet(t, b).Signatures {
			if slices.Contains(first, s) {
				t.Errorf("vectors %s share %s", pair, s.ID())
			}
		}
	}
}
