package bloomdb

// update is one change of one keyspace, which is prepared. It is written, then shown.
type update struct {
	ready   func() error // reports why it cannot be written, as far as is known; nil: nothing is known
	write   func() error // returns when it is on disk
	show    func() error // makes it visible to readers
	release func()       // ends it, whether or not it was shown; nil: nothing to end
}

// update makes one change in all keyspaces. Nothing is written while one of them has a
// fault, and nothing is shown before all of them have it on disk: no reader sees a change
// that a crash could take back. If the second keyspace's fault is found by the write
// itself, the change stays on disk in the first one: a restart may show there what was
// never acknowledged.
func (db *DB) update(prepare func(*keyspace) (update, error)) error {
	updates := make([]update, 0, len(db.keys))
	for _, ks := range db.keys {
		u, err := prepare(ks)
		if u.release != nil {
			defer u.release()
		}
		if err != nil {
			return err
		}
		updates = append(updates, u)
	}
	return carryOut(updates)
}

// carryOut writes all prepared updates, and then shows them.
func carryOut(updates []update) error {
	for _, u := range updates {
		if u.ready == nil {
			continue
		}
		if err := u.ready(); err != nil {
			return err
		}
	}
	for _, u := range updates {
		if err := u.write(); err != nil {
			return err
		}
	}
	for _, u := range updates {
		if err := u.show(); err != nil {
			return err
		}
	}
	return nil
}
