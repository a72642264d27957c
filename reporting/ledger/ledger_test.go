package ledger

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

func TestMain(m *testing.M) {
	if err := testenv.Models(30); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testenv.InMemory()
	goleak.VerifyTestMain(m)
}

var (
	begin = time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC) // a period begins here
	week  = 7 * 24 * time.Hour
	small = trust.Default()
	large = trust.Model{Quorum: 2, Newcomer: 0.5, Floor: 0.05, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}
	pair  = trust.Model{Quorum: 2, Newcomer: 1, Floor: 0.05, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}
)

func open(t testing.TB, m trust.Model) *Ledger {
	t.Helper()
	l, err := Open(Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: m, NoSync: true})
	testenv.Check(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// sign returns the signature with a given number.
func sign(kind signature.Kind, n int) (s signature.Signature) {
	s.Kind = kind
	binary.BigEndian.PutUint64(s.Digest[:], uint64(n)*0x9e3779b97f4a7c15)
	return s
}

// message returns the signatures of a text and a body.
func message(text, body int) signature.Set {
	return signature.Set{Signatures: []signature.Signature{sign(signature.KindText, text), sign(signature.KindBody, body)}}
}

type voice struct {
	t    testing.TB
	l    *Ledger
	at   time.Time
	trap bool
}

func (v voice) say(s Stance, who string, set signature.Set, anchors ...Anchors) Decision {
	v.t.Helper()
	period := begin.Add(v.at.Sub(begin).Truncate(week))
	d, err := v.l.Enter(Entry{Stance: s, Reporter: who, Trap: v.trap, At: v.at, Period: period, Set: set, Anchors: anchors})
	if err != nil {
		v.t.Fatal(err)
	}
	v.l.Settle(d)
	return d
}

func (v voice) wants(d Decision, a Action, parts int) {
	v.t.Helper()
	if d.Action != a || len(d.Set.Signatures) != parts {
		v.t.Errorf("action %d of %d signatures, want %d of %d (sum %v of %v)", d.Action, len(d.Set.Signatures), a, parts, d.Sum, d.Quorum)
	}
}

func (v voice) weight(who string) float64 {
	v.t.Helper()
	r, ok, err := v.l.Reporter(who, v.at)
	if err != nil || !ok {
		v.t.Fatal(ok, err)
	}
	return r.Weight.Float()
}

func TestOneIsEnoughByDefault(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	v.wants(v.say(Spam, "anna", message(1, 1)), List, 2)
	v.wants(v.say(Ham, "bob", message(1, 1)), Revoke, 2)
}

func TestQuorumTakesDistinctReporters(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for i := range 50 {
		v.at = begin.Add(time.Duration(i) * time.Minute)
		v.wants(v.say(Spam, "anna", message(1, i)), None, 0)
	}
	// Bob's copy has the same text and another body. Only the text has the quorum.
	v.wants(v.say(Spam, "bob", message(1, 1000)), List, 1)
	// One reporter alone cannot revoke it.
	v.wants(v.say(Ham, "carl", message(1, 1000)), None, 0)
	v.wants(v.say(Ham, "dora", message(1, 1000)), Revoke, 2)
}

func TestOwnReportTakenBack(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	v.say(Spam, "anna", message(1, 1))
	v.wants(v.say(Spam, "bob", message(1, 1)), List, 2)
	d := v.say(Ham, "anna", message(1, 1))
	v.wants(d, Revoke, 2) // it has lost its quorum
	if w := v.weight("anna"); w != 1 {
		t.Errorf("a reporter who revoked an own report weighs %v", w)
	}
	list, _, err := v.l.Reports(Query{Reporter: "anna", Limit: 10})
	if err != nil || len(list) != 2 || list[0].Stance != Ham || list[1].State != Withdrawn {
		t.Errorf("the trail is %+v, %v", list, err)
	}
}

func TestCountsOncePerMessage(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	first := v.say(Spam, "anna", message(1, 1))
	again := v.say(Spam, "anna", message(1, 1))
	if first.ID == 0 || again.ID != 0 {
		t.Errorf("reports %d and %d; want one and none", first.ID, again.ID)
	}
	v.wants(again, List, 2)
	v.at = begin.Add(week)
	if renewed := v.say(Spam, "anna", message(1, 1)); renewed.ID == 0 || renewed.Sum != 1000 {
		t.Errorf("in a new period: report %d, sum %v", renewed.ID, renewed.Sum)
	}
}

func TestReputation(t *testing.T) {
	v := voice{t: t, l: open(t, large), at: begin}
	// Anna and Bob report spam. Later reporters confirm them and earn nothing.
	for i := range 10 {
		for _, who := range []string{"anna", "bob", "carl", "dora", "later"} {
			v.say(Spam, who, message(i, i))
		}
	}
	if a, l := v.weight("anna"), v.weight("later"); a < 0.85 || l != 0.5 {
		t.Errorf("anna weighs %v, a reporter who always came last %v", a, l)
	}
	// Others revoke Mallory's reports.
	for i := range 10 {
		n := 100 + i
		v.say(Spam, "mallory", message(n, n))
		for _, who := range []string{"anna", "bob"} {
			v.say(Ham, who, message(n, n))
		}
		v.wants(v.say(Ham, "carl", message(n, n)), Revoke, 2)
	}
	if w := v.weight("mallory"); w > 0.2 {
		t.Errorf("mallory weighs %v", w)
	}
}

func TestRevocationClosesTheCase(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for _, who := range []string{"anna", "bob", "carl"} {
		v.say(Spam, who, message(1, 1))
	}
	v.say(Ham, "dora", message(1, 1))
	v.wants(v.say(Ham, "emil", message(1, 1)), Revoke, 2)
	// Earlier reports no longer count.
	v.at = begin.Add(week)
	d := v.say(Spam, "fritz", message(1, 1))
	v.wants(d, None, 0)
	if d.Revoked.IsZero() {
		t.Error("the decision does not contain the earlier revocation")
	}
	v.wants(v.say(Spam, "anna", message(1, 1)), List, 2)
}

func TestNearDuplicatesAddUp(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	anchors := func(hashes ...uint64) Anchors { return Anchors{Hashes: hashes, Need: 2} }
	varied := func(n int) signature.Set {
		set := message(n, n)
		set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
		return set
	}
	v.say(Spam, "anna", varied(1), anchors(1, 2, 3))
	v.wants(v.say(Spam, "bob", varied(2), anchors(3, 4, 5)), None, 0) // one common anchor is not enough
	d := v.say(Spam, "carl", varied(3), anchors(2, 3, 9))
	// Only Carl has reported this text: it is listed as a near-duplicate or not at all.
	v.wants(d, List, 0)
	if len(d.Set.Sketches) != 1 {
		t.Error("the sketch is not listed")
	}
	v.wants(v.say(Ham, "dora", varied(4), anchors(1, 2, 3)), None, 0)
	d = v.say(Ham, "emil", varied(5), anchors(2, 3, 4))
	v.wants(d, Revoke, 0)
	if len(d.Set.Sketches) != 1 {
		t.Error("the sketch is not revoked")
	}
}

func TestTrapAndOverride(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin, trap: true}
	v.wants(v.say(Spam, "trap:t1", message(1, 1)), List, 2)
	v.trap = false
	zero, three := 0.0, 3.0
	for name, weight := range map[string]*float64{"mallory": &zero, "boss": &three} {
		if _, err := v.l.SetWeight(name, weight, v.at); err != nil {
			t.Fatal(err)
		}
	}
	v.wants(v.say(Spam, "mallory", message(2, 2)), None, 0)
	v.wants(v.say(Spam, "boss", message(2, 2)), List, 2)
	// A reporter who reported before the administrator raised the weight can report once
	// more.
	v.wants(v.say(Spam, "clerk", message(3, 3)), None, 0)
	v.wants(v.say(Ham, "clerk", message(2, 2)), None, 0)
	if _, err := v.l.SetWeight("clerk", &three, v.at); err != nil {
		t.Fatal(err)
	}
	v.wants(v.say(Ham, "clerk", message(2, 2)), Revoke, 2)
	v.wants(v.say(Spam, "clerk", message(3, 3)), List, 2)
	if _, err := v.l.SetWeight("clerk", &zero, v.at); err != nil {
		t.Fatal(err)
	}
	v.wants(v.say(Spam, "clerk", message(3, 3)), None, 0) // but it is listed: a lower weight takes no report back; undo does
	if _, err := v.l.SetWeight("boss", nil, v.at); err != nil {
		t.Fatal(err)
	}
	if w := v.weight("boss"); w != 1 {
		t.Errorf("without an override the boss weighs %v", w)
	}
}

