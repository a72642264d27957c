package bloomdb_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// sketchBench returns a database of the default size. Its sketch filters, own and others', have
// the planned load in each kept generation, and so have the spam filters, but for a few reports.
func sketchBench(b *testing.B, sketches bool, r layout.ReportOptions) *bloomdb.DB {
	o := bloomdbtest.Options(b.TempDir(), "mx1")
	o.Reports, o.Exchange = r, false
	db, err := bloomdbtest.TryOpen(o)
	testenv.Check(b, err)
	b.Cleanup(func() { crash(b, db) })
	random := rand.New(rand.NewPCG(1, 2))
	load := map[layout.Kind]int{layout.SpamFilter: int(bloomdbtest.SettingsOf(db).KeysPerGeneration()) - 1000}
	if sketches {
		load[layout.SketchFilter] = int(bloomdbtest.SettingsOf(db).SketchEntriesPerGeneration() / layout.Unevenness)
	}
	for gen := range bloomdbtest.SettingsOf(db).Reports.Keep {
		for kind, n := range load {
			t := layout.Target{Kind: kind, Gen: bloomdbtest.SettingsOf(db).Generation(layout.SpamFilter, db.Now()) - int64(gen)}
			own := ownBits(b, db, t)
			other := partOf(b, db, "mx2", t, layout.BitsShape(own.Shape()))
			fill(random, own, n)
			if kind == layout.SpamFilter {
				n /= 10
			}
			fill(random, other.Others, n)
		}
	}
	return db
}

// BenchmarkJudgeSketch judges unknown messages of one signature and a sketch. It alternates
// between a database with sketches and one without, so that both run under the same load of the
// machine.
func BenchmarkJudgeSketch(b *testing.B) {
	dbs := [2]*bloomdb.DB{sketchBench(b, false, layout.ReportOptions{}), sketchBench(b, true, layout.ReportOptions{})}
	for _, size := range []int{50, 300, 3000} {
		sets := make([]signature.Set, 64)
		groups := 0
		for n := range sets {
			sets[n] = wordy(n, words(1_000_000*(n+1), size)...)
			groups += len(dbs[1].Keyspace().Sketches.Asked(sets[n].Sketches)[0].Groups)
		}
		b.Run(map[int]string{50: "words=50", 300: "words=300", 3000: "words=3000"}[size], func(b *testing.B) {
			var took [2][]time.Duration
			for n := range b.N {
				for i, db := range dbs {
					begin := time.Now()
					if db.Judge(sets[n%len(sets)]).Listed {
						b.Fatal("listed")
					}
					took[i] = append(took[i], time.Since(begin))
				}
			}
			for i, name := range []string{"us-without", "us-with"} {
				slices.Sort(took[i])
				b.ReportMetric(float64(took[i][len(took[i])/2].Nanoseconds())/1000, name)
			}
			b.ReportMetric(float64(groups)/float64(len(sets)), "groups")
			b.ReportMetric(0, "ns/op")
		})
	}
}
