// Package hourly bounds the reports of each reporter in an hour, separately for each way they come:
// a program that reports for others uses up the hour of its own reports only. What a report is
// worth is decided elsewhere (reporting/trust), and the shares of a period by reporting/ledger.
package hourly

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// ErrTooMany is the error for a reporter with too many reports in the last hour.
var ErrTooMany = errors.New("too many reports")

// way is a reporter, and the origin of its reports.
type way struct{ reporter, origin string }

// maxLimits bounds the ways whose rate is held at one time.
const maxLimits = 100_000

// Limits are the rates of the reporters. A reporter's reports of an hour may all arrive at once. It is
// safe for concurrent use.
type Limits struct {
	hour int // 0: no limit

	mu sync.Mutex
	of map[way]*rate.Limiter
}

// New returns limits of so many reports in an hour; 0: no limit.
func New(hour int) *Limits { return &Limits{hour: hour, of: map[way]*rate.Limiter{}} }

// signaturesOfOne is the number of signatures up to which a report counts as one. Hardly
// any message has more, and the daemon cannot check that a request is about one message.
const signaturesOfOne = 16

// Take counts one report of so many signatures by a reporter from an origin, or returns ErrTooMany
// with the time until the report is allowed.
func (l *Limits) Take(reporter, origin string, signatures int, now time.Time) error {
	if l.hour == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	key := way{reporter, origin}
	limiter := l.of[key]
	if limiter == nil {
		if len(l.of) >= maxLimits {
			l.forget(now)
		}
		limiter = rate.NewLimiter(rate.Limit(float64(l.hour)/time.Hour.Seconds()), l.hour)
		l.of[key] = limiter
	}
	n := min((signatures+signaturesOfOne-1)/signaturesOfOne, l.hour)
	if limiter.AllowN(now, n) {
		return nil
	}
	wait := time.Duration((float64(n) - limiter.TokensAt(now)) / float64(limiter.Limit()) * float64(time.Second))
	return fmt.Errorf("%w: %s may make %d in an hour; the next one in %v", ErrTooMany, reporter, l.hour, max(wait.Round(time.Second), time.Second))
}

// forget drops the reporters whose allowance is whole again. If there are none it drops
// all: a limit that is forgotten too early costs less than memory without a bound. The
// caller holds mu.
func (l *Limits) forget(now time.Time) {
	for key, limiter := range l.of {
		if limiter.TokensAt(now) >= float64(l.hour) {
			delete(l.of, key)
		}
	}
	if len(l.of) >= maxLimits {
		clear(l.of)
	}
}