func TestWithdraw(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for i := range 450 { // several transactions
		v.say(Spam, "mallory", message(i, i))
	}
	v.say(Spam, "bob", message(7, 7))
	v.at = begin.Add(time.Hour)
	for _, u := range []Undo{{DryRun: true}, {DryRun: true, Limit: 450}, {DryRun: true, Limit: 100}, {Limit: 300}} {
		u.Reporter, u.Since = "mallory", begin
		sum, steps := Undone{}, 0
		for u.Before = 0; steps == 0 || u.Before > 0; steps++ {
			done, err := v.l.Withdraw(u)
			testenv.Check(t, err)
			sum.Reports, sum.Delisted, u.Before = sum.Reports+done.Reports, sum.Delisted+done.Delisted, done.Next
		}
		if want := (450 + u.Limit - 1) / max(u.Limit, 1); sum != (Undone{Reports: 450, Delisted: 1}) || u.Limit > 0 && steps != want {
			t.Errorf("%+v: %+v in %d steps, want %d", u, sum, steps, want)
		}
	}
	due, err := v.l.Due(0, 10)
	if err != nil || len(due) != 1 || due[0].Action != Revoke || len(due[0].Set.Signatures) != 2 {
		t.Errorf("due is %+v, %v", due, err)
	}
	if done, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin}); err != nil || done != (Undone{}) {
		t.Errorf("a second time: %+v, %v", done, err)
	}
}

