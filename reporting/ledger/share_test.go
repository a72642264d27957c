package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// bounded returns a ledger that keeps a hundred reports.
func bounded(t *testing.T) *Ledger {
	t.Helper()
	l, err := Open(Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: small, Max: 100, NoSync: true})
	testenv.Check(t, err)
	t.Cleanup(func() {
		if err := errors.Join(l.Check(), l.Close()); err != nil {
			t.Error(err)
		}
	})
	return l
}

func (l *Ledger) shareOf(t *testing.T, p record.Party) (s record.Share) {
	t.Helper()
	err := l.view(func(tx *txn) error {
		found, err := tx.Share(p)
		if err == nil {
			s = *found
		}
		return err
	})
	testenv.Check(t, err)
	return s
}

// numbered returns a report of message number n.
func numbered(n int, who, origin string) Entry {
	return Entry{Reporter: who, Origin: origin, At: begin, Period: begin, Set: message(n, n)}
}

// The share of one reporter, or of a program that reports for others, leaves room in the ledger.
// It is free again when these reports have expired.
func TestShareOfTheLedger(t *testing.T) {
	for name, test := range map[string]struct {
		entry func(n int) Entry
		whose string
		most  int
	}{
		"a reporter":         {func(n int) Entry { return numbered(n, "mallory", "unix:1000") }, "mallory by unix:1000", 25},
		"a reporter's ways":  {func(n int) Entry { return numbered(n, "mallory", fmt.Sprint("tcp:client", n)) }, "mallory", 50},
		"a reporter unnamed": {func(n int) Entry { return numbered(n, "mallory", "") }, "mallory", 25},
		"a trap": {func(n int) Entry {
			e := numbered(n, "trap:lure", "trap")
			e.Trap = true
			return e
		}, "trap:lure", 50},
		"an administrator": {func(n int) Entry {
			e := numbered(n, "archive", "unix:0")
			e.Trusted = true
			return e
		}, "archive", 50},
		"a delegate": {func(n int) Entry { return numbered(n, fmt.Sprint("user", n), "tcp:store") }, "tcp:store", 75},
		"many signatures": {func(n int) Entry {
			e := numbered(n, "mallory", "unix:1000")
			for i := range 30 {
				e.Set.Signatures = append(e.Set.Signatures, message(1000*n+i, 0).Signatures[0])
			}
			return e
		}, "mallory by unix:1000", 12},
	} {
		t.Run(name, func(t *testing.T) {
			l := bounded(t)
			var err error
			n := 0
			for ; err == nil && n <= 100; n++ {
				_, err = l.Enter(test.entry(n))
			}
			if !errors.Is(err, ErrShare) || errors.Is(err, ErrPeriodShare) || !strings.Contains(err.Error(), test.whose+" has taken the ") || n != test.most+1 {
				t.Fatalf("entry %d: %v, want a refusal of entry %d that names %s", n, err, test.most+1, test.whose)
			}
			if _, err := l.Enter(numbered(200, "anna", "unix:1001")); err != nil {
				t.Errorf("anna, too: %v", err)
			}
			for more := true; more; {
				if more, err = l.Expire(begin.Add(6 * week)); err != nil {
					t.Fatal(err)
				}
			}
			late := test.entry(300)
			late.At, late.Period = begin.Add(6*week), begin.Add(6*week)
			if _, err := l.Enter(late); err != nil {
				t.Errorf("when all have expired: %v", err)
			}
		})
	}
}

// Filter space is counted by period, for reports and revocations separately, for each reporter
// and for each origin.
func TestShareOfAPeriod(t *testing.T) {
	l := bounded(t)
	enter := func(n int, s Stance, who string, period time.Time) error {
		e := numbered(n, who, "tcp:store")
		e.Stance, e.Listed, e.At, e.Period, e.Cost = s, true, period, period, CostUnit/8
		_, err := l.Enter(e)
		return err
	}
	next := begin.Add(week)
	for i, step := range []struct {
		who     string
		stance  Stance
		period  time.Time
		refused string // whose share
	}{
		{"anna", Spam, begin, ""},
		{"anna", Spam, begin, ""},
		{"anna", Spam, begin, "anna by tcp:store"},
		{"anna", Ham, begin, ""},
		{"bert", Spam, begin, ""},
		{"bert", Spam, begin, ""},
		{"carl", Spam, begin, ""},
		{"carl", Spam, begin, ""},
		{"dora", Spam, begin, "tcp:store"},
		{"dora", Ham, begin, ""},
		{"anna", Spam, next, ""},
		{"dora", Spam, next, ""},
	} {
		err := enter(i, step.stance, step.who, step.period)
		if step.refused == "" && err != nil || step.refused != "" && (!errors.Is(err, ErrPeriodShare) || !strings.Contains(err.Error(), step.refused+" has taken")) {
			t.Errorf("step %d, %+v: %v", i, step, err)
		}
	}
}

