package ledger

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/ledger/salvage"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// One byte is flipped, at each of 200 places of the file and at 200 more in its page headers.
// The file opens, or Open rejects it and a repair works. The process never ends, and reports can
// be made afterwards in both cases.
func TestEveryFlippedByte(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	good := filled(t)
	head := headOf(t, good)
	rng := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	page, pages := int(head.page), int(head.pages) // the rest of the file is unused
	var places []int
	for i := range 200 {
		places = append(places, i*(page*pages-1)/199)
		places = append(places, rng.IntN(pages)*page+rng.IntN(96))
	}
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: pair, NoSync: true}
	refused := 0
	for _, at := range places {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		testenv.Check(t, os.WriteFile(path, bad, 0o600))
		l, err := Open(o)
		if errors.Is(err, ErrDamaged) || errors.Is(err, ErrVersion) {
			refused++
			l = repaired(t, o, bad, at)
		} else if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		v := voice{t: t, l: l, at: begin}
		if d := v.say(Spam, "carl", message(7, 7)); d.Action == Revoke {
			t.Errorf("byte %d: a report led to a revocation", at)
		}
		if err := l.Close(); err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
	}
	t.Logf("%d of %d refused and repaired", refused, len(places))
	if refused == 0 {
		t.Error("no damage was found")
	}
}

// repaired repairs a file and opens it.
func repaired(t *testing.T, o Options, bad []byte, at int) *Ledger {
	t.Helper()
	done, err := Repair(o)
	if err != nil || len(done.Faults) == 0 {
		t.Fatalf("byte %d: repair: %+v, %v", at, done, err)
	}
	if kept, err := os.ReadFile(done.Damaged); err != nil || !bytes.Equal(kept, bad) {
		t.Errorf("byte %d: the damaged file is not kept: %v", at, err)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatalf("byte %d: after the repair of %v: %v", at, done.Faults, err)
	}
	if err := l.Check(); err != nil {
		t.Errorf("byte %d: after the repair of %v: %v", at, done.Faults, err)
	}
	if done.Reports < 100 { // of 200: at most half of them depend on one page
		t.Errorf("byte %d: %d of 200 reports are left after %v", at, done.Reports, done.Faults)
	}
	return l
}

// With a share that does not decode, no report of its party could be entered. So the start is refused, and a repair
// leaves the share out.
func TestRepairOfShares(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: pair, NoSync: true}
	enter := func(i int) error {
		l, err := Open(o)
		if err != nil {
			return err
		}
		_, err = l.Enter(Entry{Stance: Spam, Reporter: "anna", Origin: "unix:997", At: begin, Period: begin, Set: message(i, i)})
		return errors.Join(err, l.Close())
	}
	testenv.Check(t, enter(1))
	for i, party := range record.PartiesOf("anna", "unix:997") {
		db, err := bolt.Open(path, 0o600, nil)
		testenv.Check(t, err)
		testenv.Check(t, db.Update(func(tx *bolt.Tx) error {
			b := tx.Bucket(buckets.Shares)
			return b.Put(party.Key(), append(bytes.Clone(b.Get(party.Key())), 0))
		}))
		testenv.Check(t, db.Close())
		if err := enter(2 + i); !errors.Is(err, record.ErrDamaged) {
			t.Errorf("with the damaged share of %s: %v", party, err)
		}
		if done, err := Repair(o); err != nil || len(done.Faults) != 1 {
			t.Errorf("repair of the share of %s: %+v, %v", party, done, err)
		}
		testenv.Check(t, enter(2+i))
		if _, err := salvage.Check(path); err != nil {
			t.Errorf("after the repair of the share of %s: %v", party, err)
		}
	}
}

// A repair does not change an undamaged file.
// A flipped bit in a page of the buckets' names, numbers and small contents, at each place in a soak.
func TestRepairOfBuckets(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	good := filled(t)
	size := int(headOf(t, good).page)
	path := filepath.Join(t.TempDir(), "reports.db")
	flip := func(at, bit int) {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << bit
		testenv.Check(t, os.WriteFile(path, bad, 0o600))
		if _, err := Repair(Options{Path: path, Model: pair, NoSync: true}); err != nil {
			t.Errorf("page %d, byte %d, bit %d: %v", at/size, at%size, bit, err)
		}
	}
	stride := 101
	if testenv.Soak() {
		stride = 1
	}
	flipped := 0
	for page := 0; page < len(good); page += size {
		name := bytes.LastIndex(good[page:page+size], []byte("reporters"))
		if name < 0 {
			continue
		}
		for bit := range 8 {
			flip(page+name+len("reporters")+8+4, bit) // the next number, in the upper half
		}
		for i := 0; i < 8*1000; i += stride {
			flip(page+i/8, i%8)
			flipped++
		}
	}
	if flipped == 0 {
		t.Error("no page has the names")
	}
}

func TestRepairLeavesSoundFile(t *testing.T) {
	good := filled(t)
	path := filepath.Join(t.TempDir(), "reports.db")
	testenv.Check(t, os.WriteFile(path, good, 0o600))
	done, err := Repair(Options{Path: path, Model: pair})
	if err != nil || len(done.Faults) > 0 || done.Reports != 200 {
		t.Errorf("repair: %+v, %v", done, err)
	}
	if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, good) {
		t.Errorf("the file has changed: %v", err)
	}
	names, _ := filepath.Glob(path + "*")
	if len(names) != 1 {
		t.Errorf("files %v", names)
	}
}

