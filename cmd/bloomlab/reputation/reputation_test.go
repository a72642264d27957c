package reputation

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/labtest"
)

const seed = 20261121

// village is a world that is simulated quickly.
var village = scenario{users: 150, days: 28, liars: 0.3, mix: usual}

func runTrials(t *testing.T, trials ...lab.Trial) []lab.Row {
	t.Helper()
	rows := labtest.Run(t, lab.Experiment{Name: "test", Trials: trials}, lab.Options{Rounds: 3, Seed: seed})
	labtest.Measured(t, rows)
	return rows
}

// All settings, in a village: shares are within bounds, nothing is listed by too few
// reporters, and without liars a higher quorum lists less.
func TestVillage(t *testing.T) {
	ways := sizeWays()
	for _, q := range quorums {
		ways = append(ways, equals(q))
	}
	for _, row := range runTrials(t, trial{name: "village", scenario: village, ways: ways}.lab()) {
		if row.Measured < 0 || row.Measured > 100 {
			t.Errorf("%s: %v", row.Cell, row.Measured)
		}
	}
	honest := village
	honest.liars = 0
	rows := byName(runTrials(t, trial{name: "village", scenario: honest, ways: []settings{settled(1), settled(3)}}.lab()))
	for _, figure := range []string{junk, caught} {
		one, three := rows[cellName("village", "quorum 1", figure)], rows[cellName("village", "quorum 3", figure)]
		if one <= three || one == 0 {
			t.Errorf("%s: %v at quorum 1, %v at quorum 3", figure, one, three)
		}
	}
}

// The ledger decides like the tally, and a world agrees with the computed values.
func TestChecks(t *testing.T) {
	runTrials(t, mistakesTrial(), ledgerTrial())
}

// The experiments' figures find their rows.
func TestFigures(t *testing.T) {
	var rows []lab.Row
	for _, trial := range sweep().Trials {
		for _, c := range trial.Cells {
			rows = append(rows, lab.Row{Cell: c.Name, Measured: 7})
		}
	}
	figures := sweepFigures(rows)
	if len(figures) != 4 {
		t.Fatalf("%d figures", len(figures))
	}
	for _, f := range figures {
		for _, s := range f.Series {
			for _, p := range s.Points {
				if p.Y != 7 || len(s.Points) < len(shares) {
					t.Errorf("%s: %s has no row behind %v", f.Name, s.Name, p)
				}
			}
		}
	}
	for _, d := range comparisons(rows) {
		if d.Summary.Mean != 1 {
			t.Errorf("%s has no rows behind it", d.Cell.Name)
		}
	}
}

// A world comes out the same twice, and with other liars its mail is the same.
func TestSameSeedSameWorld(t *testing.T) {
	once := draw(seed, village)
	if again := draw(seed, village); !reflect.DeepEqual(once, again) {
		t.Error("the same seed drew another world")
	}
	peaceful := village
	peaceful.liars = 0
	if !reflect.DeepEqual(once.mail, draw(seed, peaceful).mail) {
		t.Error("another share of liars drew other mail")
	}
	if reflect.DeepEqual(once.mail, draw(seed+1, village).mail) {
		t.Error("another seed drew the same mail")
	}
	var weeks [2][]week
	for i := range weeks {
		w, err := once.run(newTally(settled(2).model, rules{}).enter, 2)
		if err != nil || w.words == 0 {
			t.Fatal(w.words, err)
		}
		weeks[i] = w.weeks
	}
	if !reflect.DeepEqual(weeks[0], weeks[1]) {
		t.Errorf("two runs of one world: %v and %v", weeks[0], weeks[1])
	}
}

