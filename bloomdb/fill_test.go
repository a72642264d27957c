package bloomdb_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The functions in this file reach into a keyspace, for filters that are too full to be filled by
// reports, for records that no honest site makes, and for files that are written at other times
// than the test chooses.

// sealer returns a sealer with the keys of a site, to make and read records in its place.
func sealer(db *bloomdb.DB) *wire.Sealer {
	o := bloomdbtest.OptionsOf(db)
	return &wire.Sealer{Opt: bloomdbtest.SettingsOf(db), Ring: keyring.NewRing(o.Key), Members: o.Members, SigningKey: o.SigningKey, Witness: func(wire.Head) {}}
}

// current returns the filter of a kind of the current generation.
func current(db *bloomdb.DB, kind layout.Kind) layout.Target {
	return layout.Target{Kind: kind, Gen: bloomdbtest.SettingsOf(db).Generation(kind, db.Now())}
}

// ownBits returns a filter of this site, which it creates if it is missing.
func ownBits(t testing.TB, db *bloomdb.DB, tg layout.Target) *filter.Bits {
	t.Helper()
	s := db.Keyspace().Store
	own, err := s.OwnBits(tg, s.ShapeFor(tg))
	testenv.Check(t, err)
	return own
}

// partOf returns another site's part of a filter, which it creates if it is missing.
func partOf(t testing.TB, db *bloomdb.DB, site string, tg layout.Target, shape layout.Shape) *store.PartOf {
	t.Helper()
	p, err := db.Keyspace().Store.PartFor(layout.Origin{Site: site, Epoch: 2}, tg, shape)
	testenv.Check(t, err)
	return p
}

// fill adds n random keys to a filter whose keys take one line each. They come in the order of
// their lines: in random order each key costs a cache miss, and sketches at their plan take minutes.
func fill(r *rand.Rand, b *filter.Bits, n int) {
	at := uint64(0)
	for range n {
		at += uint64(r.ExpFloat64() / float64(n) * math.MaxUint64)
		b.Set(filter.Hash{at, r.Uint64(), r.Uint64(), r.Uint64()})
	}
}

// skipNumber has a site note more changes than a delta can contain: it then skips a number.
func skipNumber(db *bloomdb.DB) { noteExpired(db, tooMany) }

// noteExpired has a site note n changes of an expired generation.
func noteExpired(db *bloomdb.DB, n int) {
	db.Keyspace().Outbox.Note(layout.Target{Kind: layout.CountFilter}, make([]uint64, n))
}

// writeIdentity has a site write its identity without the snapshots that Close writes: as if a
// crash came right after it.
func writeIdentity(t testing.TB, db *bloomdb.DB, dir string) {
	t.Helper()
	testenv.Check(t, db.Keyspace().Outbox.Close(dir))
}

// recordSizes records how much of the journal is on disk, as the periodic work does once a minute.
func recordSizes(t testing.TB, db *bloomdb.DB) {
	t.Helper()
	j := db.Keyspace().Journal
	testenv.Check(t, j.List.RaiseLater(j.Durable, db.Now().Add(time.Hour)))
}

// identity returns what a state folder has on disk about its site.
func identity(t testing.TB, dir string) folder.Identity {
	t.Helper()
	id, err := folder.ReadIdentity(dir)
	testenv.Check(t, err)
	return id
}

// reports returns the generations of reports in memory.
func reports(db *bloomdb.DB) []*store.ReportGeneration {
	return db.Keyspace().Store.View.Load().Reports
}
