package layout

import (
	"time"
)

// Period is the length of a kind's generations.
func (o *Settings) Period(kind Kind) time.Duration {
	if kind == CountFilter {
		return o.Counts.Period
	}
	return o.Reports.Period
}

func (o *Settings) Keep(kind Kind) int {
	if kind == CountFilter {
		return o.Counts.Keep
	}
	return o.Reports.Keep
}

// Generation is the number of the period in which t falls, counted from 1970.
func (o *Settings) Generation(kind Kind, t time.Time) int64 {
	return t.Unix() / int64(o.Period(kind)/time.Second)
}

func (o *Settings) Start(t Target) time.Time {
	return time.Unix(t.Gen*int64(o.Period(t.Kind)/time.Second), 0).UTC()
}

// Aged reports whether a generation is older than those kept. A generation of the
// future is not: a clock set back must not destroy what is known.
func (o *Settings) Aged(t Target) bool {
	return t.Gen <= o.Generation(t.Kind, o.Now())-int64(o.Keep(t.Kind))
}

// Early reports whether a generation is further ahead than the clocks of sites may
// differ: more than one period.
func (o *Settings) Early(t Target) bool {
	return t.Gen > o.Generation(t.Kind, o.Now())+1
}

// VotesGeneration is the one with which what is published begins.
func (o *Settings) VotesGeneration() int64 { return o.Generation(SpamFilter, o.Now()) - 1 }