// A book that lists for anybody, as one of quorum 1 does, is caught where it takes two;
// one that fails ends the world.
func TestBadBooks(t *testing.T) {
	d := draw(seed, village)
	if w, err := d.run(newTally(settled(1).model, rules{}).enter, 2); err != nil || w.below == 0 {
		t.Errorf("%d listings by fewer than 2 seen, %v", w.below, err)
	}
	broken := errors.New("broken")
	if _, err := d.run(func(word) (decision, error) { return decision{}, broken }, 1); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

// The newest generation counts, in one the revocation, and none for ever.
func TestShelf(t *testing.T) {
	keys := []key{1, 2}
	for _, c := range []struct {
		name            string
		listed, revoked int
		now             int
		want            bool
	}{
		{"never reported", 0, 0, 1, false},
		{"reported", 1, 0, 1, true},
		{"revoked in the same period", 1, 1, 1, false},
		{"reported again in a later one", 2, 1, 2, true},
		{"revoked later", 1, 2, 2, false},
		{"revoked, never reported", 0, 1, 1, false},
		{"in the last period that is kept", 1, 0, keep, true},
		{"forgotten", 1, 0, keep + 1, false},
	} {
		s := shelf{}
		if c.listed > 0 {
			s.take(decision{list: keys[1:]}, c.listed)
		}
		if c.revoked > 0 {
			s.take(decision{revoke: keys[1:]}, c.revoked)
		}
		if got := s.listed(keys, c.now); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

// The sides are as many as the mix says; sleepers sleep, Sybils change their names, and
// only the ring acts together.
func TestPeople(t *testing.T) {
	s := scenario{users: 4000, days: 28, liars: 0.5, mix: usual}
	d := draw(seed, s)
	count := map[side]int{}
	for _, p := range d.reporters {
		count[p.side]++
	}
	for side, share := range usual {
		if want := share * 2000; math.Abs(float64(count[side])-want) > 5*math.Sqrt(want) {
			t.Errorf("side %d: %d, want %v", side, count[side], want)
		}
	}
	if count[honest] != 2000 {
		t.Errorf("%d are honest, want 2,000", count[honest])
	}
	acted := map[side]bool{}
	for _, a := range d.lies {
		p := d.reporters[a.by]
		acted[p.side] = true
		if a.revoke != a.msg.spam {
			t.Fatal("an act of the ring that is no lie")
		}
		if p.side == sleeper && a.at < wakeDay*hoursADay {
			t.Fatalf("a sleeper lies in hour %v", a.at)
		}
	}
	if !acted[colluder] || !acted[sleeper] || !acted[sybil] || acted[loner] || acted[honest] {
		t.Errorf("in the ring are %v", acted)
	}
	if p := (reporter{side: sybil}); p.name(1, 0) == p.name(1, freshDays*hoursADay) || p.name(1, 0) != p.name(1, hoursADay) {
		t.Error("a Sybil's name does not last a week")
	}
}

// Each of the milder rules, by hand: two who agree on what two others take back.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name               string
		rules              rules
		confirmed, refuted float64
		weight             weight // where that happens three times
	}{
		{"as it is", rules{}, 0, 2, 0},
		{"refutations cost less", rules{keeps: true}, 1, 1, 1000},
		{"weights fall slowly", rules{slow: true}, 0, 2, 533},
	} {
		x := newTally(settled(2).model, c.rules)
		for i, w := range []word{
			{by: "liar", keys: []key{1}}, {by: "friend", keys: []key{1}}, // both earn 1
			{by: "anna", keys: []key{1}, revoke: true}, {by: "bob", keys: []key{1}, revoke: true},
		} {
			w.at = epoch.Add(time.Duration(i) * time.Minute)
			if _, err := x.enter(w); err != nil {
				t.Fatal(err)
			}
		}
		r := *x.reporters["liar"]
		if math.Abs(r.Confirmed-c.confirmed) > 1e-3 || math.Abs(r.Refuted-c.refuted) > 1e-3 {
			t.Errorf("%s: %+v", c.name, r)
		}
		r.Confirmed, r.Refuted = 3*c.confirmed, 3*c.refuted
		if got := x.weigh(r, r.At); got != c.weight {
			t.Errorf("%s: weight %v, want %v", c.name, got, c.weight)
		}
	}
	for _, r := range []rules{{}, {advance: true}} {
		x := newTally(settled(1).model, r)
		d, err := x.enter(word{by: "friend", keys: []key{1}, revoke: true, at: epoch})
		if err != nil || (len(d.revoke) > 0) != r.advance {
			t.Errorf("%+v: revoked in advance %v, %v", r, d.revoke, err)
		}
	}
}

// A ring acts on its targets until the decision is what it wants, and on nothing else.
func TestRing(t *testing.T) {
	for _, c := range []struct {
		ring ring
		// of the targets, by what the ring wants
		reports, revokes bool
	}{
		{ring{}, true, true},
		{ring{aim: condemning, answers: true}, true, false},
		{ring{aim: protecting, answers: true}, false, true},
	} {
		s := village
		s.mix, s.ring = fresh, c.ring
		d := draw(seed, s)
		did := map[bool]bool{}
		for _, a := range d.lies {
			did[a.revoke] = true
			if a.answer != c.ring.answers {
				t.Fatalf("%+v: answers %v", c.ring, a.answer)
			}
		}
		if did[false] != c.reports || did[true] != c.revokes {
			t.Errorf("%+v: acts by whether they revoke: %v", c.ring, did)
		}
	}
	b := &message{keys: []key{1, 2}, spam: true}
	w := &world{
		reporters: []reporter{{side: colluder}, {side: honest}}, shelf: shelf{},
		watch: newWatch(drawn{seed: seed, answers: true, lies: acts{{revoke: true, msg: &message{keys: []key{2}}}}}),
	}
	w.watch.answer(w, act{by: 1, msg: b})
	if len(w.acts) > 0 {
		t.Error("the ring acts on a spam that is not listed")
	}
	w.shelf.take(decision{list: b.keys}, 1)
	for range 2 {
		w.watch.answer(w, act{by: 1, msg: b})
	}
	if len(w.acts) != 1 || !w.acts[0].revoke || !w.acts[0].answer {
		t.Fatalf("answers to a listed target: %+v", w.acts)
	}
	for range mostAnswers {
		if !w.watch.mayAnswer(w, w.acts[0]) {
			t.Error("an answer is refused")
		}
	}
	if w.watch.mayAnswer(w, w.acts[0]) {
		t.Errorf("a member answers more than %d times", mostAnswers)
	}
	w.shelf.take(decision{revoke: b.keys}, 1)
	if a := (act{by: 1, msg: b, answer: true}); w.watch.mayAnswer(w, a) {
		t.Error("a member acts although the target is as the ring wants it")
	}
}

// Two rings in a village: the cells are filled, and more reporters to list again list less
// wanted mail and leave more spam out.
func TestFactor(t *testing.T) {
	s := village
	s.liars, s.mix = 0.1, fresh
	for _, aim := range []aim{condemning, protecting} {
		s.ring = ring{aim: aim, answers: true}
		rows := byName(runTrials(t, factorTrial("village", s)))
		figure := map[ring]string{{condemning, true}: wronglyListed, {protecting, true}: blocked}[s.ring]
		once, thrice := rows[cellName("village", "quorum 2, factor 1", figure)], rows[cellName("village", "quorum 2, factor 3", figure)]
		if aim == condemning && once < thrice || aim == protecting && once > thrice || once == 0 {
			t.Errorf("%s: %v at factor 1, %v at factor 3", figure, once, thrice)
		}
	}
}
