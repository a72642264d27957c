package reputation

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// scenario describes a world.
type scenario struct {
	users, days int
	liars       float64 // share of the users
	mix         mix     // sides of the liars
	ring        ring
}

// epoch is the time at which worlds begin: the start of a period.
var epoch = time.Unix(0, 0).Add(2000 * period).UTC()

// The site's filters, with the defaults of the configuration.
const (
	period = 7 * 24 * time.Hour
	keep   = 5
)

// word is a report or revocation of a message.
type word struct {
	at     time.Time
	by     string
	revoke bool
	keys   []key
	listed bool // whether the message was listed at that time
}

// decision has the changes to the filters.
type decision struct{ list, revoke []key }

// book records a word and returns the decision. Times must not decrease.
type book func(word) (decision, error)

// week counts the mail of a week, in copies.
type week struct {
	wanted, listed int // listed: wanted and in Junk
	spam, caught   int
}

// world is one site over some weeks, with one set of rules.
type world struct {
	reporters []reporter
	r         *rand.Rand // what readers do
	book      book
	shelf     shelf
	acts      acts // to come
	weeks     []week
	words     int // entered
	watch     watch

	need    float64                 // the quorum in reporters of full weight
	support map[key]map[string]bool // reporters whose latest word is a report
	below   int                     // listings by fewer than need
}

// drawn has the common parts of all worlds of one seed: the mail, the readers, the lies.
type drawn struct {
	seed      uint64
	reporters []reporter
	mail      []delivery
	lies      acts
	weeks     int
	answers   bool // the ring acts again when its targets are overturned
}

// draw makes it. The mail does not depend on the share of liars.
func draw(seed uint64, s scenario) drawn {
	t := newTraffic(rand.New(rand.NewPCG(seed, 1)), s.users, s.days)
	reporters := newReporters(rand.New(rand.NewPCG(seed, 2)), s.users, s.liars, s.mix)
	told := s.ring.acts(lies(rand.New(rand.NewPCG(seed, 3)), reporters, t))
	return drawn{seed, reporters, t.deliveries, told, (s.days + 6) / 7, s.ring.answers}
}

// run simulates a world with one set of rules. A listed message must have at least need
// distinct reporters, which is the quorum at full weight.
func (d drawn) run(b book, need float64) (*world, error) {
	w := &world{
		reporters: d.reporters, r: rand.New(rand.NewPCG(d.seed, 4)), book: b,
		shelf: shelf{}, acts: slices.Clone(d.lies), weeks: make([]week, d.weeks),
		need: need, support: map[key]map[string]bool{}, watch: newWatch(d),
	}
	for _, copied := range d.mail {
		for len(w.acts) > 0 && w.acts[0].at <= copied.at {
			if err := w.do(heap.Pop(&w.acts).(act)); err != nil {
				return nil, err
			}
		}
		w.deliver(copied)
	}
	return w, nil
}

// deliver puts a copy into the inbox or into Junk, and its reader may act on it. All
// random numbers are drawn in any case, so that different rules are compared with the
// same numbers.
func (w *world) deliver(d delivery) {
	reading := d.at + w.r.ExpFloat64()*meanReading
	u, mistaken := w.r.Float64(), w.r.Float64() < mistakes
	junk := w.shelf.listed(d.msg.keys, generation(d.at))
	w.weeks[int(d.at/hoursADay)/7].count(d.msg.spam, junk)
	w.watch.count(w, d, junk)
	p, a := w.reporters[d.to], act{at: reading, by: d.to, msg: d.msg}
	switch {
	case p.lies(reading):
		a.revoke = d.msg.spam
		if p.side != loner || u >= lonerLies {
			return
		}
	case junk:
		a.revoke = true
		if d.msg.spam || u >= p.rescues {
			return
		}
	case u >= p.reports || !d.msg.spam && !mistaken:
		return
	}
	heap.Push(&w.acts, a)
}

func (k *week) count(spam, junk bool) {
	switch {
	case spam && junk:
		k.spam, k.caught = k.spam+1, k.caught+1
	case spam:
		k.spam++
	case junk:
		k.wanted, k.listed = k.wanted+1, k.listed+1
	default:
		k.wanted++
	}
}

func (w *world) do(a act) error {
	if a.answer && !w.watch.mayAnswer(w, a) {
		return nil
	}
	at, by := epoch.Add(time.Duration(a.at*float64(time.Hour))), w.reporters[a.by].name(a.by, a.at)
	d, err := w.book(word{at: at, by: by, revoke: a.revoke, keys: a.msg.keys, listed: w.shelf.listed(a.msg.keys, generation(a.at))})
	if err != nil {
		return fmt.Errorf("hour %g: %w", a.at, err)
	}
	w.words++
	w.witness(a, by, d)
	w.shelf.take(d, generation(a.at))
	w.watch.answer(w, a)
	return nil
}

// witness counts listings with too few reporters, independently of the book.
func (w *world) witness(a act, by string, d decision) {
	for _, k := range a.msg.keys {
		if w.support[k] == nil {
			w.support[k] = map[string]bool{}
		}
		delete(w.support[k], by)
		if !a.revoke {
			w.support[k][by] = true
		}
	}
	for _, k := range d.list {
		if float64(len(w.support[k])) < w.need {
			w.below++
		}
	}
}

// generation numbers the periods from 1 on.
func generation(at float64) int { return 1 + int(at/period.Hours()) }

// shelf is the filters, without their errors.
type shelf map[key]place

// place has the generation in which a key was last listed, and the last one with a word about
// it, with the rung of that word (bloomdb/FORMAT.md, Ladder).
type place struct{ listed, generation, rung int }

const rungs = 16 // of a generation; the last one is a revocation

// say writes a report (0) or a revocation (1).
func (s shelf) say(k key, generation int, says stance) {
	e := s[k]
	if generation < e.generation {
		return // the newer one decides
	}
	if e.generation != generation {
		e.generation, e.rung = generation, 0
	}
	if e.rung%2 != int(says) {
		e.rung = min(e.rung+1, rungs-1)
	}
	if says == 0 {
		e.listed = generation
	}
	s[k] = e
}

func (s shelf) take(d decision, generation int) {
	for _, k := range d.list {
		s.say(k, generation, 0)
	}
	for _, k := range d.revoke {
		s.say(k, generation, 1)
	}
}

// listed reports whether one of the keys is listed: the newest word decides.
func (s shelf) listed(keys []key, now int) bool {
	for _, k := range keys {
		if e := s[k]; e.rung%2 == 0 && e.generation > now-keep && e.generation > 0 {
			return true
		}
	}
	return false
}

// acts are a heap by time.
type acts []act

func (a acts) Len() int           { return len(a) }
func (a acts) Less(i, j int) bool { return a[i].at < a[j].at }
func (a acts) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *acts) Push(x any)        { *a = append(*a, x.(act)) }
func (a *acts) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}
