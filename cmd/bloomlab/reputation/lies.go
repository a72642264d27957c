package reputation

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Each day the ring agrees on wanted bulk to report and on campaigns to protect, half of
// them with the most readers. Members without a copy get one from the others.
const (
	condemned    = 2
	protected    = 2
	joins        = 0.8 // share of the ring that acts on each target
	condemnHours = 2.0 // after the first copy, all have reported it
	protectHours = 12.0

	lonerLies = 0.1 // chance to lie about a message received
)

// act is a report or a revocation of a reporter.
type act struct {
	at     float64
	by     int
	revoke bool
	answer bool // omitted if the decision at that time is what the ring wants
	msg    *message
}

// lies returns the acts of the ring, by time. Loners lie about mail that they receive: see
// world.
func lies(r *rand.Rand, reporters []reporter, t traffic) []act {
	var acts []act
	for day := range t.wanted {
		for _, x := range chosen(r, t.wanted[day], condemned) {
			acts = together(r, acts, reporters, x, condemnHours, false)
		}
		for _, x := range chosen(r, t.spam[day], protected) {
			acts = together(r, acts, reporters, x, protectHours, true)
		}
	}
	slices.SortStableFunc(acts, func(a, b act) int { return cmp.Compare(a.at, b.at) })
	return acts
}

// chosen returns n of the targets: half of them the largest, the others drawn.
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

func together(r *rand.Rand, acts []act, reporters []reporter, x target, hours float64, revoke bool) []act {
	for i, p := range reporters {
		at, takesPart := x.at+r.Float64()*hours, r.Float64() < joins
		if takesPart && p.side != loner && p.lies(at) {
			acts = append(acts, act{at: at, by: i, revoke: revoke, msg: x.msg})
		}
	}
	return acts
}
