package bloomdb

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// classBench is a database of the default size whose filters are full in each of
// the generations kept, the class filters too; of another site a tenth as much is
// held.
func classBench(b *testing.B, classes bool) *DB {
	o := testOptions(b.TempDir(), "mx1")
	o.Reports, o.Exchange = ReportOptions{Classes: classes}, false
	db, err := Open(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { crash(b, db) })
	r := rand.New(rand.NewPCG(1, 2))
	for gen := range db.ks.opt.Reports.Keep {
		g := db.ks.opt.generation(spamFilter, db.ks.opt.Now()) - int64(gen)
		for _, kind := range reportKinds[:] {
			if kind == classFilter && !classes {
				continue
			}
			t := target{kind, g}
			own, err := db.ks.store.ownBits(t, db.ks.store.shapeFor(t))
			if err != nil {
				b.Fatal(err)
			}
			n := int(db.ks.opt.keysPerGeneration())
			if kind == revokedFilter {
				n /= revokedShare
			}
			other, err := db.ks.store.partFor(origin{"mx2", 2}, t, bitsShape(own.Shape()))
			if err != nil {
				b.Fatal(err)
			}
			for i := range n {
				own.Set(randomHash(r))
				if i%10 == 0 {
					other.others.Set(randomHash(r))
				}
			}
			if err := fillPart(other.part, other.others); err != nil {
				b.Fatal(err)
			}
		}
	}
	return db
}

func fillPart(p *filter.Part, b *filter.Bits) error {
	for i := range filter.Blocks(b.Shape().Size(), false) {
		if err := p.Merge(b.Block(i, nil)); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkJudgeClasses asks about messages of two signatures: unknown, listed
// without a class, listed with one. It asks a database that keeps classes and one
// that does not, in turn, so that both see the same machine.
func BenchmarkJudgeClasses(b *testing.B) {
	dbs := [2]*DB{classBench(b, false), classBench(b, true)}
	classes := map[string]Class{"listed": ClassOther, "scam": ClassScam, "malware": ClassMalware}
	for i, name := range []string{"unknown", "listed", "scam", "malware"} {
		sets := make([]signature.Set, 1000)
		for n := range sets {
			sets[n] = message(1000*i + n)
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
func listUnsynced(b *testing.B, db *DB, set signature.Set, class Class) {
	r := record{target: target{spamFilter, db.ks.opt.generation(spamFilter, db.ks.opt.Now())}, class: class}
	for _, s := range set.Signatures {
		r.hashes = append(r.hashes, db.ks.ring.reportHash(s))
	}
	if err := db.ks.store.set(r, func(target, []uint64) {}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkClassMemory says what class filters of the default capacity take, full
// in all generations: by their own account, and by the kernel's.
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
	for _, g := range on.ks.store.view.Load().reports {
		own += float64(g.listing(classFilter).own.Shape().Bytes()) / 1e6
		parts += float64(g.listing(classFilter).parts[0].part.Bytes()) / 1e6
	}
	b.ReportMetric(own, "MB-class-filters-own")
	b.ReportMetric(parts, "MB-class-parts")
	b.ReportMetric(0, "ns/op")
}
