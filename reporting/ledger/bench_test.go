package ledger

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// typical returns a report like those of real mail: four signatures, a sketch of 12 anchors, 20
// keys for comparison with other sketches, and two domains.
func typical(rng *rand.Rand) (signature.Set, []Anchors) {
	set := signature.Set{Domains: []string{"example.org", "example.com"}}
	for _, kind := range []signature.Kind{signature.KindBody, signature.KindText, signature.KindAttachment} {
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

// BenchmarkEnter measures durable reports per second with 16 clients, each reporting different
// messages, and the time that each client waits.
func BenchmarkEnter(b *testing.B) {
	l, err := Open(Options{Path: filepath.Join(b.TempDir(), "reports.db"), Model: small})
	testenv.Check(b, err)
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
