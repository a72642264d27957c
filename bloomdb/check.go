package bloomdb

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spambloom/spambloom/bloomdb/backup"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Backup opens all files that this database has on disk now, in all keyspaces. It omits the
// state of keys that are not in use, and damaged files that were set aside.
//
// The identity in the backup begins a new epoch, which continues the current one: the restored
// folder must not assign a number again that was assigned after the backup. Errors: ErrClosed,
// or an I/O error. The caller calls Close.
func (db *DB) Backup() (*backup.Backup, error) {
	if db.ks.Closed.Load() {
		return nil, layout.ErrClosed
	}
	return backup.Take(filepath.Dir(db.lock.Path()), db.keys)
}

// Check verifies the invariants in memory and on disk: the cells of parts agree with their
// totals, the joined bits are the union of the trusted parts, generations are in order, and
// every file in the folder can be read. No reports or deltas should arrive while it runs.
func (db *DB) Check() error { return db.checkEach((*keyspace.Keyspace).Check) }

// CheckFiles reads every file of the state folder as Open would, and returns one error that
// names all damaged files. Reports and mail are not delayed meanwhile; snapshots wait.
func (db *DB) CheckFiles() error { return db.checkEach((*keyspace.Keyspace).CheckFiles) }

// checkEach runs a check on every keyspace. Errors of the second one name the previous key.
func (db *DB) checkEach(check func(*keyspace.Keyspace) error) (err error) {
	for i, ks := range db.keys {
		e := check(ks)
		if e != nil && i > 0 {
			e = fmt.Errorf("previous federation key: %w", e)
		}
		err = errors.Join(err, e)
	}
	return err
}

// CheckFolder reads every file of a state folder that no database has open, as Open would. Its
// error names all damaged and missing files. It needs no key, so it does not verify the votes
// of other sites. Open sets those aside if they are damaged.
func CheckFolder(dir string) error {
	folders, err := folder.KeyFolders(dir)
	if err != nil {
		return err
	}
	found := false
	for _, f := range folders {
		id, e := folder.ReadIdentity(f)
		if errors.Is(e, fs.ErrNotExist) {
			continue
		}
		found = true
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		err = errors.Join(err, checkKey(id, f))
	}
	if !found {
		return fmt.Errorf("%s is missing", folder.IdentityPath(dir))
	}
	return err
}

// checkKey checks the files of one keyspace. id is the identity of its folder.
func checkKey(id folder.Identity, dir string) error {
	key, err := hex.DecodeString(id.KeyID)
	if err != nil || len(key) != 8 {
		return folder.Damaged(folder.IdentityPath(dir), 0, fmt.Errorf("key id %q", id.KeyID))
	}
	return errors.Join(repair.CheckListed(id, dir), repair.ReadAll(dir, [8]byte(key), func(name string) error {
		gen, ok := vote.ParseOwnVotesPath(name)
		if !ok {
			return nil
		}
		_, _, err := wire.ReadOwnVotes(filepath.Join(dir, name), [8]byte(key), gen, id.ReportPeriod)
		return err
	}))
}
