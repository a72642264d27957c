package desk_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// rungs is the maximum number of alternating reports and revocations of a message in a period, by
// reporters (bloomdb/FORMAT.md, Ladder).
const rungs = 14

// sharedRungs is the number of those on which sites agree.
const sharedRungs = 8

// TestJunkInboxJunk: people change their minds until the period has no rung left. The last
// answer says until when, and that an administrator can settle it.
func TestJunkInboxJunk(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000 // otherwise the reporter's share is used up first
	s := desktest.Open(t, o, trust.Default())
	m := desktest.Letter(1, 0)
	for i := range rungs {
		user := i / 4
		if i >= 8 { // after the fourth revocation, each takes another reporter
			user = i / 2
		}
		if i%2 == 0 {
			s.MustReport(fmt.Sprint("user", user), m)
		} else if _, err := s.Revoke(desk.Report{Set: m, Reporter: fmt.Sprint("user", user), Origin: desk.Origin{UID: 1000 + user, Known: true}}); err != nil {
			t.Fatal(err)
		}
		s.WantListed(fmt.Sprint("change ", i), m, i%2 == 0)
		s.WantListed(fmt.Sprint("near-duplicate, change ", i), desktest.Letter(1, 3), i%2 == 0)
	}
	last := s.MustReport("anna", m)
	if last.Evidence.Listed || !last.RevokedUntil.Equal(time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC)) || !strings.Contains(last.Holds, "administrator can settle it") {
		t.Errorf("beyond the last rung: %+v", last)
	}
	if _, err := s.Settle(desk.Report{Set: m}, desk.SettleSpam, desk.Author{Name: "root"}); err != nil {
		t.Fatal(err)
	}
	s.WantListed("settled", m, true)
	s.WantListed("a near-duplicate of the settled one", desktest.Letter(1, 3), true)
	s.MustRevoke("anna", desktest.Letter(1, 3))
	s.WantListed("settled, and a near-duplicate revoked", m, true)
}

// A report or a revocation is not promised to other sites once they no longer go by it, whether a
// reporter makes it or an administrator settles it.
func TestWhatOtherSitesFollow(t *testing.T) {
	j, m := join(t, trust.Default()), desktest.Letter(1, 0)
	a, b := j.sites["a"], j.sites["b"]
	const follow, alone = "at other sites when they receive the change", "other sites may not follow"
	for i := range sharedRungs + 1 {
		o, want := desk.Outcome{}, follow
		if i == sharedRungs {
			want = alone
		}
		if i%2 == 0 {
			o = a.MustReport(fmt.Sprint("user", i/2), m)
		} else {
			o = a.MustRevoke(fmt.Sprint("user", i/2), m)
		}
		j.exchange("a", "b")
		if listed := i%2 == 0 && i < sharedRungs; !strings.Contains(o.Holds, want) || b.DB.Judge(m).Listed != listed {
			t.Errorf("change %d: %q; at the other site: listed %v", i, o.Holds, !listed)
		}
	}
	for as, is := range map[string]string{desk.SettleWanted: "It is not spam here", desk.SettleSpam: "It is spam here"} {
		if o, err := a.Settle(desk.Report{Set: m}, as, desk.Author{Name: "root"}); err != nil || !strings.HasPrefix(o.Holds, is) || !strings.Contains(o.Holds, alone) {
			t.Errorf("settled as %s: %q (%v)", as, o.Holds, err)
		}
		j.exchange("a", "b")
		b.WantListed("settled elsewhere as "+as, m, false)
	}
}

// joined is two sites that exchange reports.
type joined struct {
	*testing.T
	sites map[string]*desktest.Stage
}

func join(t *testing.T, m trust.Model) joined {
	j := joined{t, map[string]*desktest.Stage{}}
	for _, name := range []string{"a", "b"} {
		o := desktest.Options(t.TempDir())
		o.Site, o.Exchange = name, true
		j.sites[name] = desktest.OpenJoined(t, o, m)
	}
	return j
}

