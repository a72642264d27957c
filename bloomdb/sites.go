package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Mute takes a site's influence away, or gives it back. A muted site has no say in
// verdicts and counts any more: what is held of it is kept, but asked by nobody, and
// its further records are refused with ErrMuted. When Mute returns, that is on disk.
// Once the site is heard again, what was held of it counts as before, and its stream or
// snapshot brings the rest; of a dropped site they bring all. Any valid name can be
// muted before it was ever heard, but not this site's own. Verdicts are given
// meanwhile; other sites' records wait. While the federation key is rolled over, it is
// done under both keys; after an error, it may have been under one, and should be
// tried again.
func (db *DB) Mute(site string, on bool) error {
	if db.ks.Closed.Load() {
		return layout.ErrClosed
	}
	if err := db.ks.Peers.Silenceable(site); err != nil {
		return err
	}
	return db.each(func(ks *keyspace.Keyspace) error { return ks.Peers.SetMuted(site, on) })
}

// Drop mutes a site and deletes what is held of it, in all its lives, from memory and
// disk: all is as if it had never been heard, and stays so until Mute(site, false),
// after which it is heard from anew. It is done or refused like Mute; what a crash
// leaves of the files is deleted by Open.
func (db *DB) Drop(site string) error {
	if err := db.Mute(site, true); err != nil { // at once; a snapshot may take a while
		return err
	}
	return db.each(func(ks *keyspace.Keyspace) error { return ks.DropSite(site) })
}
