package layout

import (
	"time"
)

// Period returns the length of a kind's generations.
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

// Generation returns the number of the period that contains t, counted from 1970.
func (o *Settings) Generation(kind Kind, t time.Time) int64 {
	return t.Unix() / int64(o.Period(kind)/time.Second)
}

func (o *Settings) Start(t Target) time.Time {
	return time.Unix(t.Gen*int64(o.Period(t.Kind)/time.Second), 0).UTC()
}

// KeepExpired is the number of seconds for which an expired generation is kept, invisible to
// Judge. A clock that is wrong for a moment must not delete data.
const KeepExpired = 600

// Expired reports whether a generation has expired. A generation of the future has not: a
// clock that was set back must not delete data.
func (o *Settings) Expired(t Target) bool {
	return t.Gen <= o.Generation(t.Kind, o.Now())-int64(o.Keep(t.Kind))
}

// Future reports whether a generation begins later than the given time from now.
func (o *Settings) Future(t Target, ahead time.Duration) bool {
	return t.Gen > o.Generation(t.Kind, o.Now().Add(ahead))
}

// VotesGeneration returns the first generation of the votes that are published now.
func (o *Settings) VotesGeneration() int64 { return o.Generation(SpamFilter, o.Now()) - 1 }