// exchange transfers all data of one site to the other.
func (j joined) exchange(from, to string) {
	j.Helper()
	db := j.sites[from].DB
	if err := db.Resume(db.Head()); err != nil {
		j.Fatal(err)
	}
	for {
		d, ok, err := db.NextDelta(true)
		if err != nil {
			j.Fatal(err)
		}
		if !ok {
			break
		}
		if err := db.Published(d); err != nil {
			j.Fatal(err)
		}
		if err := j.sites[to].DB.Apply(d.Data, bloomdb.Next); err != nil {
			j.Fatal(err)
		}
	}
	if err := j.sites[to].ActOnWaiting(); err != nil {
		j.Fatal(err)
	}
}

// TestFirstWord is the attack "first word": an attacker revokes a spam that nobody has reported
// yet. Later reports still list it, at both sites.
func TestFirstWord(t *testing.T) {
	j := join(t, trust.Default())
	a, b, m := j.sites["a"], j.sites["b"], desktest.Letter(1, 0)
	if o := b.MustRevoke("mallory", m); !o.Idle || o.Waits.IsZero() {
		t.Errorf("the early revocation: %+v", o)
	}
	j.exchange("b", "a")
	a.MustReport("anna", m)
	a.WantListed("reported at the other site", m, true)
	a.WantListed("a near-duplicate there", desktest.Letter(1, 5), true)
	j.exchange("a", "b")
	b.WantListed("where the word waited", m, false)
	j.exchange("b", "a")
	a.WantListed("revoked once", m, false)
	b.MustReport("bob", m)
	b.WantListed("reported there, too", m, true)
	j.exchange("b", "a")
	for _, s := range []*desktest.Stage{a, b} {
		s.WantListed("after two reports", m, true)
		s.WantListed("a near-duplicate", desktest.Letter(1, 5), true)
	}
}

// TestWaitingEnds: a pending revocation has no effect once its reporter has reported the
// message, it has expired, or the message was reported here.
func TestWaitingEnds(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(j joined, b *desktest.Stage, m signature.Set)
		listed    bool
	}{
		"it acts": {func(joined, *desktest.Stage, signature.Set) {}, false},
		"after a start": {func(j joined, b *desktest.Stage, _ signature.Set) {
			b.Restart()
			if err := b.LoadWaiting(); err != nil {
				j.Fatal(err)
			}
		}, false},
		"the reporter reported it": {func(_ joined, b *desktest.Stage, m signature.Set) { b.MustReport("mallory", m) }, true},
		"another one reported it":  {func(_ joined, b *desktest.Stage, m signature.Set) { b.MustReport("bob", m) }, true},
		"it was undone": {func(j joined, b *desktest.Stage, _ signature.Set) {
			if _, err := b.Undo(api.UndoRequest{By: "mallory", Since: desktest.Noon.Add(-time.Hour)}, desk.Author{}); err != nil {
				j.Fatal(err)
			}
		}, true},
		"its time is over": {func(j joined, b *desktest.Stage, _ signature.Set) {
			b.Clock.Add(3 * 3600)
			if err := b.ActOnWaiting(); err != nil {
				j.Fatal(err)
			}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			j, m := join(t, trust.Default()), desktest.Letter(1, 0)
			b := j.sites["b"]
			b.MustRevoke("mallory", m)
			c.meanwhile(j, b, m)
			j.sites["a"].MustReport("anna", m)
			j.exchange("a", "b")
			j.sites["b"].WantListed("the listing of the other site", m, c.listed)
		})
	}
}

