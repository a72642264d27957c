package ledger

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/record"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// A single person or a gang reports and revokes anything at all sites, over months. Other people
// report other mail and revoke. Reporters are undone and expire, weights are set by hand, and
// sites restart. As long as the gang's weights do not reach the quorum, no message that only the
// gang reported is ever listed, at any site. Each decision equals that of the model.
func TestNoneBelowTheQuorumListsAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFederation(t)
		defer f.close()
		t.Repeat(map[string]func(*rapid.T){
			"":         f.agrees,
			"lie":      f.lie,
			"forge":    f.forge,
			"report":   f.report,
			"crowd":    f.crowd,
			"revoke":   f.revoke,
			"undo":     f.undo,
			"weigh":    f.weigh,
			"wait":     f.wait,
			"expire":   f.expire,
			"restart":  f.restart,
			"carryOut": f.carryOut,
		})
	})
}

// memory is the time for which reports count.
const memory = 35 * 24 * time.Hour

// federation is a number of sites with the actions on them.
type federation struct {
	folder string
	trust  trust.Model
	sites  []*propertySite
	now    time.Time
	gang   []string
	most   map[string]float64 // the greatest weight that each reporter could have had
}

// propertySite is a ledger with its model.
type propertySite struct {
	*Ledger
	options   Options
	model     *model
	supported map[record.Key]map[string]bool // everybody who ever reported it
}

// models have a ceiling and a gang small enough that its weights stay below the quorum.
var models = []struct {
	trust trust.Model
	gang  int
}{
	{trust.Model{Quorum: 2, Newcomer: 1, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}, 1},
	{trust.Model{Quorum: 2, Newcomer: 0.5, Floor: 0.05, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}, 1},
	{trust.Model{Quorum: 2, Newcomer: 0.7, Floor: 0.05, Ceiling: 0.999, HalfLife: 24 * time.Hour}, 2},
	{trust.Model{Quorum: 3, Newcomer: 0.5, Floor: 0.05, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}, 2},
	{trust.Model{Quorum: 1, Newcomer: 0.3333, Floor: 0.01, Ceiling: 0.3333, HalfLife: 3 * 24 * time.Hour}, 3},
}

func newFederation(t *rapid.T) *federation {
	folder, err := os.MkdirTemp("", "ledger")
	testenv.Check(t, err)
	chosen := rapid.SampledFrom(models).Draw(t, "model")
	f := &federation{folder: folder, trust: chosen.trust, now: begin, most: map[string]float64{}}
	for i := range chosen.gang {
		f.gang = append(f.gang, fmt.Sprintf("mallory%d", i))
	}
	for i := range rapid.IntRange(1, 3).Draw(t, "sites") {
		s := &propertySite{
			options:   Options{Path: filepath.Join(folder, fmt.Sprint(i)), Model: f.trust, Memory: memory, NoSync: true},
			model:     newModel(f.trust),
			supported: map[record.Key]map[string]bool{},
		}
		s.open(t)
		f.sites = append(f.sites, s)
	}
	return f
}

func (s *propertySite) open(t *rapid.T) {
	l, err := Open(s.options)
	testenv.Check(t, err)
	s.Ledger = l
}

func (f *federation) close() {
	for _, s := range f.sites {
		_ = s.Close() // a second one does nothing
	}
	_ = os.RemoveAll(f.folder)
}

func (f *federation) site(t *rapid.T) *propertySite {
	return f.sites[rapid.IntRange(0, len(f.sites)-1).Draw(t, "site")]
}

func (f *federation) person(t *rapid.T) string {
	return rapid.SampledFrom([]string{"anna", "bob", "carl", "trap"}).Draw(t, "reporter")
}

// mail draws a message of a family. Messages of one family share bodies, texts, attachments and
// anchors. Those of different families share nothing.
func mail(t *rapid.T, family int) (set signature.Set, anchors []Anchors) {
	of := func(kind signature.Kind, name string, n int) {
		if i := rapid.IntRange(-1, n-1).Draw(t, name); i >= 0 {
			set.Signatures = append(set.Signatures, sign(kind, 1000*family+i))
		}
	}
	of(signature.KindBody, "body", 3)
	of(signature.KindText, "text", 2)
	of(signature.KindAttachment, "attachment", 2)
	if len(set.Signatures) == 0 {
		set.Signatures = append(set.Signatures, sign(signature.KindBody, 1000*family))
	}
	for _, kind := range []signature.Kind{signature.KindSketch, signature.KindImage} {
		from := rapid.IntRange(-3, 3).Draw(t, "anchors")
		if from < 0 {
			continue
		}
		a := Anchors{Need: rapid.IntRange(0, 3).Draw(t, "need")}
		for h := from; h < from+4; h++ {
			a.Hashes = append(a.Hashes, uint64(1000*family+h))
		}
		set.Sketches, anchors = append(set.Sketches, signature.Sketch{Kind: kind}), append(anchors, a)
	}
	return set, anchors
}

