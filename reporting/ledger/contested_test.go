package ledger

import (
	"fmt"
	"testing"
	"time"

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
	v.say(Spam, "other", message(messages, messages))
	none := 0.0 // so that the reports stay in the tallies
	if _, err := v.l.SetWeight("other", &none, v.at); err != nil {
		t.Fatal(err)
	}
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

// One call of Reports reads a bounded number of reports, also if none of them matches. Its pages have
// every report.
func TestReportsIsBounded(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	const older = search.MaxVisits + 100
	v := voice{t: t, l: open(t, trust.Default()), at: begin.Add(time.Hour)}
	v.say(Spam, "anna", message(1, 1))
	v.at = begin // a clock that was behind
	for i := range older {
		v.say(Spam, "anna", message(i+2, i+2))
	}
	for _, by := range []string{"anna", ""} {
		found, pages := 0, 0
		for q := (Query{Reporter: by, Since: begin.Add(time.Minute), Limit: 1}); pages == 0 || q.Before != 0; pages++ {
			list, next, err := v.l.Reports(q)
			testenv.Check(t, err)
			found += len(list)
			q.Before = next
		}
		if found != 1 || pages != 2 {
			t.Errorf("by %q: %d reports on %d pages, want 1 on 2", by, found, pages)
		}
	}
}
