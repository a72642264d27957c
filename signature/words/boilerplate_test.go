package words

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/span"
)

// Every phrase is found in its own text, and is not its author's own.
func TestBoilerplate(t *testing.T) {
	for _, list := range append(addedNotes, meetingNotes, courtesies) {
		for _, phrase := range list {
			words := wordsOf(phrase + "\n")
			if len(words.Text) < phraseKey {
				t.Errorf("%q is too short to be found", phrase)
			}
			words.MarkBoilerplate()
			if own := withoutBoilerplate(words.Text, unsketched()); len(strings.TrimSpace(string(own))) > 0 {
				t.Errorf("of %q stays %q", phrase, own)
			}
			if own := ownWords(words); len(own) > 0 && !slices.Contains(meetingNotes, phrase) {
				t.Errorf("of %q %q are its author's own", phrase, own)
			}
		}
	}
}

// ownWords returns the words that are the author's own.
func ownWords(of *Tokeniser) (own []string) {
	for _, tok := range of.Tokens {
		if tok.by == span.ByAuthor {
			own = append(own, string(of.Text[tok.start:tok.end]))
		}
	}
	return own
}

// Two letters of different senders do not match because both have a block that programs or firms add to many letters:
// a match takes eight keys, and these are in ten words.
func TestNotices(t *testing.T) {
	const letter = "the boxes arrived today and two of them are damaged at the corner, so what shall we do with these before Sunday comes around again\n"
	files, err := filepath.Glob("testdata/notices/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		block, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		words := wordsOf(letter + string(block))
		words.MarkBoilerplate()
		if own := ownWords(words); len(own) >= len(strings.Fields(letter))+10 {
			t.Errorf("of the %d words of %s stay %q", len(words.Tokens), file, own)
		}
	}
}

// A meeting counts as content: a false invitation signs.
func TestMeetingsAreContent(t *testing.T) {
	block, err := os.ReadFile("testdata/notices/teams-new.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !IsEnough(wordsOf(string(block)).Text, Brief) {
		t.Error("an invitation does not sign")
	}
}

// Boilerplate around an author's words leaves these; a phrase inside other words is none.
func TestBoilerplatePlaces(t *testing.T) {
	p := boilerplate()
	for text, want := range map[string]string{
		"good morning sent from my iphone":        "good morning",
		"sent from my iphonelike thing":           "sent from my iphonelike thing",
		"absent from my iphone":                   "absent from my iphone",
		"sent from my iphone a sent from my ipad": "",
		"view in browser one two three four five six seven eight nine ten eleven twelve view in browser": "one two three four five six seven eight nine ten eleven twelve",
		"": "",
	} {
		if got := strings.TrimSpace(string(withoutBoilerplate([]byte(text), p))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Boilerplate is found within any text, in order, and what is left is never longer.
func FuzzBoilerplate(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		words := wordsOf(text)
		visible := words.Text
		end := 0
		for _, s := range boilerplateIn(visible, boilerplate()) {
			if s.Start < end || s.End <= s.Start || s.End > len(visible) {
				t.Fatalf("%v after %d, of %d bytes", s, end, len(visible))
			}
			end = s.End
		}
		words.MarkBoilerplate()
	})
}

// A process makes the phrases at its first message. Most commands have only one.
func BenchmarkFirstUse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		notes, closings := normalised(addedNotes...), normalised(courtesies)
		together(notes)()
		together(notes, closings)()
		together(notes, closings, normalised(meetingNotes))()
	}
}
