package idn

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

func TestASCII(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"Example.ORG":               "example.org",
		"_dmarc.bücher.example":     "_dmarc.xn--bcher-kva.example",
		"bücher.example":            "xn--bcher-kva.example",
		"BÜCHER.Example":            "xn--bcher-kva.example",
		"XN--bcher-KVA.example":     "xn--bcher-kva.example",
		"www.bücher.xn--p1ai":       "www.xn--bcher-kva.xn--p1ai",
		"почта.рф":                  "xn--80a1acny.xn--p1ai",
		"例え.テスト":                    "xn--r8jz45g.xn--zckzah",
		"straße.example":            "xn--strae-oqa.example",
		"STRAẞE.example":            "xn--strae-oqa.example",
		"Ꭰ.example":                 "xn--58d.example",
		"שלום.1.example":            "xn--9dbne9b.1.example",
		"example\u2044.com":         "xn--example-7d7c.com", // not a letter, but never mapped
		"a..b":                      "a..b",
		"xn--":                      "xn--",
		"\x00 <>":                   "\x00 <>",
		strings.Repeat("A.", 10000): strings.Repeat("a.", 10000),
	} {
		if got, err := ASCII(in); err != nil || got != want {
			t.Errorf("%.40q: %q, %v, want %q", in, got, err, want)
		}
	}
}

// Names that other software maps to another name have no form.
func TestNotMapped(t *testing.T) {
	for _, in := range []string{
		"\uff45xample.com", "example\u3002com", "example\uff0ecom", "example\uff61com", "exam\u00adple.com", "ban\u212a.example",
		"b\u0130g.example", "exam\u200bple.com", "exam\u200cple.com", "exam\u200dple.com", "exam\ufe0fple.com", "bu\u0308cher.example",
		"\u0308x.example", "\u24d4xample.com", "e\u2024example.com", "a\u202eb.example", "\ufb01sh.example",
		"b\xfccher.example", "b\ufffdcher.example", "xn--bücher.example", "ü--ü.example", "-ü.example", "ü-.example", "ü ü.example", "ü_ü.example",
		"ü@example.com", "1\u05d0.a\u05d0.example", strings.Repeat("ü", 64) + ".example", strings.Repeat("ü.", 128), strings.Repeat("ü.", 42), // short enough in UTF-8 alone
	} {
		if got, err := ASCII(in); err == nil {
			t.Errorf("%q becomes %q", in, got)
		}
	}
}

func TestWritten(t *testing.T) {
	for in, good := range map[string]bool{
		"bücher.example": true, "xn--bcher-kva.example": true, "example.org": true,
		"xn--bcher-kv!.example": false, "xn--a.xn--99999999.example": false, "exam\u00adple.com": false,
	} {
		if got, err := Written(in); (err == nil) != good || good && got == "" {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
}

func TestAmbiguous(t *testing.T) {
	for in, want := range map[string]bool{
		"straße.example": true, "STRAẞE.example": true, "βόλος.example": true, "a\u200cb": true, "a\u200db": true,
		"strasse.example": false, "bücher.example": false, "xn--strae-oqa.example": false, "βόλοσ.example": false,
	} {
		if Ambiguous(in) != want {
			t.Errorf("%q: %v", in, !want)
		}
	}
}

// FuzzASCII converts arbitrary text: the form is in ASCII and stable, and converting it
// back yields the text itself, label for label, except for its case.
func FuzzASCII(f *testing.F) {
	for _, seed := range []string{"Bücher.example", "почта.рф", "xn--bcher-kva.EXAMPLE", "STRAẞE.example", "\uff45xample\u3002com", "ban\u212a", "שלום.1.example", "b\xfccher"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got, err := ASCII(name)
		if err != nil {
			if got != "" || IsASCII(name) {
				t.Errorf("%q: %q, %v", name, got, err)
			}
			return
		}
		if again, err := ASCII(got); err != nil || again != got || !IsASCII(got) {
			t.Errorf("%q: %q, then %q, %v", name, got, again, err)
		}
		before, after := strings.Split(name, "."), strings.Split(got, ".")
		if len(before) != len(after) {
			t.Fatalf("%q: %q has other labels", name, got)
		}
		for i, label := range before {
			back := after[i]
			if !IsASCII(label) {
				if back, err = idna.Punycode.ToUnicode(back); err != nil || len(after[i]) > 63 {
					t.Fatalf("%q: %q: %v", name, after[i], err)
				}
			}
			same := func(a, b rune) bool {
				return a == b || unicode.ToLower(a) == b && (a < utf8.RuneSelf) == (b < utf8.RuneSelf)
			}
			if !slices.EqualFunc([]rune(label), []rune(back), same) {
				t.Errorf("%q: the label %q became %q", name, label, back)
			}
		}
	})
}

// A name in ASCII, as nearly all are, costs next to nothing.
func BenchmarkASCII(b *testing.B) {
	for _, name := range []string{"mail.shop.example", "mail.bücher.example", "mail.BÜCHER.example"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ASCII(name); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
