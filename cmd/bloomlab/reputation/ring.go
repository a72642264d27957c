package reputation

import (
	"container/heap"
	"math/rand/v2"
	"slices"
)

// ring restricts the ring of a scenario. The zero value reports and revokes, and acts once
// on each target.
type ring struct {
	aim     aim
	answers bool // its members act whenever the decision on a target is not what they want
}

// aim is what a ring does to its targets.
type aim int

const (
	both       aim = iota
	condemning     // it reports wanted mail
	protecting     // it revokes spam
)

// acts returns those of the acts that the ring makes. A ring that answers spends no more
// reputation than a target takes: its members act until the decision is what they want.
func (x ring) acts(all acts) acts {
	all = slices.DeleteFunc(all, func(a act) bool {
		return x.aim == condemning && a.revoke || x.aim == protecting && !a.revoke
	})
	for i := range all {
		all[i].answer = x.answers
	}
	return all
}

const (
	meanAnswer = 1.0 // hours until a member acts again, exponential

	// mostAnswers bounds the acts of a member on one target in a period. The product
	// refuses more revocations by one reporter (package desk).
	mostAnswers = 4
)

// watch follows the targets of the ring: their copies, and for a ring that answers, the
// decisions on them.
type watch struct {
	r         *rand.Rand
	answers   bool
	targets   map[key]bool    // true: a spam that the ring protects
	answered  map[key]float64 // the hour until which the members answer
	made      map[answered]int
	reported  map[key]map[int]bool // honest reporters of a target
	condemned week                 // copies of the wanted targets
	protected week                 // copies of the spam targets after a quorum of honest reports
}

// answered are a member's acts on a target in a period.
type answered struct {
	key        key
	by         string
	generation int
}

func newWatch(d drawn) watch {
	w := watch{
		r: rand.New(rand.NewPCG(d.seed, 5)), answers: d.answers,
		targets: map[key]bool{}, answered: map[key]float64{}, made: map[answered]int{}, reported: map[key]map[int]bool{},
	}
	for _, a := range d.lies {
		for _, k := range a.msg.keys {
			w.targets[k] = a.revoke
		}
	}
	return w
}

// target returns the key by which the ring finds a message.
func (x *watch) target(m *message) (k key, protects, ok bool) {
	for _, k := range m.keys {
		if protects, ok = x.targets[k]; ok {
			return k, protects, true
		}
	}
	return 0, false, false
}

// count counts a copy of a target. A copy of a spam counts once a quorum of honest readers
// has reported it, so that only the ring keeps it out of Junk.
func (x *watch) count(w *world, d delivery, junk bool) {
	k, protects, ok := x.target(d.msg)
	switch {
	case ok && !protects:
		x.condemned.count(false, junk)
	case ok && float64(len(x.reported[k])) >= w.need:
		x.protected.count(true, junk)
	}
}

// answer lets the members act after a decision that they do not want.
func (x *watch) answer(w *world, a act) {
	k, protects, ok := x.target(a.msg)
	if ok && !a.revoke && w.reporters[a.by].side == honest {
		if x.reported[k] == nil {
			x.reported[k] = map[int]bool{}
		}
		x.reported[k][a.by] = true
	}
	if !x.answers || !ok || a.at < x.answered[k] || w.shelf.listed(a.msg.keys, generation(a.at)) != protects {
		return
	}
	for by, p := range w.reporters {
		if p.side == loner || !p.lies(a.at) {
			continue
		}
		at := a.at + x.r.ExpFloat64()*meanAnswer
		heap.Push(&w.acts, act{at: at, by: by, revoke: protects, answer: true, msg: a.msg})
		x.answered[k] = max(x.answered[k], at)
	}
}

// mayAnswer reports whether the decision is still not what the ring wants, and counts the
// answer.
func (x *watch) mayAnswer(w *world, a act) bool {
	k, protects, _ := x.target(a.msg)
	if w.shelf.listed(a.msg.keys, generation(a.at)) != protects {
		return false
	}
	n := answered{k, w.reporters[a.by].name(a.by, a.at), generation(a.at)}
	x.made[n]++
	return x.made[n] <= mostAnswers
}
