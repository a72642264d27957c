//go:build figures

package ledger

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestMillionReports prints the size and the speed of a ledger with a million reports: go test
// -tags figures.
func TestMillionReports(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: small, NoSync: true}
	l, err := Open(o)
	testenv.Check(t, err)
	start := time.Now()
	var all sync.WaitGroup
	const reports, clients = 1_000_000, 500
	for c := range clients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(2, uint64(c)))
			for range reports / clients {
				set, anchors := typical(rng)
				d, err := l.Enter(Entry{Reporter: fmt.Sprint("user", rng.IntN(20_000)), At: begin, Period: begin, Set: set, Anchors: anchors})
				if err != nil {
					t.Error(err)
					return
				}
				l.Settle(d)
			}
		})
	}
	all.Wait()
	filled := time.Since(start)
	testenv.Check(t, l.Close())
	info, err := os.Stat(path)
	testenv.Check(t, err)
	start = time.Now()
	if l, err = Open(o); err != nil {
		t.Fatal(err)
	}
	opened := time.Since(start)
	var waits []time.Duration
	for c := range 64 {
		rng := rand.New(rand.NewPCG(2, uint64(c)))
		for range 20 {
			set, anchors := typical(rng)
			rng.IntN(20_000)
			start := time.Now()
			list, _, err := l.Reports(Query{Set: set, Anchors: anchors, Limit: 10})
			if err != nil || len(list) != 1 {
				t.Fatalf("a reported message has %d reports: %v", len(list), err)
			}
			waits = append(waits, time.Since(start))
		}
	}
	slices.Sort(waits)
	t.Logf("%d reports: %d MB, filled in %v, opened in %v, a message's trail in %v (p50), %v (p99)",
		reports, info.Size()>>20, filled.Round(time.Second), opened, waits[len(waits)/2], waits[len(waits)*99/100])
	testenv.Check(t, l.Close())
}
