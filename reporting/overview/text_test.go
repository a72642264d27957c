package overview_test

import (
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/figures"
	"github.com/spambloom/spambloom/reporting/overview"
)

// The table has the reasons of refused reports below their number, the most frequent one first,
// also those of the day before, and one without words as the metric has it.
func TestRefusedByReason(t *testing.T) {
	o := overview.Overview{
		LastDay:   map[string]uint64{figures.Refused: 3, "reports_refused_for:too_little_content": 1, "reports_refused_for:never": 2},
		DayBefore: map[string]uint64{figures.Refused: 4, "reports_refused_for:another": 4},
	}
	var rows []string
	for line := range strings.Lines(o.Text(time.Now())) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := "\nreports and revocations refused 3 4\ndeclared never spam here 2 0\ntoo little content 1 0\nanother 0 4\n"
	if got := strings.Join(rows, "\n"); !strings.Contains(got, want) {
		t.Errorf("%s\nlacks %s", got, want)
	}
}
