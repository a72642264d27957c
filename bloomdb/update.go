package bloomdb

import (
	"github.com/spambloom/spambloom/bloomdb/keyspace"
)

// update makes one change in all keyspaces. It writes nothing while one of them has a fault, and
// shows nothing before the change is on disk in all of them, so no reader sees a change that a
// crash could undo. If only the write itself reveals a fault of the second keyspace, the change
// stays on disk in the first one: after a restart it may be visible there although it was never
// acknowledged.
func (db *DB) update(prepare func(*keyspace.Keyspace) (keyspace.Update, error)) error {
	updates := make([]keyspace.Update, 0, len(db.keys))
	for _, ks := range db.keys {
		u, err := prepare(ks)
		if u.Release != nil {
			defer u.Release()
		}
		if err != nil {
			return err
		}
		updates = append(updates, u)
	}
	return carryOut(updates)
}

// carryOut writes all prepared updates, then shows them.
func carryOut(updates []keyspace.Update) error {
	for _, u := range updates {
		if u.Ready == nil {
			continue
		}
		if err := u.Ready(); err != nil {
			return err
		}
	}
	for _, u := range updates {
		if err := u.Write(); err != nil {
			return err
		}
	}
	for _, u := range updates {
		if err := u.Show(); err != nil {
			return err
		}
	}
	return nil
}
