package reputation

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// The ring agrees each day on wanted bulk to condemn and on campaigns to protect,
// half of them those with the most readers; whoever has no copy gets one from the others.
const (
	condemned    = 2
	protected    = 2
	joins        = 0.8 // of the ring, at each target
	condemnHours = 2.0 // after the first copy, all have condemned it
	protectHours = 12.0

	lonerLies = 0.1 // chance to lie about a message received
)

// act is something that a person does.
type act struct {
	at     float64
	by     int
	revoke bool
	msg    *message
}

// lies are what the ring does, by time. Loners lie about what they get: see world.
func lies(r *rand.Rand, people []person, t traffic) []act {
	var acts []act
	for day := range t.wanted {
		for _, x := range chosen(r, t.wanted[day], condemned) {
			acts = ring(r, acts, people, x, condemnHours, false)
		}
		for _, x := range chosen(r, t.spam[day], protected) {
			acts = ring(r, acts, people, x, protectHours, true)
		}
	}
	slices.SortStableFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	return acts
}

// chosen are n of the targets: half of them the largest, the others drawn.
func chosen(r *rand.Rand, all []target, n int) []target {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b target) int { return cmp.Compare(b.reach, a.reach) })
	n = min(n, len(all))
	for i := (n + 1) / 2; i < n; i++ {
		j := i + r.IntN(len(all)-i)
		all[i], all[j] = all[j], all[i]
	}
	return all[:n]
}

func ring(r *rand.Rand, acts []act, people []person, x target, hours float64, revoke bool) []act {
	for i, p := range people {
		at, takesPart := x.at+r.Float64()*hours, r.Float64() < joins
		if takesPart && p.side != loner && p.lies(at) {
			acts = append(acts, act{at: at, by: i, revoke: revoke, msg: x.msg})
		}
	}
	return acts
}