func TestDueSurvivesUntilSettled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports.db")
	again := func() *Ledger {
		l, err := Open(Options{Path: path, Model: small})
		testenv.Check(t, err)
		return l
	}
	l := again()
	e := Entry{Reporter: "anna", At: begin, Period: begin, Class: 3, Set: message(1, 1)}
	if _, err := l.Enter(e); err != nil {
		t.Fatal(err)
	}
	l.Close()
	l = again()
	due, err := l.Due(0, 10)
	if err != nil || len(due) != 1 || due[0].Action != List || due[0].Class != 3 || len(due[0].Set.Signatures) != 2 {
		t.Fatalf("due is %+v, %v", due, err)
	}
	l.Settle(due[0])
	testenv.Check(t, l.Flush())
	if due, err := l.Due(0, 10); err != nil || len(due) != 0 {
		t.Errorf("after it was settled, due is %+v, %v", due, err)
	}
	l.Close()
	if _, err := l.Enter(e); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed ledger returned %v", err)
	}
}

func TestManyReportersOfOneMessage(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Model{Quorum: 100, Newcomer: 1, Floor: 1, Ceiling: 1, HalfLife: time.Hour}), at: begin}
	for i := range 99 {
		v.wants(v.say(Spam, fmt.Sprint("user", i), message(1, 1)), None, 0)
		v.wants(v.say(Spam, fmt.Sprint("user", i/2), message(1, 1)), None, 0)
	}
	v.wants(v.say(Spam, "last", message(1, 1)), List, 2)
	list, _, err := v.l.Reports(Query{Set: message(1, 1), Limit: 1000})
	if err != nil || len(list) != 100 {
		t.Errorf("the trail has %d reports, %v", len(list), err)
	}
	for i := range 100 {
		if d := v.say(Ham, fmt.Sprint("other", i), message(1, 1)); (d.Action == Revoke) != (i == 99) {
			t.Fatalf("revocation %d: action %d", i+1, d.Action)
		}
	}
	v.wants(v.say(Spam, "user7", message(1, 1)), None, 0)
}

