package ledger

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/search"
	"github.com/spambloom/spambloom/reporting/trust"
)

// One call of Contested reads a bounded number of reports, also if a few messages have most of
// them. Its pages have every message.
func TestContestedIsBounded(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	const messages, reporters = 12, 500
	v := voice{t: t, l: open(t, trust.Default()), at: begin}
	for m := range messages {
		for r := range reporters {
			v.say(Spam, fmt.Sprint("user", r), message(m, m))
		}
		v.say(Ham, "other", message(m, m))
	}
	found, pages := 0, 0
	for q := (Query{Limit: 1000}); pages == 0 || q.Before != 0; pages++ {
		list, next, err := v.l.Contested(q)
		if err != nil || len(list) == 0 {
			t.Fatalf("%d messages, %v", len(list), err)
		}
		read := 0
		for _, c := range list {
			read += c.Reports + c.Revoked
		}
		if read > search.MaxVisits {
			t.Errorf("one call read %d reports of its messages", read)
		}
		found += len(list)
		q.Before = next
	}
	if found < messages || pages < 2 {
		t.Errorf("%d messages on %d pages", found, pages)
	}
}
