package bloomdb_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The functions in this file reach into a keyspace, for filters that are too full to be filled by
// reports, and for records that no honest site makes.

// sealer returns a sealer with the keys of a site, to make and read records in its place.
func sealer(db *bloomdb.DB) *wire.Sealer {
	o := db.Options()
	return &wire.Sealer{Opt: db.Settings(), Ring: keyring.NewRing(o.Key), Members: o.Members, SigningKey: o.SigningKey, Witness: func(wire.Head) {}}
}

// current returns the filter of a kind of the current generation.
func current(db *bloomdb.DB, kind layout.Kind) layout.Target {
	return layout.Target{Kind: kind, Gen: db.Settings().Generation(kind, db.Now())}
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

// skipNumber has a site note more changes than a delta can contain: it then skips a number.
func skipNumber(db *bloomdb.DB) { noteExpired(db, tooMany) }

// noteExpired has a site note n changes of an expired generation.
func noteExpired(db *bloomdb.DB, n int) {
	db.Keyspace().Outbox.Note(layout.Target{Kind: layout.CountFilter}, make([]uint64, n))
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
