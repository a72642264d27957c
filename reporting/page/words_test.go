package page

import "testing"

// A line ends within no date of a sentence. Text from outside is escaped, and the date is not
// changed: it can be copied.
func TestDatesInSentences(t *testing.T) {
	for text, want := range map[string]string{
		"mx2 has not been heard since 2026-11-25 10:37 UTC. Its": `mx2 has not been heard since <span class="date">2026-11-25 10:37 UTC</span>. Its`,
		"begins 2026-11-26 00:00Z":                               `begins <span class="date">2026-11-26 00:00Z</span>`,
		"undone: anna since 2026-11-25, twice":                   `undone: anna since <span class="date">2026-11-25</span>, twice`,
		"history/2026-11.counts, 12026-11-25 and <b>":            `history/2026-11.counts, 12026-11-25 and &lt;b&gt;`,
	} {
		if got := string(prose(text)); got != want {
			t.Errorf("%q is shown as\n%s\nwant\n%s", text, got, want)
		}
	}
}
