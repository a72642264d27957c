package keyspace

import (
	"errors"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/repair"
)

// Check verifies the filters in memory and the files of the keyspace.
func (ks *Keyspace) Check() error { return errors.Join(ks.Store.Check(), ks.CheckFiles()) }

// CheckFiles reads all files of the keyspace and returns every damage.
func (ks *Keyspace) CheckFiles() error {
	ks.SnapshotMu.Lock()
	defer ks.SnapshotMu.Unlock()
	if err := ks.Journal.Flush(); err != nil {
		return err
	}
	_, err := folder.ReadIdentity(ks.Settings.Dir)
	return errors.Join(err, repair.ReadAll(ks.Settings.Dir, ks.Ring.KeyID, ks.Votes.CheckVotes))
}