// Standing returns the listed messages, one entry for each report, and the revocations.
func TestStanding(t *testing.T) {
	l := open(t, pair)
	v := voice{t: t, l: l, at: begin}
	for _, name := range []string{"anna", "bob"} {
		v.say(Spam, name, message(1, 1))
		v.say(Spam, name, message(2, 2))
	}
	v.say(Spam, "anna", message(3, 3)) // no quorum
	v.say(Ham, "carl", message(2, 2))
	v.say(Ham, "dora", message(2, 2))
	listed, revoked := map[string]int{}, map[string]int{}
	err := l.Standing(func(s Standing) error {
		id := s.Set.Signatures[0].ID()
		if s.Revoked {
			revoked[id]++
		} else {
			listed[id]++
		}
		if s.At.IsZero() {
			t.Errorf("%+v has no time", s)
		}
		return nil
	})
	id := func(n int) string { return message(n, n).Signatures[0].ID() }
	if err != nil || listed[id(1)] != 2 || listed[id(2)] != 0 || listed[id(3)] != 0 || revoked[id(2)] == 0 || revoked[id(1)] != 0 {
		t.Errorf("listed %v, revoked %v, %v", listed, revoked, err)
	}
}

// Each part of a message is revoked at its own time. Otherwise a text that was revoked last week would be
// revoked this week, over a later word of another site, because its attachment was revoked with another text.
func TestStandingOfPartsRevokedLater(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Default()), at: begin}
	say := func(set signature.Set) time.Time {
		v.say(Spam, "anna", set)
		v.say(Ham, "bob", set)
		return v.at
	}
	want := map[string]time.Time{message(1, 3).Signatures[0].ID(): say(message(1, 3))}
	v.at = begin.Add(week)
	want[message(2, 3).Signatures[1].ID()] = say(message(2, 3))
	testenv.Check(t, v.l.Standing(func(s Standing) error {
		for _, part := range s.Set.Signatures {
			if at, ok := want[part.ID()]; ok && (!s.Revoked || !s.At.Equal(at)) {
				t.Errorf("%s: revoked %v at %s, want %s", part.ID(), s.Revoked, s.At, at)
			}
		}
		return nil
	}))
}

// A contested message has its turns, each the first of successive statements of one kind; one that nobody
// contradicted has none, and neither has any with a quorum above 1.
func TestStandingHasTurns(t *testing.T) {
	for _, c := range []struct {
		name string
		rule trust.Model
		said []string // by whom, in capitals for a revocation
		want []bool   // whether each turn is a revocation
	}{
		{"contested", trust.Default(), []string{"anna", "bob", "CARL", "DORA", "anna", "ANNA"}, []bool{false, true, false, true}},
		{"listed again", trust.Default(), []string{"anna", "CARL", "bob"}, []bool{false, true, false}},
		{"not contested", trust.Default(), []string{"anna", "bob"}, nil},
		{"quorum of two", pair, []string{"anna", "bob", "CARL", "DORA", "anna", "bob"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := voice{t: t, l: open(t, c.rule), at: begin}
			for _, name := range c.said {
				stance := Spam
				if name == strings.ToUpper(name) {
					stance = Ham
				}
				v.at = v.at.Add(time.Minute)
				v.say(stance, strings.ToLower(name), message(1, 1))
			}
			testenv.Check(t, v.l.Standing(func(s Standing) error {
				var got []bool
				turns := s.Turns[s.Set.Signatures[0]]
				for i, turn := range turns {
					if got = append(got, turn.Revoked); i > 0 && turn.At.Before(turns[i-1].At) {
						t.Errorf("turns %+v are not in order", turns)
					}
				}
				if !slices.Equal(got, c.want) {
					t.Errorf("turns %v, want %v", got, c.want)
				}
				return nil
			}))
		})
	}
}

// A text that has lost its quorum by an undo stays listed while its sketch has the quorum. A repair does not
// revoke it.
func TestStandingOfTextBesideNearDuplicates(t *testing.T) {
	v := voice{t: t, l: open(t, pair), at: begin}
	anchors := Anchors{Hashes: []uint64{1, 2, 3}, Need: 2}
	v.say(Spam, "anna", near(1), anchors)
	v.say(Spam, "bob", near(1), anchors)
	v.say(Spam, "carl", near(2), anchors)
	_, err := v.l.Withdraw(Undo{Reporter: "bob", Since: begin, At: v.at.Add(time.Hour)})
	testenv.Check(t, err)
	due, err := v.l.Due(0, 10)
	if err != nil || len(due) > 0 {
		t.Errorf("due: %+v, %v", due, err)
	}
	testenv.Check(t, v.l.Standing(func(s Standing) error {
		if s.Revoked {
			t.Errorf("%+v", s)
		}
		return nil
	}))
}

// Each signature has its own turns: copies of a text have different bodies. Words with less weight than the
// quorum are no turns.
func TestTurnsOfCopies(t *testing.T) {
	v := voice{t: t, l: open(t, trust.Default()), at: begin}
	say := func(s Stance, who string, set signature.Set) {
		v.at = v.at.Add(time.Minute)
		v.say(s, who, set)
	}
	half := 0.5
	_, err := v.l.SetWeight("dora", &half, v.at)
	testenv.Check(t, err)
	say(Spam, "anna", message(1, 1))
	say(Ham, "carl", message(1, 2))
	say(Spam, "bob", message(1, 3))
	say(Ham, "dora", message(1, 1))
	say(Spam, "dora", message(1, 2))
	say(Ham, "dora", message(1, 3))
	visited := 0
	testenv.Check(t, v.l.Standing(func(s Standing) error {
		for _, of := range s.Set.Signatures {
			isText, got := of.Kind == signature.KindText, s.Turns[of]
			if visited++; isText && len(got) != 3 || !isText && len(got) > 1 {
				t.Errorf("%v of %v: turns %v", of.ID(), s.Set.Signatures, got)
			}
		}
		return nil
	}))
	if visited < 3 {
		t.Errorf("%d signatures stand", visited)
	}
}