// TestShareInAnotherName is the attack "three names": a program that reports for others takes all that it
// may in anna's name, and what she reports herself is entered, and what she revokes.
func TestShareInAnotherName(t *testing.T) {
	l, who := bounded(t), record.PartiesOf("anna", "tcp:store")[0]
	var err error
	for n := 0; err == nil && n <= 100; n++ {
		e := numbered(n, "anna", "tcp:store")
		e.Cost = CostUnit / 50
		_, err = l.Enter(e)
	}
	if !errors.Is(err, ErrPeriodShare) || !strings.Contains(err.Error(), "anna by tcp:store") {
		t.Errorf("in anna's name: %v", err)
	}
	if s := l.shareOf(t, who); s.Kept != 12 || s.Via != "tcp:store" {
		t.Errorf("anna has %+v", s)
	}
	for n, stance := range []Stance{Spam, Ham} {
		e := numbered(200+n, "anna", "unix:1001")
		e.Stance, e.Listed, e.Cost = stance, true, CostUnit/50
		if _, err := l.Enter(e); err != nil {
			t.Errorf("anna herself: %v", err)
		}
	}
	for at := begin.Add(6 * week); ; at = at.Add(52 * week) {
		_, err := l.Expire(at)
		testenv.Check(t, err)
		if s, err := l.Status(); err != nil || s.Reporters == 0 {
			break
		}
	}
	for _, p := range append(record.PartiesOf("anna", "tcp:store"), record.PartiesOf("anna", "unix:1001")[1]) {
		if s := l.shareOf(t, p); p.Kind != record.PartyOrigin && s != (record.Share{}) {
			t.Errorf("%s has %+v after anna expired", p, s)
		}
	}
}

// An origin that reports under many names leaves room for reporters of other origins. Names that
// have expired no longer count.
func TestShareOfNames(t *testing.T) {
	l, origin := bounded(t), record.Party{Kind: record.PartyOrigin, Name: "tcp:store"}
	for n := range 5 {
		if _, err := l.Enter(numbered(n, fmt.Sprint("user", n), origin.Name)); err != nil {
			t.Fatal(err)
		}
	}
	if s := l.shareOf(t, origin); s.Names != 5 || s.Kept != 5 {
		t.Errorf("%+v, want 5 names and 5 reports", s)
	}
	full := record.Share{Names: most(originShare, maxReporters)}
	testenv.Check(t, l.commit(func(t *txn) (refused, err error) { return nil, t.PutShare(origin, &full) }))
	if _, err := l.Enter(numbered(6, "user6", origin.Name)); !errors.Is(err, ErrShare) || !strings.Contains(err.Error(), "75 % of the reporters that are kept") {
		t.Errorf("one name too many: %v", err)
	}
	if _, err := l.Enter(numbered(7, "user1", origin.Name)); err != nil {
		t.Errorf("a known reporter: %v", err)
	}
	if _, err := l.Enter(numbered(8, "anna", "unix:1000")); err != nil {
		t.Errorf("another origin: %v", err)
	}
	for at := begin.Add(6 * week); ; at = at.Add(52 * week) {
		if _, err := l.Expire(at); err != nil {
			t.Fatal(err)
		}
		if s, err := l.Status(); err != nil || s.Reporters == 0 {
			break
		}
	}
	if s := l.shareOf(t, origin); s.Names != full.Names-5 || s.Kept != 0 {
		t.Errorf("%+v after its reporters expired", s)
	}
}
