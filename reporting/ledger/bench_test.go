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

	"github.com/spambloom/spambloom/signature"
)

// typical is a report as real mail makes it: four signatures, a sketch of 12 anchors and
// 20 keys, by which it is compared with others, two domains.
func typical(rng *rand.Rand) (signature.Set, []Anchors) {
	set := signature.Set{Domains: []string{"example.org", "example.com"}}
	for _, kind := range []signature.Kind{signature.KindBody, signature.KindText2, signature.KindText, signature.KindAttachment} {
		set.Signatures = append(set.Signatures, sign(kind, rng.Int()))
	}
	sketch := signature.Sketch{Kind: signature.KindSketch}
	for i := range 20 {
		sketch.Keys = append(sketch.Keys, signature.Feature{Hash: rng.Uint64(), Pos: uint32(i * 9)})
		if i < 12 {
			sketch.Anchors = append(sketch.Anchors, signature.Feature{Hash: rng.Uint64(), Pos: uint32(i * 15)})
		}
	}
	set.Sketches = []signature.Sketch{sketch}
	anchors := Anchors{Need: 16}
	for range 20 {
		anchors.Hashes = append(anchors.Hashes, rng.Uint64())
	}
	return set, []Anchors{anchors}
}

// BenchmarkEnter: durable reports a second with 16 clients, each of another message, and
// the time that each waits.
func BenchmarkEnter(b *testing.B) {
	l, err := Open(Options{Path: filepath.Join(b.TempDir(), "reports.db"), Model: small})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	const clients = 16
	waits := make([][]time.Duration, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(c)))
			for i := range b.N/clients + 1 {
				set, anchors := typical(rng)
				start := time.Now()
				d, err := l.Enter(Entry{Reporter: fmt.Sprint("user", i%500), At: begin, Period: begin, Set: set, Anchors: anchors})
				if err != nil {
					b.Error(err)
					return
				}
				l.Settle(d)
				waits[c] = append(waits[c], time.Since(start))
			}
		})
	}
	all.Wait()
	list := slices.Concat(waits...)
	slices.Sort(list)
	b.ReportMetric(float64(len(list))/b.Elapsed().Seconds(), "reports/s")
	b.ReportMetric(float64(list[len(list)*99/100].Microseconds())/1000, "p99-ms")
}

// TestMillionReports prints what a million reports take: SPAMBLOOM_FIGURES=1.
func TestMillionReports(t *testing.T) {
	if os.Getenv("SPAMBLOOM_FIGURES") == "" {
		t.Skip("only for figures: SPAMBLOOM_FIGURES=1")
	}
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: small, NoSync: true}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