func TestExpire(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for i := range 300 {
		v.say(Spam, "anna", message(i, i))
	}
	expire := func(at time.Time) {
		for {
			more, err := v.l.Expire(at)
			testenv.Check(t, err)
			if !more {
				return
			}
		}
	}
	expire(begin.Add(34 * 24 * time.Hour))
	if s, err := v.l.Status(); err != nil || s.Reports != 300 {
		t.Fatalf("%+v, %v", s, err)
	}
	v.at = begin.Add(36 * 24 * time.Hour)
	v.say(Spam, "bob", message(1000, 1000))
	expire(v.at)
	if s, err := v.l.Status(); err != nil || s.Reports != 1 || s.Reporters != 2 {
		t.Fatalf("%+v, %v", s, err)
	}
	// Anna's report has expired. Bob's alone does not list the message.
	v.wants(v.say(Spam, "bob", message(7, 7)), None, 0)
	expire(v.at.Add(301 * 24 * time.Hour))
	expire(v.at.Add(301 * 24 * time.Hour))
	s, err := v.l.Status()
	if err != nil || s.Reports != 0 || s.Reporters != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if err := v.l.view(func(tx *txn) error {
		for name, b := range map[string]int{"tallies": tx.Tallies.Stats().KeyN, "by": tx.By.Stats().KeyN, "names": tx.Names.Stats().KeyN} {
			if b != 0 {
				t.Errorf("%d %s are left", b, name)
			}
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// TestClockAhead: reports made while the clock was a year ahead for an hour expire with the
// reports from before, and do not keep others from expiring.
func TestClockAhead(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	v.say(Spam, "anna", message(0, 0))
	for i, at := range []time.Duration{time.Hour, 365 * 24 * time.Hour, 365*24*time.Hour + time.Minute, 2 * time.Hour, 20 * 24 * time.Hour} {
		v.at = begin.Add(at)
		v.say(Spam, "anna", message(1+i, 1+i))
	}
	for _, c := range []struct {
		at   time.Duration
		want int64
	}{{34, 6}, {36, 1}, {56, 0}} {
		for more := true; more; {
			var err error
			if more, err = v.l.Expire(begin.Add(c.at * 24 * time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		if s, err := v.l.Status(); err != nil || s.Reports != c.want {
			t.Errorf("after %d days %d reports are left, %v; want %d", c.at, s.Reports, err, c.want)
		}
	}
}

func TestFull(t *testing.T) {
	l, err := Open(Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: small, Max: 1, NoSync: true})
	testenv.Check(t, err)
	defer l.Close()
	enter := func(n int) error {
		_, err := l.Enter(Entry{Reporter: "anna", At: begin, Period: begin, Set: message(n, n)})
		return err
	}
	if err := errors.Join(enter(1), enter(1)); err != nil {
		t.Error(err)
	}
	if err := enter(2); !errors.Is(err, ErrFull) {
		t.Errorf("beyond its limit: %v", err)
	}
}

func TestConcurrentReportsOfOneMessage(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Model{Quorum: 64, Newcomer: 1, Floor: 1, Ceiling: 1, HalfLife: time.Hour}), at: begin}
	var all sync.WaitGroup
	var mu sync.Mutex
	listed := 0
	for i := range 64 {
		all.Go(func() {
			d := v.say(Spam, fmt.Sprint(i), message(1, 1))
			mu.Lock()
			defer mu.Unlock()
			if d.Action == List {
				listed++
			}
		})
	}
	all.Wait()
	if listed != 1 {
		t.Errorf("%d of 64 decisions list the message, want the last one", listed)
	}
}

// TestRelistingAfterUndo: after an undo, other reporters reach the quorum again in the same
// period. The message is listed again, and the reporter who alone had revoked it is refuted.
func TestRelistingAfterUndo(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	v.say(Spam, "anna", message(1, 1))
	v.say(Spam, "mallory", message(1, 1))
	v.say(Ham, "carl", message(1, 1))
	if _, err := v.l.Withdraw(Undo{Reporter: "mallory", Since: begin, At: v.at}); err != nil {
		t.Fatal(err)
	}
	v.wants(v.say(Spam, "dora", message(1, 1)), List, 2)
	if list, _, err := v.l.Reports(Query{Reporter: "carl", Limit: 1}); err != nil || list[0].State != Refuted {
		t.Errorf("carl's revocation is %+v, %v", list, err)
	}
}

// TestRevocationInAdvance: an early revocation has no effect until there is a report to revoke,
// refutes nobody, and counts from then on.
func TestRevocationInAdvance(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	for _, who := range []string{"anna", "bob", "carl"} {
		if d := v.say(Ham, who, message(1, 1)); d.Action != None || !d.Idle {
			t.Errorf("%s revokes an unreported message: %+v", who, d)
		}
	}
	v.say(Spam, "dora", message(1, 1))
	v.wants(v.say(Spam, "emil", message(1, 1)), List, 2)
	v.wants(v.say(Ham, "anna", message(1, 1)), None, 0) // the early revocations of bob and carl do not count
	d := v.say(Ham, "bob", message(1, 1))
	v.wants(d, Revoke, 2)
	if d.Idle {
		t.Error("the revocation is marked as without effect")
	}
	for who, want := range map[string]float64{"anna": 0, "bob": 0, "dora": trust.Refutation, "emil": trust.Refutation} {
		if r, _, err := v.l.Reporter(who, v.at); err != nil || r.Reputation.Refuted != want {
			t.Errorf("%s is refuted %v times, want %v", who, r.Reputation.Refuted, want)
		}
	}
	// A message listed by reports of other sites can be revoked, even if nobody reported it
	// here.
	v.at = begin.Add(time.Minute)
	for i, who := range []string{"anna", "bob"} {
		d, err := v.l.Enter(Entry{Stance: Ham, Reporter: who, At: v.at, Period: begin, Set: message(2, 2), Listed: true})
		if err != nil || d.Idle || (d.Action == Revoke) != (i == 1) {
			t.Errorf("%s revokes a listing of another site: %+v, %v", who, d, err)
		}
	}
}
