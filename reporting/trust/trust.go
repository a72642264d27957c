// Package trust says how far a reporter is believed. It is pure: who reported what
// is kept by reporting/ledger, which asks this package for weights.
//
//	a report -> Weight(reputation) -> sum over distinct reporters >= Quorum? -> listed
//	others report the same, before it was listed  -> Confirmed grows
//	others take it back                           -> Refuted grows, what it had earned is gone
//	time passes                                   -> both fade
//
// # The model
//
// A reporter's reputation is that of A. Jøsang and R. Ismail, "The Beta Reputation
// System" (15th Bled Electronic Commerce Conference, 2002): with r good and s bad
// experiences, the expectation that the next report is right is the mean of a beta
// distribution (their definition 2, E = (r+1) / (r+s+2)). Here the prior is twice as
// strong, so that the first experiences weigh less:
//
//	E = (r + 2) / (r + s + 4)
//
// A confirmation counts as much as who it comes from is believed (their section on
// discounting, simplified: the weight of the other reporter, at most one in all for a
// report). To be refuted takes a quorum, counts twice, and takes away what the report
// had earned. Both fade with time (their forgetting factor, as a half-life).
//
// The weight follows from E. A newcomer has E = 1/2 and the weight Newcomer. Above,
// the weight rises in a straight line, to the Ceiling at E = 1. Below, it stays as it
// is until E = 1/3, as one mistake in one's first reports is no sign of anything, and
// then falls in a straight line to the Floor, at E = 1/4: two mistakes, and nobody who
// agrees. A reporter whom the administrator gave a weight by hand has that, and a spam
// trap has the quorum.
//
// What these rules are worth against people who lie is in bloomlab run
// reputation-rules: with milder ones, weights changed next to nothing there.
//
// # What it does not do
//
// Weights belong to one site: they are never told to others, and reports at two sites
// never add up. It cannot tell a group that confirms each other's reports from people
// who agree; the Ceiling bounds what they gain, and a Ceiling below the quorum that
// nobody decides alone. Who reports what is listed already confirms others, but earns
// nothing: or copying the verdict would make a reputation.
package trust

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	prior    = 4.0    // experiences that a newcomer's reputation is worth
	baseRate = 0.5    // E of a newcomer
	doubt    = 1. / 3 // E below which the weight falls
	distrust = 1. / 4 // E at which it is the least
)

const (
	MaxCredit  = 1.0 // the most that one report can add to Confirmed
	Refutation = 2.0 // what it adds to Refuted when others take it back
)

// Model are the parameters of a site. Weights and the quorum are of the same scale:
// one is a user who is believed at once.
type Model struct {
	Quorum   float64       // summed weight that lists a message, or takes it back; over 0
	Newcomer float64       // weight of a reporter of whom nothing is known
	Floor    float64       // least weight
	Ceiling  float64       // greatest weight
	HalfLife time.Duration // after which an experience counts half
}

// Default believes every user of a small site at once.
func Default() Model {
	return Model{Quorum: 1, Newcomer: 1, Floor: 0, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}
}

// Check says what is wrong with a model.
func (m Model) Check() error {
	for _, v := range []float64{m.Quorum, m.Newcomer, m.Floor, m.Ceiling} {
		if math.IsNaN(v) || v < 0 || v > 1000 {
			return fmt.Errorf("a weight of %v; want 0 to 1000", v)
		}
	}
	switch {
	case m.Quorum < 0.001:
		return fmt.Errorf("a quorum of %v; want at least 0.001", m.Quorum)
	case m.Floor > m.Newcomer || m.Newcomer > m.Ceiling:
		return fmt.Errorf("floor %v, newcomer %v and ceiling %v are not in this order", m.Floor, m.Newcomer, m.Ceiling)
	case m.HalfLife <= 0:
		return errors.New("no half-life")
	}
	return nil
}

// Reputation is what others' reports say of one reporter, as of a time.
type Reputation struct {
	Confirmed float64 // r: in reports that others made, too
	Refuted   float64 // s: Refutation for each that others took back
	At        time.Time
}

// At is the reputation as it is at a time: both parts have faded since r.At. A time
// before r.At changes nothing, as clocks go back.
func (m Model) At(r Reputation, now time.Time) Reputation {
	age := now.Sub(r.At)
	if age <= 0 {
		return r
	}
	left := math.Exp2(-float64(age) / float64(m.HalfLife))
	return Reputation{r.Confirmed * left, r.Refuted * left, now}
}

// Add is the reputation with experiences of now. A negative one takes back what was
// earned before, as far as it has not faded.
func (m Model) Add(r Reputation, confirmed, refuted float64, now time.Time) Reputation {
	r = m.At(r, now)
	r.Confirmed = max(r.Confirmed+confirmed, 0)
	r.Refuted = max(r.Refuted+refuted, 0)
	return r
}

// Expectation is E: how likely the reporter's next report is right.
func Expectation(r Reputation) float64 {
	return (r.Confirmed + prior*baseRate) / (r.Confirmed + r.Refuted + prior)
}

// Weight is how far a report of now is believed, from Floor to Ceiling.
func (m Model) Weight(r Reputation, now time.Time) float64 {
	e := Expectation(m.At(r, now))
	switch {
	case e > baseRate:
		return m.Newcomer + (m.Ceiling-m.Newcomer)*(e-baseRate)/(1-baseRate)
	case e >= doubt:
		return m.Newcomer
	}
	return m.Floor + (m.Newcomer-m.Floor)*max(e-distrust, 0)/(doubt-distrust)
}
