package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Mute ignores a site from now on, or restores it if on is false. A muted site does not affect
// verdicts and counts: its parts are kept but not looked up, and its records are rejected with
// ErrMuted. When Mute returns nil, that is on disk. A restored site's parts count as before,
// and its stream or snapshot supplies the missing records; for a dropped site, all of them. Any
// valid name except this site's own can be muted, also of an unknown site. Judge does not wait
// for Mute; records of other sites do. During a key change, Mute applies to both keyspaces.
// After an error it may apply to only one, and should be retried.
func (db *DB) Mute(site string, on bool) error {
	if db.ks.Closed.Load() {
		return layout.ErrClosed
	}
	if err := db.ks.Peers.CheckMute(site); err != nil {
		return err
	}
	return db.each(func(ks *keyspace.Keyspace) error { return ks.Peers.SetMuted(site, on) })
}

// Drop mutes a site and deletes its parts and votes of all epochs from memory and disk. That
// lasts until Mute(site, false); the site's records are then read from the beginning. Errors
// are those of Mute. If a crash prevents the removal of a file, Open removes it.
func (db *DB) Drop(site string) error {
	if err := db.Mute(site, true); err != nil { // at once; a snapshot may take a while
		return err
	}
	return db.each(func(ks *keyspace.Keyspace) error { return ks.DropSite(site) })
}