// TestWaitingIsBounded: early revocations of one reporter, one after the other or at once, do not
// use up the room of others.
func TestWaitingIsBounded(t *testing.T) {
	j := join(t, trust.Default())
	for i := range 10 {
		o := j.sites["b"].MustRevoke("mallory", desktest.Letter(i, 0))
		if o.Waits.IsZero() || !o.Idle {
			t.Errorf("revocation %d: %+v", i, o)
		}
	}
	var all sync.WaitGroup
	var waits atomic.Int64
	for i := range 32 {
		all.Go(func() {
			o, err := j.sites["b"].Revoke(desk.Report{Set: desktest.Letter(10+i, 0), Reporter: "mallory"})
			if err != nil || !o.Idle {
				t.Errorf("%+v, %v", o, err)
			}
			if !o.Waits.IsZero() {
				waits.Add(1)
			}
		})
	}
	all.Wait()
	if waits.Load() != 6 {
		t.Errorf("%d more revocations wait, want 6", waits.Load())
	}
	if o := j.sites["b"].MustRevoke("mallory", desktest.Letter(98, 0)); !o.Waits.IsZero() {
		t.Errorf("the 17th: %+v", o)
	}
	if o := j.sites["b"].MustRevoke("anna", desktest.Letter(99, 0)); o.Waits.IsZero() {
		t.Errorf("another reporter's: %+v", o)
	}
}

// Early revocations of one program under any number of names do not use up the room of others.
func TestWaitingOfOneProgramIsBounded(t *testing.T) {
	j, m := join(t, trust.Default()), desktest.Letter(1, 0)
	b := j.sites["b"]
	program := desk.Origin{UID: 1000, Known: true}
	b.FillWaiting(program.String(), 7_499)
	for i, waits := range []bool{true, false} {
		o, err := b.Revoke(desk.Report{Set: desktest.Letter(10+i, 0), Reporter: "mallory", Origin: program})
		if err != nil || o.Waits.IsZero() == waits {
			t.Errorf("revocation %d of one program: %+v, %v", 7_500+i, o, err)
		}
	}
	if o := b.MustRevoke("anna", m); o.Waits.IsZero() {
		t.Errorf("another reporter's: %+v", o)
	}
	j.sites["a"].MustReport("bob", m)
	j.exchange("a", "b")
	b.WantListed("the listing of the other site", m, false)
}

// A message of the ledger is counted like the mail itself, so that settling it tells bulk from
// clean.
func TestSetOfIsCounted(t *testing.T) {
	s, m := desktest.New(t, trust.Default(), 0), desktest.Letter(1, 0)
	if err := s.DB.Count(m, 25); err != nil {
		t.Fatal(err)
	}
	s.MustReport("anna", m)
	list, err := s.Trail(api.TrailRequest{}, signature.Set{})
	if err != nil || len(list.Reports) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	set, err := s.SetOf(list.Reports[0].ID)
	if got := s.DB.Judge(set).Count; err != nil || got != 25 {
		t.Errorf("seen %d times (%v), want 25", got, err)
	}
}

// TestSettle: reports and revocations here or at other sites do not change a decision of an
// administrator. Near-duplicates follow the filters, and undo withdraws the decision.
func TestSettle(t *testing.T) {
	for as, isSpam := range map[string]bool{desk.SettleSpam: true, desk.SettleWanted: false, desk.SettleNever: false} {
		t.Run(as, func(t *testing.T) {
			j, m := join(t, trust.Default()), desktest.Letter(1, 0)
			a, b := j.sites["a"], j.sites["b"]
			a.MustReport("anna", m)
			a.MustRevoke("bob", m)
			contested, err := a.Contested(api.ContestedRequest{})
			if err != nil || len(contested.Messages) != 1 || fmt.Sprint(contested.Messages[0].Reporters, contested.Messages[0].Revokers) != "[anna] [bob]" {
				t.Fatalf("%+v, %v", contested, err)
			}
			settle(t, a, as)
			a.WantListed("settled", m, isSpam)
			j.exchange("a", "b")
			b.WantListed("settled at another site", m, isSpam)
			for _, who := range []string{"anna", "bob", "carl", "dora"} {
				if _, err := a.Report(desk.Report{Set: m, Reporter: who}); (err != nil) != (as == desk.SettleNever) {
					t.Fatal(err)
				}
				a.WantListed("reported by "+who, m, isSpam)
				o := a.MustRevoke(who, m)
				if a.WantListed("revoked by "+who, m, isSpam); o.Settled != isSpam {
					t.Errorf("revoked by %s: %+v", who, o)
				}
			}
			j.exchange("a", "b")
			b.MustReport("emil", m)
			b.MustRevoke("fritz", m)
			if !isSpam {
				b.MustReport("emil", m)
			}
			j.exchange("b", "a")
			a.WantListed("after words at another site", m, isSpam)
			a.Restart()
			a.WantListed("after a start", m, isSpam)
		})
	}
}

