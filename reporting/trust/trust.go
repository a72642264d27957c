// Package trust computes the weight of a reporter from experience. It is pure: package ledger
// keeps who reported what, and asks this package for weights.
//
//	a report -> Weight(reputation) -> sum over distinct reporters >= Quorum? -> listed
//	others report the same message, before it was listed -> Confirmed grows
//	others revoke it, not only who did so the last time  -> Refuted grows, its credit is withdrawn
//	time passes                                          -> both fade
//
// # The model
//
// A reporter's reputation is that of A. Jøsang and R. Ismail, "The Beta Reputation System"
// (15th Bled Electronic Commerce Conference, 2002): with r good and s bad experiences, the
// expectation that the next report is right is the mean of a beta distribution (their
// definition 2, E = (r+1) / (r+s+2)). Here the prior is twice as strong, so that the first
// experiences weigh less:
//
//	E = (r + 2) / (r + s + 4)
//
// A confirmation counts as much as the weight of the reporter it comes from (their section on
// discounting, simplified); a report can earn one in all. A refutation needs a quorum, counts
// twice, and withdraws what the report had earned. It counts only if it concerns the report's text,
// and if one stands by it who was not behind the reporter's last one, so that nobody takes the
// weight of others alone. Both fade with time (their forgetting factor, as a half-life).
//
// The weight follows from E. A newcomer has E = 1/2 and the weight Newcomer. Above, the weight
// rises linearly, to the Ceiling at E = 1. Below, it stays the same until E = 1/3, because one
// mistake among the first reports means little. Then it falls linearly to the Floor at E = 1/4:
// two mistakes, and no confirmation. A weight that an administrator has set replaces the
// reputation. A spam trap has the quorum.
//
// The effect of these rules against liars is measured by bloomlab run reputation-rules. Milder
// rules hardly changed the weights there.
//
// # Limits
//
// Weights belong to one site. They are never sent to others, and reports at two sites never
// add up. The model cannot distinguish a group of liars that confirm each other from people
// who agree. The Ceiling bounds their gain, and a Ceiling below the quorum prevents that one
// reporter decides alone. A reporter of a message that is already listed confirms others but
// earns nothing. Otherwise copying the verdict would make a reputation.
package trust

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	prior    = 4.0    // weight of the prior, in experiences
	baseRate = 0.5    // E of a newcomer
	doubt    = 1. / 3 // E below which the weight falls
	distrust = 1. / 4 // E at which the weight is the Floor
)

// The effect of one report on its reporter's reputation.
const (
	MaxCredit  = 1.0 // the most that it can add to Confirmed
	Refutation = 2.0 // added to Refuted if others revoke the message
)

// Model contains the parameters of a site. Weights and the quorum have the same scale; a
// trusted user has 1.
type Model struct {
	Quorum   float64       // summed weight that lists or revokes a message; above 0
	Newcomer float64       // weight of a new reporter
	Floor    float64       // least weight
	Ceiling  float64       // greatest weight
	HalfLife time.Duration // of an experience
}

// Default returns a model in which every user of a small site is trusted.
func Default() Model {
	return Model{Quorum: 1, Newcomer: 1, Floor: 0, Ceiling: 1, HalfLife: 30 * 24 * time.Hour}
}

// Check returns an error if a model is invalid.
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

// Reputation is the experience with one reporter, as of a time.
type Reputation struct {
	Confirmed float64 // r: reports that others confirmed
	Refuted   float64 // s: Refutation for each report that others revoked
	At        time.Time
}

// At returns the reputation at a time: both parts have faded since r.At. A time before r.At
// changes nothing, because clocks can go back.
func (m Model) At(r Reputation, now time.Time) Reputation {
	age := now.Sub(r.At)
	if age <= 0 {
		return r
	}
	left := math.Exp2(-float64(age) / float64(m.HalfLife))
	return Reputation{r.Confirmed * left, r.Refuted * left, now}
}

// Add returns the reputation with new experiences. A negative one withdraws what was earned
// before, as far as it has not faded.
func (m Model) Add(r Reputation, confirmed, refuted float64, now time.Time) Reputation {
	r = m.At(r, now)
	r.Confirmed = max(r.Confirmed+confirmed, 0)
	r.Refuted = max(r.Refuted+refuted, 0)
	return r
}

// Expectation returns E, the probability that the reporter's next report is right.
func Expectation(r Reputation) float64 {
	return (r.Confirmed + prior*baseRate) / (r.Confirmed + r.Refuted + prior)
}

// Weight returns the weight of a report that is made now, from Floor to Ceiling.
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
