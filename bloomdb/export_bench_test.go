package bloomdb

import (
	"bytes"
	"testing"
)

// BenchmarkExport writes, and BenchmarkImport joins on disk, the reports of a site of
// the default size that is full to a third of its plan: 333,000 messages of eight
// signatures, with their sketches.
func BenchmarkExport(b *testing.B) {
	db := thirdFull(b)
	for b.Loop() {
		b.SetBytes(int64(len(exported(b, db))))
	}
}

func BenchmarkImport(b *testing.B) {
	export := exported(b, thirdFull(b))
	b.SetBytes(int64(len(export)))
	for b.Loop() {
		b.StopTimer()
		db := openTest(b, defaultSize(b))
		b.StartTimer()
		if _, err := db.ImportOwn(bytes.NewReader(export)); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		crash(b, db)
		b.StartTimer()
	}
}

func defaultSize(b *testing.B) Options {
	o := alone(testOptions(b.TempDir(), "mx1"))
	o.Reports.Capacity = 0
	return o
}

// thirdFull fills the filters without the journal.
func thirdFull(b *testing.B) *DB {
	b.Helper()
	db := openTest(b, defaultSize(b))
	n := uint64(0)
	for gen := range int64(db.opt.Reports.Keep) {
		for _, kind := range []filterKind{spamFilter, revokedFilter, sketchFilter} {
			t := target{kind, db.opt.generation(kind, db.opt.Now()) - gen}
			own, err := db.ownBits(t, db.shapeFor(t))
			if err != nil {
				b.Fatal(err)
			}
			for limit := db.onesOf(kind, own.Shape(), 1./3/unevenness); own.Ones() < limit; n++ {
				own.Set(stretch(mix(n)))
			}
		}
	}
	return db
}
