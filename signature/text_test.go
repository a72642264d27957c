package signature

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCharsetsVersion2(t *testing.T) {
	for _, tt := range []struct{ charset, in, want string }{
		{"utf-7", "Hi Mom +Jjo-! A+ImIDkQ. 1 +- 1", "Hi Mom \u263a! A\u2262\u0391. 1 + 1"},
		{"unicode-1-1-utf-7", "+2D3cCQ-x", "\U0001F409x"},
		{"utf-7", "cut +", "cut +"},
		{"utf-7", "cut +A", "cut "},
		{"cp932", "\x83e\x83X\x83g", "テスト"},
		{"ks_c_5601", "\xb0\xa1", "가"},
		{"cp-1251", "\xf0\xf3", "ру"},
		{"iso-8859-1", "caf\xc3\xa9", "cafÃ©"}, // as mail programs show it
	} {
		if got := toUTF8([]byte(tt.in), tt.charset, false); string(got) != tt.want {
			t.Errorf("%s of %q: got %q, want %q", tt.charset, tt.in, got, tt.want)
		}
	}
}

func TestShownOrder(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"buy \u202eargaiv\u202c now", "buy \u202eviagra\u202c now"},
		{"a \u202ecb\nd", "a \u202ebc\nd"},
		{"\u202eéa", "\u202eaé"},
		{"\u202eשלום", "\u202eשלום"},
		{"\u202eba\u202edc", "\u202eab\u202ecd"},
	} {
		if got := string(inShownOrder([]byte(tt.in))); got != tt.want {
			t.Errorf("%+q is shown as %+q, want %+q", tt.in, got, tt.want)
		}
	}
	if got := shows("a <bdo dir=rtl>argaiv</bdo> b"); got != "a \u202eviagra\u202c b" {
		t.Errorf("bdo: got %+q", got)
	}
}

// Wrapped otherwise, quoted in HTML or with other blanks, a text stays the same.
func TestTextOfCopies(t *testing.T) {
	words := strings.Fields(ampleProse)
	rapid.Check(t, func(t *rapid.T) {
		picked := rapid.SliceOfN(rapid.SampledFrom(words), 1, 60).Draw(t, "words")
		plain := strings.Join(picked, " ")
		want := folded(plain)
		var wrapped strings.Builder
		for _, word := range picked {
			wrapped.WriteString(word + rapid.SampledFrom([]string{" ", "\n", "\r\n", "\t", "\u00a0", "  "}).Draw(t, "blank"))
		}
		for name, got := range map[string]string{
			"wrapped": folded(wrapped.String()), "HTML": folded(shows("<p>" + plain)), "capitals": folded(strings.ToUpper(plain)),
			"again": folded(want),
		} {
			if got != want {
				t.Fatalf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

// FuzzText reads anything as a text part.
func FuzzText(f *testing.F) {
	for _, seed := range []string{prose, "<style>.a{display:none}</style><p class=a>b", "\u202eabc", "+AGE-", "v i a g r a", "vi@gr4 |<ill", "<blockquote type=cite>x", "-- \nx", "ｱｲ가나"} {
		f.Add([]byte(seed), true, "utf-8")
		f.Add([]byte(seed), false, "utf-7")
	}
	f.Fuzz(func(t *testing.T, text []byte, isHTML bool, charset string) {
		source := bytes.Clone(text)
		c := computer{hasHTML: make(map[int]bool), source: text}
		s := c.show(&textPart{end: len(text), isHTML: isHTML, charset: charset})
		checkView(t, s)
		c.words.add(s.all.text, s.all.quotes, s.hidden)
		if !bytes.Equal(text, source) {
			t.Fatal("the source was changed")
		}
		if !slices.IsSortedFunc(s.quotes, func(a, b span) int { return a.start - b.end }) {
			t.Fatalf("quotes are %v", s.quotes)
		}
		end := uint32(0)
		for _, w := range c.words.tokens {
			if w.start < end || w.end <= w.start || int(w.end) > len(c.words.text) {
				t.Fatalf("token %v behind %d in a text of %d bytes", w, end, len(c.words.text))
			}
			end = w.end
			if word := string(c.words.text[w.start:w.end]); folded(word) != word {
				t.Fatalf("%q folds to %q", word, folded(word))
			}
		}
		if len(c.words.text) > maxText {
			t.Fatalf("text of %d bytes", len(c.words.text))
		}
	})
}

// A sign in place of each blank joins words to one token, which is no identifier.
func TestSignsForBlanks(t *testing.T) {
	const text = "please visit our new shop and get two pairs of shoes for the price of one this week only"
	want := tokensOf(text)
	for _, sign := range []string{"-", "_", ",", "/", ".", "|", "*", "~", "\u2013", "\u00b7", "\u2764"} {
		if got := tokensOf(strings.ReplaceAll(text, " ", sign)); !slices.Equal(got, want) {
			t.Errorf("%q for blanks: %q, want %q", sign, got, want)
		}
	}
	for _, identifier := range []string{"3f2504e0-4f89-11d3-9a0c-0305e82c3301", "deadbeefcafebabedeadbeefcafe"} {
		if got := tokensOf(identifier); len(got) > 0 {
			t.Errorf("%q: %q, want nothing", identifier, got)
		}
	}
}

func tokensOf(text string) []string {
	var t tokeniser
	t.add([]byte(text), nil, nil)
	var list []string
	for _, tok := range t.tokens {
		list = append(list, string(t.text[tok.start:tok.end]))
	}
	return list
}

// checkView: the hidden stretches are in order, and one reading is the other without
// them.
func checkView(t *testing.T, s *view) {
	t.Helper()
	end := -1
	for _, h := range s.hidden {
		if h.start <= end || h.end <= h.start || h.end > len(s.all.text) {
			t.Fatalf("hidden is %v of %d bytes", s.hidden, len(s.all.text))
		}
		end = h.end
	}
	for _, r := range []reading{s.reading, s.all} {
		for i, q := range r.quotes {
			if q.start >= q.end || q.end > len(r.text) || i > 0 && q.start < r.quotes[i-1].end {
				t.Fatalf("quotes are %v of %d bytes", r.quotes, len(r.text))
			}
		}
	}
	if len(without(s.hidden, s.all.text)) != len(s.text) {
		t.Fatalf("%d bytes of %d are shown, but for %v", len(s.text), len(s.all.text), s.hidden)
	}
}