// TestWordsAtOnce: in whatever order concurrent reports and revocations arrive, the filters end
// in agreement with the ledger.
func TestWordsAtOnce(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	m := desktest.Set("body", "text")
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			r := desk.Report{Set: m, Reporter: fmt.Sprint("user", i)}
			do := s.Report
			if i%2 == 1 {
				do = s.Revoke
			}
			if _, err := do(r); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	last, _, err := s.Ledger.Reports(ledger.Query{Set: m, Limit: 1})
	if err != nil || len(last) != 1 {
		t.Fatal(last, err)
	}
	isSpam := last[0].Stance == ledger.Spam
	if last[0].Idle { // the first entry was a revocation
		isSpam = false
	}
	s.WantListed("after the last word", m, isSpam)
}

// TestCrashBetweenWords: the ledger contains some reports and revocations, and a crash left
// none, one or two of them in the filters. Carrying out the due decision makes the filters agree
// with the last one.
func TestCrashBetweenWords(t *testing.T) {
	for words := 1; words <= 4; words++ {
		for carried := range words {
			s := desktest.New(t, trust.Default(), 0)
			m := desktest.Letter(1, 0)
			for i := range words {
				stance := []ledger.Stance{ledger.Spam, ledger.Ham}[i%2]
				r := desk.Report{Set: m, Reporter: fmt.Sprint("user", i)}
				switch {
				case i >= carried:
					e := s.Entry(stance, r, m, s.DB.Now())
					e.Listed = true
					if _, err := s.Ledger.Enter(e); err != nil {
						t.Fatal(err)
					}
				case stance == ledger.Spam:
					s.MustReport(r.Reporter, m)
				default:
					s.MustRevoke(r.Reporter, m)
				}
			}
			testenv.Check(t, s.CarryOutAll())
			s.WantListed(fmt.Sprintf("%d words, %d in the filters", words, carried), m, words%2 == 1)
			s.WantListed(fmt.Sprintf("near-duplicate, %d words, %d in the filters", words, carried), desktest.Letter(1, 3), words%2 == 1)
		}
	}
}

// A daemon that is killed after it has written a decision to the filters, and before it has
// recorded that, carries the decision out again. The repeated decision does not override a later
// report or revocation of another site.
func TestDecisionOfACrashIsNoNewWord(t *testing.T) {
	j := join(t, trust.Default())
	a, b := j.sites["a"], j.sites["b"]
	m := desktest.Letter(1, 0)
	decision, err := a.Ledger.Enter(a.Entry(ledger.Spam, desk.Report{Set: m, Reporter: "anna"}, m, a.DB.Now()))
	testenv.Check(t, err)
	testenv.Check(t, a.DB.Report(decision.Set, bloomdb.ClassOther))
	j.exchange("a", "b")
	b.MustRevoke("bert", m)
	j.exchange("b", "a")
	a.WantListed("revoked at the other site", m, false)
	testenv.Check(t, a.CarryOutAll())
	a.WantListed("carried out again", m, false)
	b.MustReport("carla", m)
	j.exchange("b", "a")
	a.WantListed("a new report", m, true)
}

