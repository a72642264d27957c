package trial

import (
	"slices"
	"strings"
	"testing"
)

func TestReadLabels(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []source // nil: an error
	}{
		{"blank and tab", "spam a\nham\tb c\n", []source{{"dir/a", true}, {"dir/b c", false}}},
		{"as TREC has it", "spam ../data/inmail.1\nham ../data/inmail.2", []source{{"data/inmail.1", true}, {"data/inmail.2", false}}},
		{"any case, CRLF, comments", "# x\r\n\r\nSpam a\r\n", []source{{"dir/a", true}}},
		{"absolute", "ham /a/b\n", []source{{"/a/b", false}}},
		{"nothing", "\n# x\n", nil},
		{"no path", "spam\n", nil},
		{"another label", "junk a\n", nil},
		{"a line without end", "spam " + strings.Repeat("a", maxLabel), nil},
	} {
		got, err := readLabels(strings.NewReader(c.text), "dir")
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v; want %v", c.name, got, err, c.want)
		}
	}
}

// FuzzReadLabels: any file yields an error or sources, and never more sources than lines.
func FuzzReadLabels(f *testing.F) {
	f.Add("spam a\nham\tb\n# c\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := readLabels(strings.NewReader(text), "dir")
		if (err == nil) != (len(got) > 0) || len(got) > strings.Count(text, "\n")+1 {
			t.Fatalf("%d sources, %v", len(got), err)
		}
	})
}
