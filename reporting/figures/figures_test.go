package figures_test

import (
	"testing"

	"github.com/spambloom/spambloom/reporting/figures"
)

func TestWords(t *testing.T) {
	for key, want := range map[string][2]string{"spam": {"spam", ""}, "spam_from:mx2": {"caught only because of other sites", "mx2"}, "else": {"else", ""}} {
		if words, of := figures.Words(key); words != want[0] || of != want[1] {
			t.Errorf("%s: %q, %q", key, words, of)
		}
	}
	keys := map[string]bool{}
	for _, c := range figures.Kept {
		if c.Key == "" || c.Words == "" || keys[c.Key] {
			t.Errorf("%+v: no key, no words, or twice", c)
		}
		keys[c.Key] = true
	}
	if len(keys)+32 > 96 {
		t.Errorf("%d keys and 32 sites are more than a file of the history takes", len(keys))
	}
}
