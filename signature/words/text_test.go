package words

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/visible"
)

// A text stays the same if it is wrapped otherwise, put into HTML, or has other blanks.
func TestTextOfCopies(t *testing.T) {
	words := strings.Fields(ampleProse)
	rapid.Check(t, func(t *rapid.T) {
		picked := rapid.SliceOfN(rapid.SampledFrom(words), 1, 60).Draw(t, "words")
		plain := strings.Join(picked, " ")
		want := folded(plain)
		var wrapped strings.Builder
		for _, word := range picked {
			wrapped.WriteString(word + rapid.SampledFrom([]string{" ", "\n", "\r\n", "\t", "\u00a0", "\u3164", "\uffa0", "  "}).Draw(t, "blank"))
		}
		for name, got := range map[string]string{
			"wrapped": folded(wrapped.String()), "HTML": folded(string(viewOf("<p>"+plain, true, "utf-8").Shown.Text)), "capitals": folded(strings.ToUpper(plain)),
			"again": folded(want),
		} {
			if got != want {
				t.Fatalf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

// FuzzText reads any bytes as a text part.
func FuzzText(f *testing.F) {
	for _, seed := range []string{prose, "<style>.a{display:none}</style><p class=a>b", "\u202eabc", "+AGE-", "v i a g r a", "vi@gr4 |<ill", "<blockquote type=cite>x", "-- \nx", "ｱｲ가나", "\u1100-\u1161*\u11a8 가\u1100\u1161"} {
		f.Add([]byte(seed), true, "utf-8")
		f.Add([]byte(seed), false, "utf-7")
	}
	f.Fuzz(func(t *testing.T, text []byte, isHTML bool, charset string) {
		source := bytes.Clone(text)
		s := viewOf(string(text), isHTML, charset)
		var words Tokeniser
		checkView(t, s)
		words.Add(s.All.Text, s.All.Quotes, s.Hidden)
		if !bytes.Equal(text, source) {
			t.Fatal("the source was changed")
		}
		if !slices.IsSortedFunc(s.Shown.Quotes, func(a, b span.Span) int { return a.Start - b.End }) {
			t.Fatalf("quotes are %v", s.Shown.Quotes)
		}
		end := uint32(0)
		for _, w := range words.Tokens {
			if w.start < end || w.end <= w.start || int(w.end) > len(words.Text) {
				t.Fatalf("token %v behind %d in a text of %d bytes", w, end, len(words.Text))
			}
			end = w.end
			if word := string(words.Text[w.start:w.end]); folded(word) != word {
				t.Fatalf("%q folds to %q", word, folded(word))
			}
		}
		if len(words.Text) > maxText {
			t.Fatalf("text of %d bytes", len(words.Text))
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
	var t Tokeniser
	t.Add([]byte(text), nil, nil)
	var list []string
	for _, tok := range t.Tokens {
		list = append(list, string(t.Text[tok.start:tok.end]))
	}
	return list
}

// checkView checks that the hidden stretches are in order, and that one reading is the
// other without them.
func checkView(t *testing.T, s *visible.View) {
	t.Helper()
	end := -1
	for _, h := range s.Hidden {
		if h.Start <= end || h.End <= h.Start || h.End > len(s.All.Text) {
			t.Fatalf("hidden is %v of %d bytes", s.Hidden, len(s.All.Text))
		}
		end = h.End
	}
	for _, r := range []visible.Reading{s.Shown, s.All} {
		for i, q := range r.Quotes {
			if q.Start >= q.End || q.End > len(r.Text) || i > 0 && q.Start < r.Quotes[i-1].End {
				t.Fatalf("quotes are %v of %d bytes", r.Quotes, len(r.Text))
			}
		}
	}
	if len(span.Without(s.Hidden, s.All.Text)) != len(s.Shown.Text) {
		t.Fatalf("%d bytes of %d are shown, but for %v", len(s.Shown.Text), len(s.All.Text), s.Hidden)
	}
}

// viewOf returns the view of a text part.
func viewOf(text string, isHTML bool, charset string) *visible.View {
	l := mail.Leaf{}
	l.MediaType, l.Charset = "text/plain", charset
	if isHTML {
		l.MediaType = "text/html"
	}
	var texts visible.Texts
	texts.Begin(nil, 0, nil)
	texts.Add(l, []byte(text))
	return texts.Show(&texts.Parts[0])
}

// wordsOf returns the words of a message's body.
func wordsOf(body string) *Tokeniser {
	var texts visible.Texts
	texts.Begin(nil, 0, nil)
	mail.Walk(mail.Message{Body: []byte(body)}, nil, func(l mail.Leaf) { texts.Add(l, l.Content(nil)) })
	seen := texts.Show(&texts.Parts[0])
	words := &Tokeniser{}
	words.Add(seen.Shown.Text, seen.Shown.Quotes, nil)
	return words
}
