package bloomdb_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// classBench returns a database of the default size. Its filters are full in all kept
// generations, including class filters, and another site's parts are a tenth as full.
func classBench(b *testing.B, classes bool) *bloomdb.DB {
	o := bloomdbtest.Options(b.TempDir(), "mx1")
	o.Reports, o.Exchange = layout.ReportOptions{Classes: classes}, false
	db, err := bloomdbtest.TryOpen(o)
	testenv.Check(b, err)
	b.Cleanup(func() { crash(b, db) })
	r := rand.New(rand.NewPCG(1, 2))
	for gen := range bloomdbtest.SettingsOf(db).Reports.Keep {
		g := bloomdbtest.SettingsOf(db).Generation(layout.SpamFilter, db.Now()) - int64(gen)
		for _, kind := range layout.ReportKinds[:] {
			if kind == layout.ClassFilter && !classes {
				continue
			}
			t := layout.Target{Kind: kind, Gen: g}
			own := ownBits(b, db, t)
			n := int(bloomdbtest.SettingsOf(db).KeysPerGeneration())
			if kind == layout.RevokedFilter {
				n /= layout.RevokedShare
			}
			other := partOf(b, db, "mx2", t, layout.BitsShape(own.Shape()))
			for i := range n {
				own.Set(randomHash(r))
				if i%10 == 0 {
					other.Others.Set(randomHash(r))
				}
			}
			testenv.Check(b, fillPart(other.Part, other.Others))
		}
	}
	return db
}

func fillPart(p *coded.Part, b *filter.Bits) error {
	for i := range filter.Blocks(b.Shape().Size(), false) {
		if err := p.Merge(b.Block(i, nil)); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkJudgeClasses judges messages of two signatures: unknown, listed without a class, and
// listed with one. It alternates between a database with classes and one without, so that both
// run under the same load of the machine.
func BenchmarkJudgeClasses(b *testing.B) {
	dbs := [2]*bloomdb.DB{classBench(b, false), classBench(b, true)}
	classes := map[string]layout.Class{"listed": layout.ClassOther, "scam": layout.ClassScam, "malware": layout.ClassMalware}
	for i, name := range []string{"unknown", "listed", "scam", "malware"} {
		sets := make([]signature.Set, 1000)
		for n := range sets {
			sets[n] = bloomdbtest.Message(1000*i + n)
			if name != "unknown" {
				for _, db := range dbs {
					listUnsynced(b, db, sets[n], classes[name])
				}
			}
		}
		b.Run(name, func(b *testing.B) {
			const batch = 50
			var took [2]time.Duration
			var ratios []float64
			for n := 0; n < b.N; n += batch {
				var now [2]time.Duration
				for i, db := range dbs {
					begin := time.Now()
					for j := range batch {
						if db.Judge(sets[(n+j)%len(sets)]).Listed != (name != "unknown") {
							b.Fatal("wrong verdict")
						}
					}
					now[i] = time.Since(begin)
					took[i] += now[i]
				}
				ratios = append(ratios, float64(now[1])/float64(now[0]))
			}
			slices.Sort(ratios)
			asked := float64(len(ratios) * batch)
			b.ReportMetric(float64(took[0].Nanoseconds())/asked, "ns-without")
			b.ReportMetric(float64(took[1].Nanoseconds())/asked, "ns-with")
			b.ReportMetric(ratios[len(ratios)/2], "median-ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// listUnsynced is Report without the journal.
func listUnsynced(b *testing.B, db *bloomdb.DB, set signature.Set, class layout.Class) {
	r := journal.Record{Target: current(db, layout.SpamFilter), Class: class}
	for _, s := range set.Signatures {
		r.Hashes = append(r.Hashes, bloomdbtest.Ring.ReportHash(s))
	}
	testenv.Check(b, db.Keyspace().Store.Set(r, func(layout.Target, []uint64) {}))
}

// BenchmarkClassMemory measures the memory of class filters of the default capacity, full in all
// generations: as reported by the filters and by the kernel.
func BenchmarkClassMemory(b *testing.B) {
	before := residentMB(b)
	off := classBench(b, false)
	without := residentMB(b)
	on := classBench(b, true)
	with := residentMB(b)
	b.ReportMetric(without-before, "MB-without")
	b.ReportMetric(with-without, "MB-with")
	b.ReportMetric(float64(off.Status().Memory)/1e6, "status-MB-without")
	b.ReportMetric(float64(on.Status().Memory)/1e6, "status-MB-with")
	own, parts := 0.0, 0.0
	for _, g := range reports(on) {
		own += float64(g.Listing(layout.ClassFilter).Own.Shape().Bytes()) / 1e6
		parts += float64(g.Listing(layout.ClassFilter).Parts[0].Part.Bytes()) / 1e6
	}
	b.ReportMetric(own, "MB-class-filters-own")
	b.ReportMetric(parts, "MB-class-parts")
	b.ReportMetric(0, "ns/op")
}
