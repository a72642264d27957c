package variation

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spambloom/spambloom/cmd/bloomlab/variation/message"
)

// pageWords bounds a page of innocent text.
const (
	pageMin = 300
	pageMax = 500
)

// Gather makes material of a corpus: words and sentences of the spams, pages of the
// ham. Its order is that of the mail.
func Gather(spams, ham []*message.Mail) *Material {
	from := &Material{Others: spams}
	seen := map[string]bool{}
	for _, m := range spams {
		text := m.Text()
		for _, w := range message.WordsOf(text) {
			w = strings.ToLower(w)
			if isDictionary(w) {
				seen[w] = true
			}
		}
		for _, s := range message.Sentences(text) {
			if n := len(message.WordsOf(s)); n >= 5 && n <= message.MaxSentence && !strings.ContainsAny(s, "@/<>") {
				from.Sentences = append(from.Sentences, strings.Join(message.WordsOf(s), " "))
			}
		}
	}
	for w := range seen {
		from.Words = append(from.Words, w)
	}
	slices.Sort(from.Words)
	for _, m := range ham {
		if page := innocentPage(m.Text()); page != "" {
			from.Pages = append(from.Pages, page)
		}
	}
	return from
}

// isDictionary reports whether a word has 3 to 12 Latin letters, with a vowel.
func isDictionary(w string) bool {
	if len(w) < 3 || len(w) > 12 || !strings.ContainsAny(w, "aeiou") {
		return false
	}
	return !strings.ContainsFunc(w, func(r rune) bool { return r < 'a' || r > 'z' })
}

// innocentPage is the text's first pageMax words, or nothing where it has fewer
// than pageMin.
func innocentPage(text string) string {
	if len(message.WordsOf(text)) < pageMin {
		return ""
	}
	page, _ := firstWords(text, pageMax)
	return strings.TrimFunc(page, unicode.IsSpace)
}
