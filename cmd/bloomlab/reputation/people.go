package reputation

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Most people never press the button; a few do so often. A wanted message in Junk is
// missed and taken out more often than spam is reported.
const (
	keenShare    = 0.15
	keenReports  = 0.50 // of the spam that they see
	otherReports = 0.05
	keenRescues  = 0.50 // of the wanted mail in Junk
	otherRescues = 0.15

	// mistakes is the share of wanted bulk that a person who would have reported it as
	// spam takes for spam: a reader reports a newsletter with otherReports*mistakes.
	mistakes = 0.02

	meanReading = 4.0 // hours between delivery and reading, exponential
)

// side is what a person is up to.
type side int

const (
	honest   side = iota
	loner         // reports wanted mail of his own, and revokes spam
	colluder      // does so with the others of the ring, all on the same targets
	sleeper       // reports spam as a keen reader for wakeDay days, then joins the ring
	sybil         // is of the ring, under names that last freshDays
)

const (
	wakeDay   = 20 // when sleepers turn
	freshDays = 7  // that a Sybil's name lasts
)

// mix is the share of the liars that is on each side.
type mix map[side]float64

// usual is the mix where no other is asked for.
var usual = mix{loner: 0.2, sleeper: 0.2, sybil: 0.2, colluder: 0.4}

// person is a user of the site, and a reporter.
type person struct {
	side             side
	reports, rescues float64 // chances, as an honest reader
}

// newPeople draws the users. The first ones lie, so that with a larger share the
// liars of the smaller one stay what they are; who gets what mail is drawn anyway.
func newPeople(r *rand.Rand, users int, liars float64, m mix) []person {
	people := make([]person, users)
	for i := range people {
		p := &people[i]
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
	return people
}

// side is the one that u, from 0 to 1, falls on.
func (m mix) side(u float64) side {
	for s := loner; s < sybil; s++ {
		if u -= m[s]; u < 0 {
			return s
		}
	}
	return sybil
}

// name is what the person reports under at a time.
func (p person) name(i int, at float64) string {
	if p.side == sybil {
		return fmt.Sprintf("u%d.%d", i, int(at/hoursADay)/freshDays)
	}
	return fmt.Sprintf("u%d", i)
}

// lies says whether the person does at that time.
func (p person) lies(at float64) bool {
	return p.side != honest && (p.side != sleeper || at >= wakeDay*hoursADay)
}
