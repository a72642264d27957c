package bloomdb_test

import (
	"errors"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// alternate reports and revokes a message in turn.
func alternate(t *testing.T, db *bloomdb.DB, message, words int) {
	t.Helper()
	for i := range words {
		if i%2 == 0 {
			bloomdbtest.Report(t, db, message)
		} else {
			bloomdbtest.Revoke(t, db, message)
		}
	}
}

// A generation accepts 14 alternating reports and revocations of a message, and two more if an
// administrator settles it. The last one is a revocation. The next generation starts again.
func TestLadderEnds(t *testing.T) {
	c, o := bloomdbtest.NewClock(), bloomdbtest.Options(t.TempDir(), "mx1")
	o.Now = c.Now
	db := bloomdbtest.Open(t, o)
	for words := range layout.ReporterRungs {
		alternate(t, db, words, words+1)
		if got, want := db.Judge(bloomdbtest.Message(words)).Listed, words%2 == 0; got != want {
			t.Errorf("after %d changes: listed %v", words+1, got)
		}
	}
	alternate(t, db, 100, layout.ReporterRungs)
	m := bloomdbtest.Message(100)
	bloomdbtest.Report(t, db, 100)
	if db.Judge(m).Listed || db.Stands(m) {
		t.Error("listed by the 15th change")
	}
	for _, c := range []struct {
		settledAs, report, listed bool
	}{{true, true, true}, {true, false, true}, {false, false, false}, {true, true, false}} {
		db.Settle(map[signature.Signature]bool{m.Signatures[0]: c.settledAs})
		if c.report {
			bloomdbtest.Report(t, db, 100)
		} else {
			bloomdbtest.Revoke(t, db, 100)
		}
		if db.Settle(nil); db.Stands(m) != c.listed {
			t.Errorf("%+v: the filters list it: %v", c, !c.listed)
		}
	}
	c.Add(168 * time.Hour)
	bloomdbtest.Report(t, db, 100)
	if !db.Judge(bloomdbtest.Message(100)).Listed {
		t.Error("not listed in the next generation")
	}
}

// After a site is dropped or is no longer trusted, the rungs of the other sites are unchanged:
// the highest of them decides.
func TestLadderWithoutASite(t *testing.T) {
	a, b, c := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "a")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "c"))
	send := func(from *bloomdb.DB, to ...*bloomdb.DB) {
		t.Helper()
		deltas := bloomdbtest.Drain(t, from)
		for _, db := range to {
			bloomdbtest.Apply(t, db, deltas...)
		}
	}
	bloomdbtest.Report(t, a, 1)
	send(a, b, c)
	bloomdbtest.Revoke(t, b, 1)
	send(b, a, c)
	bloomdbtest.Report(t, a, 1)
	send(a, b, c)
	want := func(what string, listed bool) {
		t.Helper()
		if got := c.Judge(bloomdbtest.Message(1)).Listed; got != listed {
			t.Errorf("%s: listed %v", what, got)
		}
	}
	want("reported, revoked, reported", true)
	testenv.Check(t, c.Drop("b"))
	want("without the site that revoked it", true)
	bloomdbtest.Revoke(t, c, 1)
	send(c, a, b)
	want("revoked by a site that never had rung 1", false)
	if a.Judge(bloomdbtest.Message(1)).Listed || b.Judge(bloomdbtest.Message(1)).Listed {
		t.Error("listed at the sites that have all rungs")
	}
	testenv.Check(t, c.Drop("a"))
	want("its own word is left", false)
}

// TestForgedRungs is the attack "forged rungs": a fully trusted member writes all 16 rungs of a
// message and of its sketch. Only the first 8 count here: it is revoked, until a reporter of this
// site lists it. Later rungs are decided here. At other sites it is still revoked.
func TestForgedRungs(t *testing.T) {
	open := func(site string) *bloomdb.DB { return bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), site)) }
	a, b, c := open("a"), open("b"), open("c")
	text, near := ladderSet(1)
	m, like := wordy(1, text...), wordy(101, near...)
	b.Settle(map[signature.Signature]bool{m.Signatures[0]: true})
	for i := range layout.Rungs {
		if i == layout.Rungs-1 {
			b.Settle(map[signature.Signature]bool{m.Signatures[0]: false})
		}
		change := b.Revoke
		if i%2 == 0 {
			change = func(set signature.Set) error { return b.Report(set, layout.ClassOther) }
		}
		testenv.Check(t, change(m))
	}
	forged := bloomdbtest.Drain(t, b)
	bloomdbtest.Apply(t, a, forged...)
	bloomdbtest.Apply(t, c, forged...)
	for i, listed := range []bool{true, false, true, false, true, false, false} {
		if listed || i == 6 {
			mustReportSet(t, a, m)
		} else if err := a.Revoke(m); err != nil {
			t.Fatal(err)
		}
		for name, set := range map[string]signature.Set{"message": m, "near-duplicate": like} {
			if got := a.Judge(set).Listed; got != listed {
				t.Errorf("after %d changes here: %s listed %v", i+1, name, got)
			}
		}
	}
	bloomdbtest.Apply(t, c, bloomdbtest.Drain(t, a)...)
	if c.Judge(m).Listed || c.Judge(like).Listed {
		t.Error("listed at a third site")
	}
}

// The rungs of a member have a cap, like its reports. Further ones are rejected; its reports and
// revocations of other messages are not.
func TestLadderIsCapped(t *testing.T) {
	o := bloomdbtest.Options(t.TempDir(), "a")
	o.Members = wire.Members{"b": {MaxReports: 20}}
	a, b := bloomdbtest.Open(t, o), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "b"))
	for n := range 5 {
		alternate(t, b, n, layout.Rungs)
	}
	refused := map[layout.Kind]bool{}
	for _, d := range bloomdbtest.Drain(t, b) {
		body, err := sealer(b).DecodeDelta(d.Data)
		testenv.Check(t, err)
		if err := a.Apply(d.Data, peers.Skipped); errors.Is(err, wire.ErrCapped) {
			refused[body.Sections[0].Target.Kind] = true
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if len(refused) != 1 || !refused[layout.LadderFilter] {
		t.Errorf("rejected %v, want only the ladder", refused)
	}
}

// A full ladder rejects further changes of reported messages, but no other report.
func TestLadderIsFull(t *testing.T) {
	db := bloomdbtest.Open(t, withoutExchange(bloomdbtest.Options(t.TempDir(), "mx1")))
	full := false
	for n := 0; n < 200 && !full; n++ {
		for i := 0; i < layout.Rungs && !full; i++ {
			var err error
			if i%2 == 0 {
				err = db.Report(bloomdbtest.Message(n), layout.ClassOther)
			} else {
				err = db.Revoke(bloomdbtest.Message(n))
			}
			full = errors.Is(err, layout.ErrFull)
			if err != nil && !full {
				t.Fatal(err)
			}
		}
	}
	if !full {
		t.Fatal("the ladder is never full")
	}
	bloomdbtest.Report(t, db, 1000)
	bloomdbtest.Revoke(t, db, 1000)
	if err := db.Report(bloomdbtest.Message(1000), layout.ClassOther); !errors.Is(err, layout.ErrContested) || !errors.Is(err, layout.ErrFull) {
		t.Errorf("a change beyond the capacity: %v", err)
	}
}
