package federation

import (
	"math"
	"math/rand/v2"
	"sort"
)

// The assumed federation.
const (
	sites      = 100
	daily      = 200e6 // messages
	daySeconds = 86_400.0

	heaviest   = 10_000 // sightings of one message in a day, at most
	singletons = 0.85   // share of the distinct messages that come once
	elsewhere  = 0.5    // share of the distinct messages that go to all sites alike

	reportsPerThousand = 1.0 // messages
	fewestSignatures   = 1   // of a reported message, evenly
	mostSignatures     = 3
	sketchEntries      = 108 // of a report: the mean of the spam of four archives
)

const noteMail = "site i receives 1/i of the mail of the largest site (19.3 % of all). 85 % of the distinct messages arrive once; each " +
	"other one arrives more than 2x times with a chance of 1/x, at most 10,000 times a day, spread over the day: bursts " +
	"would share more cells. Half of the distinct messages go to one site, half to all"

// share returns the part of all mail that the site of a rank, from 1, receives: Zipf's law.
func share(rank int) float64 {
	sum := 0.0
	for i := 1; i <= sites; i++ {
		sum += 1 / float64(i)
	}
	return 1 / float64(rank) / sum
}

// drawCount draws how often a message arrives in a day.
func drawCount(r *rand.Rand) int {
	if r.Float64() < singletons {
		return 1
	}
	return int(min(heaviest, 2/(1-r.Float64())))
}

// group stands for several counts of a message by their mean.
type group struct{ count, chance float64 }

// groups are all counts: each up to 64, then in steps of a twentieth. The equations
// sum over them.
var groups = func() []group {
	all := []group{{1, singletons}}
	for least := 2; least <= heaviest; {
		next := least + 1 + least/64*3
		g := group{}
		for n := least; n < next && n <= heaviest; n++ {
			p := (1 - singletons) * 2 / float64(n) / float64(n+1)
			if n == heaviest {
				p = (1 - singletons) * 2 / heaviest
			}
			g.count, g.chance = g.count+p*float64(n), g.chance+p
		}
		g.count /= g.chance
		all, least = append(all, g), next
	}
	return all
}()

// meanCount is how often a distinct message comes: 3.64 times.
func meanCount() float64 {
	sum := 0.0
	for _, g := range groups {
		sum += g.count * g.chance
	}
	return sum
}

// seen returns the chance that a message with a group's count is seen in a given part of
// its sightings.
func (g group) seen(part float64) float64 {
	if part >= 1 {
		return 1
	}
	return -math.Expm1(g.count * math.Log1p(-part))
}

// seen is the same for any message.
func seen(part float64) float64 {
	sum := 0.0
	for _, g := range groups {
		sum += g.chance * g.seen(part)
	}
	return sum
}

// distinct returns the number of distinct messages that a site with a share of the mail
// sees in a part of the day: of its own messages, and of those that go to all sites.
// D = U/2 (w E[1-(1-t)^c] + E[1-(1-wt)^c]), U = M/E[c].
func distinct(messages, share, part float64) (own, common float64) {
	union := messages / meanCount()
	return union * (1 - elsewhere) * share * seen(part), union * elsewhere * seen(share*part)
}

// daysKeys is what a site's counting filter is sized for.
func daysKeys(messages, share float64) float64 {
	own, common := distinct(messages, share, 1)
	return own + common
}

// sightings draws how often a message comes in a day, of those that a part of the
// sightings shows at least once.
type sightings []float64 // cumulative, of the groups

func newSightings(part float64) sightings {
	var s sightings
	sum := 0.0
	for _, g := range groups {
		sum += g.chance * g.seen(part)
		s = append(s, sum)
	}
	return s
}

func (s sightings) draw(r *rand.Rand) float64 {
	return groups[sort.SearchFloat64s(s, r.Float64()*s[len(s)-1])].count
}

func sqrt(x float64) float64 { return math.Sqrt(x) }

func exp(x float64) float64 { return math.Exp(x) }
