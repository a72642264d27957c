package mail

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature/mail/mailtest"
)

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
			if got := string(undoBreaks([]byte(mailtest.Deliveries[name](text)), rule)); got != want {
				t.Fatalf("%s: copy of %q becomes %q, want %q", name, text, got, want)
			}
		}
	})
}