// lied is the family of messages that only the gang reports.
const lied = 9

func (f *federation) lie(t *rapid.T) {
	set, anchors := mail(t, lied)
	who := rapid.SampledFrom(f.gang).Draw(t, "liar")
	for _, s := range f.sites {
		f.enter(t, s, Entry{Reporter: who, Set: set, Anchors: anchors})
	}
}

// forge combines parts that only the gang reports with parts that others report. The ledger
// cannot check that the parts of a request belong to one message.
func (f *federation) forge(t *rapid.T) {
	set, anchors := mail(t, lied)
	other, others := mail(t, rapid.IntRange(0, 1).Draw(t, "family"))
	set.Signatures = append(set.Signatures, other.Signatures...)
	set.Sketches, anchors = append(set.Sketches, other.Sketches...), append(anchors, others...)
	for i := range anchors {
		if len(anchors[i].Hashes) > 0 && rapid.Bool().Draw(t, "cut") {
			anchors[i].Hashes = anchors[i].Hashes[1:]
		}
	}
	who := rapid.SampledFrom(f.gang).Draw(t, "liar")
	f.enter(t, f.site(t), Entry{Reporter: who, Set: set, Anchors: anchors, Stance: rapid.SampledFrom([]Stance{Spam, Ham}).Draw(t, "stance")})
}

func (f *federation) report(t *rapid.T) {
	set, anchors := mail(t, rapid.IntRange(0, 1).Draw(t, "family"))
	who := rapid.OneOf(rapid.SampledFrom(f.gang), rapid.Custom(f.person)).Draw(t, "who")
	f.enter(t, f.site(t), Entry{Reporter: who, Trap: who == "trap", Set: set, Anchors: anchors})
}

// crowd lets more people report than a tally has room for.
func (f *federation) crowd(t *rapid.T) {
	set, anchors := mail(t, rapid.IntRange(0, 1).Draw(t, "family"))
	s, stance := f.site(t), rapid.SampledFrom([]Stance{Spam, Ham}).Draw(t, "stance")
	for i := range rapid.IntRange(2, record.MaxInline+8).Draw(t, "people") {
		f.enter(t, s, Entry{Reporter: fmt.Sprint("one of the crowd ", i), Stance: stance, Set: set, Anchors: anchors})
	}
}

func (f *federation) revoke(t *rapid.T) {
	set, anchors := mail(t, rapid.SampledFrom([]int{0, 1, lied}).Draw(t, "family"))
	who := rapid.OneOf(rapid.SampledFrom(f.gang), rapid.Custom(f.person)).Draw(t, "who")
	f.enter(t, f.site(t), Entry{Stance: Ham, Reporter: who, Trap: who == "trap", Set: set, Anchors: anchors, Listed: rapid.Bool().Draw(t, "listed"), Voted: rapid.IntRange(0, 3).Draw(t, "voted") == 0})
}

// enter applies a report or revocation to a site and its model.
func (f *federation) enter(t *rapid.T, s *propertySite, e Entry) {
	f.now = f.now.Add(time.Duration(rapid.IntRange(0, 5000).Draw(t, "ms")) * time.Millisecond)
	e.At, e.Period = f.now, begin.Add(f.now.Sub(begin).Truncate(week))
	if e.Stance == Spam {
		for _, k := range record.KeysOf(e.Set, e.Anchors) {
			if s.supported[k] == nil {
				s.supported[k] = map[string]bool{}
			}
			s.supported[k][e.Reporter] = true
		}
	}
	f.could(e.Reporter, f.trust.Ceiling)
	if e.Trap {
		f.could(e.Reporter, f.trust.Quorum)
	}
	got, err := s.Enter(e)
	testenv.Check(t, err)
	own := len(s.model.due)
	want := s.model.enter(e)
	if have := decided(got); !have.equal(want.modelDecision) || got.Weight != want.weight || got.Sum != want.sum || !got.Revoked.Equal(want.revoked) {
		t.Fatalf("%s of %s: %+v, the model has %+v", name(e.Stance), e.Reporter, got, want)
	}
	if got.Due != 0 && rapid.Bool().Draw(t, "settle") {
		s.Settle(got)
		s.model.due = slices.Delete(s.model.due, own, own+1)
	}
	f.check(t, s, got, e.Anchors)
}

