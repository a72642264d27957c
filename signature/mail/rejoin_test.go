package mail

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// asPostfix returns text as Postfix delivers it if a line is longer than limit.
func asPostfix(text string, limit int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for len(line) > limit {
			out, line = append(out, line[:limit]), " "+line[limit:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// asSendmail returns text as Sendmail delivers it if a line is longer than limit.
func asSendmail(text string, limit int) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		for {
			dot := 0
			if strings.HasPrefix(line, ".") {
				dot = 1
			}
			if dot+len(line) <= limit {
				break
			}
			at := limit - 1 - dot
			out, line = append(out, line[:at]+"!"), line[at:]
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// deliveries are the ways in which servers break long lines, also one after the other.
var deliveries = map[string]func(string) string{
	"Postfix":                     func(s string) string { return asPostfix(s, 998) },
	"Sendmail":                    func(s string) string { return asSendmail(s, 990) },
	"Sendmail relay":              func(s string) string { return asSendmail(s, 2040) },
	"Sendmail relay and Postfix":  func(s string) string { return asPostfix(asSendmail(s, 2040), 998) },
	"Postfix and Sendmail":        func(s string) string { return asSendmail(asPostfix(s, 998), 990) },
	"Sendmail relay and Sendmail": func(s string) string { return asSendmail(asSendmail(s, 2040), 990) },
}

// A delivered copy is rejoined into the same text as the message before, also if its
// lines look broken.
func TestRejoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			n := rapid.SampledFrom([]int{0, 1, 70, 987, 988, 989, 990, 996, 997, 998, 999, 1978, 1979, 1995, 2038, 2039, 2040, 3985, 4078, 5000}).Draw(t, "length")
			fill := rapid.SampledFrom([]string{"x", ".", "!", " ", "ab!c ."}).Draw(t, "fill")
			return rapid.SampledFrom([]string{"", " ", ".", "x"}).Draw(t, "begin") + strings.Repeat(fill, n)[:n] + rapid.SampledFrom([]string{"", "!", " "}).Draw(t, "end")
		}), 1, 6).Draw(t, "lines")
		text := strings.Join(lines, "\n")
		for name, rule := range map[string]breakRule{"Postfix": postfixBreak, "Sendmail": sendmailBreak(990)} {
			want := string(undoBreaks([]byte(text), rule))
			if got := string(undoBreaks([]byte(deliveries[name](text)), rule)); got != want {
				t.Fatalf("%s: copy of %q becomes %q, want %q", name, text, got, want)
			}
		}
	})
}