// Administrators who settle several messages at once, as settle does with a folder, settle all of them.
func TestSettleManyAtOnce(t *testing.T) {
	o := desktest.Options(t.TempDir())
	o.Reports.Capacity = 100_000
	s := desktest.Open(t, o, trust.Default())
	for round := range testenv.Rounds(10) {
		var all sync.WaitGroup
		message := func(i int) signature.Set {
			return desktest.Set(fmt.Sprint("body ", round, i), fmt.Sprint("text ", round, i))
		}
		for i := range 8 {
			all.Go(func() {
				if _, err := s.Settle(desk.Report{Set: message(i)}, desk.SettleWanted, desk.Author{Name: "root"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		for i := range 8 {
			testenv.Check(t, s.DB.Report(message(i), bloomdb.ClassOther)) // as another site's report does
			s.WantListed(fmt.Sprintf("round %d, message %d", round, i), message(i), false)
		}
	}
}

// An administrator who settles the message that the list shows does not settle another one that a reporter
// names with it, by an invented message or by a real one that carries a file of it.
func TestSettleOfOthersParts(t *testing.T) {
	newsletter, spam := desktest.Letter(1, 0), desktest.Letter(2, 0)
	file := desktest.Set("body", "text", "file").Signatures[2]
	invented, carrying := spam, newsletter
	invented.Signatures = append(newsletter.Signatures[:1:1], spam.Signatures[1:]...)
	carrying.Signatures = append(slices.Clone(newsletter.Signatures), file)
	withFile := spam
	withFile.Signatures = append(slices.Clone(spam.Signatures), file)
	for name, set := range map[string]signature.Set{"invented": invented, "with a file": carrying} {
		for _, isJudged := range []bool{false, true} {
			t.Run(fmt.Sprint(name, isJudged), func(t *testing.T) {
				s := desktest.New(t, trust.Default(), 0)
				list := judged.New(desktest.Noon, judged.MaxMemory)
				s.Desk = desk.New(s.DB, s.Ledger, desk.Options{Judged: list})
				if isJudged {
					list.Add(judged.Message{Set: newsletter})
					list.Add(judged.Message{Set: carrying})
				}
				o := s.MustReport("mallory", set)
				s.MustRevoke("bert", newsletter)
				s.MustReport("mallory", set)
				trail, err := s.Trail(api.TrailRequest{}, set)
				if err != nil || len(trail.Reports) == 0 || !o.Evidence.Listed {
					t.Fatalf("%+v, %v", trail, err)
				}
				found, err := s.SetOf(trail.Reports[0].ID)
				if isJudged != (err == nil) || !isJudged && !errors.Is(err, desk.ErrAmbiguous) {
					t.Fatalf("%+v, %v", found, err)
				}
				if err == nil {
					if _, err := s.Settle(desk.Report{Set: found}, desk.SettleWanted, desk.Author{Name: "root"}); err != nil {
						t.Fatal(err)
					}
					s.WantListed("the newsletter", newsletter, false)
				}
				s.MustReport("carl", withFile)
				s.WantListed("the spam", spam, true)
				s.WantListed("other mail with its file", signature.Set{Signatures: []signature.Signature{file}}, true)
			})
		}
	}
}

// A short message has no sketch. One that its reporter names with it is not settled with it.
func TestSettleOfInventedSketch(t *testing.T) {
	newsletter, spam := desktest.Letter(1, 0), desktest.Set("body", "text")
	s := desktest.New(t, trust.Default(), 0)
	list := judged.New(desktest.Noon, judged.MaxMemory)
	s.Desk = desk.New(s.DB, s.Ledger, desk.Options{Judged: list})
	list.Add(judged.Message{Set: spam})
	invented := spam
	invented.Sketches = newsletter.Sketches
	s.MustReport("mallory", invented)
	s.MustRevoke("mallory", invented)
	trail, err := s.Trail(api.TrailRequest{}, spam)
	if err != nil || len(trail.Reports) == 0 {
		t.Fatalf("%+v, %v", trail, err)
	}
	found, err := s.SetOf(trail.Reports[0].ID)
	if err != nil || len(found.Sketches) > 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := s.Settle(desk.Report{Set: found}, desk.SettleSpam, desk.Author{Name: "root"}); err != nil {
		t.Fatal(err)
	}
	s.WantListed("the spam", spam, true)
	s.WantListed("the newsletter", newsletter, false)
}
