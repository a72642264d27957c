package lab

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Sigmas is the number of standard errors by which a mean may differ from its reference.
// A full run has some hundreds of rows. With three sigmas, one correct row in 370 would
// be outside, so one or two in every run; with four it is one in 16,000.
const Sigmas = 4

// WhySigmas is the reason to give with StandardErrors and Events.
const WhySigmas = "4 standard errors: one correct row in 16,000 is outside"

// outside is the chance of a normal value to be more than Sigmas above its mean.
var outside = distuv.UnitNormal.Survival(Sigmas)

// StandardErrors is the tolerance of a mean against an exact reference: Sigmas
// standard errors, widened by Student's t for few rounds. If a round has only a few
// events, use Events.
func StandardErrors(s Summary) float64 {
	return width(s) * s.SD / math.Sqrt(float64(max(1, s.Rounds)))
}

// width returns the value of Student's t that is exceeded as rarely as Sigmas normal
// deviations.
func width(s Summary) float64 {
	if s.Rounds < 2 {
		return math.Inf(1)
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(s.Rounds - 1)}.Quantile(1 - outside)
}

// AgainstRounds is the tolerance of a mean against a mean of the paper over the given
// number of rounds, with the deviation sd of a round (0: the same as ours).
func AgainstRounds(rounds int, sd float64) func(Summary) float64 {
	return func(s Summary) float64 {
		paper := sd
		if paper == 0 {
			paper = s.SD
		}
		return width(s) * math.Sqrt(s.SD*s.SD/float64(max(1, s.Rounds))+paper*paper/float64(rounds))
	}
}

// Events is the tolerance of a rate of rare events: each of our rounds has
// perRound chances for one; the paper counted its rate over chances in all
// (0: the reference is exact). Deviations of few rounds are unreliable for rare events,
// so the tolerance follows from the number of events, which is Poisson. Two more events
// on either side keep it valid if there were none.
func Events(perRound float64, reference, chances float64) func(Summary) float64 {
	return func(s Summary) float64 {
		ours := perRound * float64(max(1, s.Rounds))
		if chances == 0 {
			return Sigmas * math.Sqrt((reference*ours+2)/ours/ours)
		}
		rate := (s.Mean*ours + reference*chances) / (ours + chances)
		return Sigmas * math.Sqrt((rate*ours+2)/ours/ours+(rate*chances+2)/chances/chances)
	}
}

// Share is the tolerance of a share of tries, in a unit (1, or 100 for percent),
// against a formula with the given relative error: the larger of Events and
// StandardErrors.
func Share(tries, reference, part, unit float64) func(Summary) float64 {
	counted := Events(tries, reference, 0)
	return func(s Summary) float64 {
		spread := unit * counted(s)
		if s.Rounds > 1 {
			spread = math.Max(spread, StandardErrors(s))
		}
		return spread + unit*part*reference
	}
}

// Within is a tolerance that does not depend on the measurement. For computed values
// it is, for example, half a unit of the last printed digit.
func Within(half float64) func(Summary) float64 {
	return func(Summary) float64 { return half }
}

// Plus widens a tolerance by a constant: the paper's own part of the difference, such as
// its rounding or its single draw.
func Plus(tolerance func(Summary) float64, systematic float64) func(Summary) float64 {
	return func(s Summary) float64 { return tolerance(s) + systematic }
}
