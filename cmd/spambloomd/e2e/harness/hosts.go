package harness

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// Spread reports one message at a site and returns how long it took until each other site
// judged it spam.
func Spread(t testing.TB, from *client.Client, others []*client.Client, r api.Request) (took []time.Duration) {
	t.Helper()
	begin := time.Now()
	if _, err := client.Post(t.Context(), from, v1.Report, r); err != nil {
		t.Fatal(err)
	}
	took = make([]time.Duration, len(others))
	var asking sync.WaitGroup
	for i, other := range others {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
			defer cancel()
			tick := time.NewTicker(2 * time.Millisecond)
			defer tick.Stop()
			for ; ; <-tick.C {
				answer, err := client.Post(ctx, other, v1.Check, r)
				if err != nil {
					t.Errorf("the report did not arrive: %v", err)
					return
				}
				if answer.Verdict == "spam" {
					took[i] = time.Since(begin)
					return
				}
			}
		})
	}
	asking.Wait()
	return took
}

// Quantiles formats the median and the maximum of measurements.
func Quantiles(took []time.Duration) string {
	slices.Sort(took)
	at := func(q float64) time.Duration {
		return took[min(len(took)-1, int(q*float64(len(took))))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, at most %v of %d", at(0.5), at(0.99), at(1), len(took))
}