func name(s Stance) string {
	return map[Stance]string{Spam: "report", Ham: "revocation"}[s]
}

func (f *federation) could(who string, weight float64) { f.most[who] = max(f.most[who], weight) }

// check compares a listing with everybody who ever reported it at this site: their greatest
// possible weights must reach the quorum.
func (f *federation) check(t *rapid.T, s *propertySite, d Decision, anchors []Anchors) {
	if d.Action != List {
		return
	}
	enough := func(k record.Key) bool {
		sum := 0.0
		for who := range s.supported[k] {
			sum += f.most[who]
		}
		return sum >= f.trust.Quorum-1e-9
	}
	for _, g := range d.Set.Signatures {
		if k := record.SignatureKey(g); !enough(k) {
			t.Fatalf("%s is listed, but only %v reported it", g.ID(), s.supported[k])
		}
		for i := range 1000 {
			if g == sign(g.Kind, 1000*lied+i) {
				t.Fatalf("%s is listed, but only the gang reported it", g.ID())
			}
		}
	}
	for i, place := range d.Places {
		kind, a := d.Set.Sketches[i].Kind, anchors[place]
		if n := count(a.Hashes, func(h uint64) bool { return enough(record.AnchorKey(kind, h)) }); a.Need == 0 || n < a.Need {
			t.Fatalf("a sketch is listed with %d sufficiently reported anchors, want %d", n, a.Need)
		}
	}
}

func (f *federation) undo(t *rapid.T) {
	s, who := f.site(t), rapid.OneOf(rapid.SampledFrom(f.gang), rapid.Custom(f.person)).Draw(t, "who")
	since := f.now.Add(-time.Duration(rapid.IntRange(0, 60).Draw(t, "days")) * 24 * time.Hour).Truncate(time.Second)
	if _, err := s.Withdraw(Undo{Reporter: who, Since: since, At: f.now}); err != nil {
		t.Fatal(err)
	}
	s.model.undo(who, since, f.now)
	f.carry(t, s)
}

// weigh sets a weight by hand, or returns it to the reputation. The gang's weights stay below
// the quorum.
func (f *federation) weigh(t *rapid.T) {
	s, who := f.site(t), rapid.OneOf(rapid.SampledFrom(f.gang), rapid.Custom(f.person)).Draw(t, "who")
	high := 3.0
	if who != "anna" && who != "bob" && who != "carl" && who != "trap" {
		high = f.trust.Ceiling
	}
	var weight *float64
	r := s.model.reporter(who, f.now)
	r.override = nil
	if w := rapid.Float64Range(-1, high).Draw(t, "weight"); w >= 0 {
		weight = &w
		f.could(who, w)
		o := record.NewWeight(w)
		r.override = &o
	}
	if _, err := s.SetWeight(who, weight, f.now); err != nil {
		t.Fatal(err)
	}
}

func (f *federation) wait(t *rapid.T) {
	f.now = f.now.Add(time.Duration(rapid.IntRange(1, 30*24).Draw(t, "hours")) * time.Hour)
}

func (f *federation) expire(t *rapid.T) {
	s := f.site(t)
	for more := true; more; {
		var err error
		if more, err = s.Expire(f.now); err != nil {
			t.Fatal(err)
		}
	}
	s.model.expire(f.now, memory)
}

func (f *federation) restart(t *rapid.T) {
	s := f.site(t)
	testenv.Check(t, s.Close())
	s.open(t)
}

func (f *federation) carryOut(t *rapid.T) { f.carry(t, f.site(t)) }

// carry settles the due decisions. They must equal those of the model, in order.
func (f *federation) carry(t *rapid.T, s *propertySite) {
	testenv.Check(t, s.Flush())
	list, err := s.Due(0, 1<<20)
	testenv.Check(t, err)
	if len(list) != len(s.model.due) {
		t.Fatalf("due: %+v, the model has %+v", list, s.model.due)
	}
	for i, d := range list {
		want := s.model.due[i]
		switch r := want.report; {
		case r.forgotten:
			want = modelDecision{}
		default: // a decision replaced by a later one is not carried out
			want = s.model.still(want)
		}
		if !decided(d).equal(want) {
			t.Fatalf("due: %+v, the model has %+v", d, want)
		}
		s.Settle(d)
	}
	s.model.due = nil
}

