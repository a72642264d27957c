package bloomdb

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/signature"
)

// Stands reports whether a revocation of set would take a listing back, of this site
// or of another one. A listing that the never-list or a retouch hides here counts: a
// revocation ends it at the other sites.
func (db *DB) Stands(set signature.Set) bool {
	e := db.Judge(set)
	if e.Listed || slices.ContainsFunc(e.Spared, func(m Match) bool { return !m.Revoked }) {
		return true
	}
	return slices.ContainsFunc(db.Explain(set), keyspace.Trace.Stands)
}
