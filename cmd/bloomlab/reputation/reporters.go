package reputation

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Most users never press the button; a few do so often. Users take wanted mail out of
// Junk more often than they report spam.
const (
	keenShare    = 0.15
	keenReports  = 0.50 // share of the spam seen
	otherReports = 0.05
	keenRescues  = 0.50 // share of the wanted mail in Junk
	otherRescues = 0.15

	// mistakes is the share of wanted bulk that a reporting user takes for spam. A
	// reader therefore reports a newsletter with the chance otherReports*mistakes.
	mistakes = 0.02

	meanReading = 4.0 // hours between delivery and reading, exponential
)

// side is the strategy of a reporter.
type side int

const (
	honest   side = iota
	loner         // reports wanted mail that it received, and revokes spam
	colluder      // does so together with the ring, on the same targets
	sleeper       // reports spam like a keen reader for wakeDay days, then joins the ring
	sybil         // belongs to the ring, under names that last freshDays
)

const (
	wakeDay   = 20 // day on which sleepers join the ring
	freshDays = 7  // lifetime of a Sybil's name
)

// mix is the share of each side among the liars.
type mix map[side]float64

// usual is the default mix.
var usual = mix{loner: 0.2, sleeper: 0.2, sybil: 0.2, colluder: 0.4}

// reporter is a user of the site.
type reporter struct {
	side             side
	reports, rescues float64 // chances, as an honest reader
}

// newReporters draws the users. The first ones lie, so that a larger share of liars
// includes those of a smaller share. The mail of each user is drawn independently.
func newReporters(r *rand.Rand, users int, liars float64, m mix) []reporter {
	reporters := make([]reporter, users)
	for i := range reporters {
		p := &reporters[i]
		p.reports, p.rescues = otherReports, otherRescues
		if r.Float64() < keenShare {
			p.reports, p.rescues = keenReports, keenRescues
		}
		if u := r.Float64(); i < int(math.Round(liars*float64(users))) {
			p.side = m.side(u)
		}
		if p.side == sleeper {
			p.reports, p.rescues = keenReports, keenRescues
		}
	}
	return reporters
}

// side returns the side for u, which is uniform from 0 to 1.
func (m mix) side(u float64) side {
	for s := loner; s < sybil; s++ {
		if u -= m[s]; u < 0 {
			return s
		}
	}
	return sybil
}

// name returns the name under which the reporter reports at a time.
func (p reporter) name(i int, at float64) string {
	if p.side == sybil {
		return fmt.Sprintf("u%d.%d", i, int(at/hoursADay)/freshDays)
	}
	return fmt.Sprintf("u%d", i)
}

// lies reports whether the reporter lies at that time.
func (p reporter) lies(at float64) bool {
	return p.side != honest && (p.side != sleeper || at >= wakeDay*hoursADay)
}