// agrees compares the reporters with those of the model.
func (f *federation) agrees(t *rapid.T) {
	for _, s := range f.sites {
		s.remembers(t)
		list, err := s.Reporters("", 1000, f.now)
		testenv.Check(t, err)
		names := s.model.byName()
		if len(list) != len(names) {
			t.Fatalf("%d reporters, the model has %v", len(list), names)
		}
		for i, r := range list {
			want := s.model.reporters[names[i]]
			if r.Name != names[i] || r.Weight != s.model.weight(want, false, f.now) {
				t.Fatalf("%s weighs %v; model: %s weighs %v", r.Name, r.Weight, names[i], s.model.weight(want, false, f.now))
			}
		}
	}
}

// remembers compares what the tallies remember of reports that no longer count: an undo lets them
// count again.
func (s *propertySite) remembers(t *rapid.T) {
	testenv.Check(t, s.view(func(x *txn) error {
		for k, c := range s.model.cases {
			y, err := x.Tally(k)
			if err != nil {
				return err
			}
			var got, want []time.Time
			for _, n := range y.Past {
				r, err := x.Report(n)
				if err != nil {
					return err
				}
				got = append(got, r.At.Truncate(time.Second))
			}
			for _, r := range c.past {
				want = append(want, r.at)
			}
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Fatalf("%x remembers the reports of %v, the model those of %v", k, got, want)
			}
		}
		return nil
	}))
}

// byName returns the reporters in alphabetical order.
func (m *model) byName() []string {
	var names []string
	for name := range m.reporters {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}

// A report counts for its remaining parts when one part was reported again, withdrawn or
// refuted. An undo withdraws the remaining parts, too.
func TestUndoOfWhatCountsInPart(t *testing.T) {
	first := signature.Set{Signatures: []signature.Signature{sign(signature.KindAttachment, 1), sign(signature.KindAttachment, 2)}}
	second := signature.Set{Signatures: first.Signatures[1:]}
	for state, after := range map[State]func(voice){
		Renewed:   func(v voice) { v.say(Spam, "anna", second) },
		Withdrawn: func(v voice) { v.say(Ham, "anna", second) },
		Refuted:   func(v voice) { v.say(Ham, "bob", second) },
	} {
		v := voice{t: t, l: open(t, small), at: begin}
		v.wants(v.say(Spam, "anna", first), List, 2)
		v.at = begin.Add(week)
		after(v)
		list, _, err := v.l.Reports(Query{Reporter: "anna", Limit: 10})
		if err != nil || list[len(list)-1].State != state {
			t.Fatalf("want the state %s: %+v, %v", state, list, err)
		}
		if _, err := v.l.Withdraw(Undo{Reporter: "anna", Since: begin}); err != nil {
			t.Fatal(err)
		}
		// Nobody reports the first attachment any longer, and the due decision contains
		// that.
		due, err := v.l.Due(0, 10)
		delisted := false
		for _, d := range due {
			delisted = delisted || d.Action == Revoke && d.Set.Signatures[0] == first.Signatures[0]
		}
		if err != nil || !delisted {
			t.Errorf("%s in part: due after undo is %+v, %v", state, due, err)
		}
	}
}

// A user reports a mail, and revokes a near-duplicate. That takes back what both have in common. The
// report still lists its own message, and says so.
func TestReportOfANearDuplicateCounts(t *testing.T) {
	v := voice{t: t, l: open(t, small), at: begin}
	anchors := Anchors{Hashes: []uint64{1, 2, 3}, Need: 2}
	varied := func(n int) signature.Set {
		set := message(n, n)
		set.Sketches = []signature.Sketch{{Kind: signature.KindSketch}}
		return set
	}
	v.say(Spam, "anna", varied(1), anchors)
	for _, s := range []Stance{Ham, Spam} {
		v.at = v.at.Add(week)
		v.say(s, "anna", varied(2), anchors)
		list, _, err := v.l.Reports(Query{Reporter: "anna", Limit: 10})
		if err != nil || list[len(list)-1].State != Counts {
			t.Errorf("after a near-duplicate: %+v, %v", list, err)
		}
	}
	v.say(Ham, "anna", varied(1), anchors)
	list, _, err := v.l.Reports(Query{Reporter: "anna", Limit: 10})
	if err != nil || list[len(list)-1].State != Withdrawn {
		t.Errorf("after a revocation of the message itself: %+v, %v", list, err)
	}
}
