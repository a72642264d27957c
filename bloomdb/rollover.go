package bloomdb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The federation key gives every position in every filter, so that nothing held under
// one key can be asked under another. While the key is rolled over there are therefore
// two databases, one for each key, in one state folder:
//
//	Report, Revoke, Retouch, Never, Count -> both, durable in both
//	Mute, Drop                                 -> both
//	Judge, Explain                             <- both, as one
//	NextDelta, Apply                           -- each with the members that have its key
//
// The previous one serves the sites that have not rolled over yet, and what was
// reported before; it goes when its reports have aged out. The current one begins empty.
//
// Folders: the state folder itself belongs to the key under which it was first made,
// and each later key has a folder key-ID in it. Identity files say which is whose, and
// are the only thing that does: no file is moved, copied or removed at a roll-over, and
// there is no moment at which a crash could come between two steps. What is no longer
// used stays until someone removes it; Open names the command.

// Previous is the database under Options.PreviousKey, for an exchange of its own; nil
// where none was given. What is done to this one is done to it, too; Close ends both,
// and Run does the periodic work of both.
func (db *DB) Previous() *DB { return db.previous }

// both lists the databases in which this site's own reports stand: this one first. Who
// takes locks of both takes them in this order.
func (db *DB) both() []*DB {
	if db.previous == nil {
		return []*DB{db}
	}
	return []*DB{db, db.previous}
}

// inOrder runs f on both databases and stops at the first error.
func (db *DB) inOrder(f func(*DB) error) error {
	err := f(db)
	if err == nil && db.previous != nil {
		err = f(db.previous)
	}
	return err
}

// inBoth runs f on both databases, whatever comes of it in the one.
func (db *DB) inBoth(f func(*DB) error) error {
	err := f(db)
	if db.previous != nil {
		err = errors.Join(err, f(db.previous))
	}
	return err
}

// ready says that the journals of both can be written, as far as is known.
func (db *DB) ready() error {
	return db.inOrder(func(d *DB) error { return d.journal.ready() })
}

// keyFolderPrefix begins the names of the folders of keys that were rolled over to.
const keyFolderPrefix = "key-"

func keyFolder(dir, keyID string) string { return filepath.Join(dir, keyFolderPrefix+keyID) }

// holdsIdentity says whether a folder, not one below it, is of some key.
func holdsIdentity(folder string) bool {
	_, err := os.Stat(identityPath(folder))
	return err == nil
}

// folderOf says where below a state folder the database of a key is, or is to be made:
// in the state folder itself where that is of this key or of none, else in a folder of
// its own.
func folderOf(dir, keyID string) (folder string, made bool, err error) {
	below := keyFolder(dir, keyID)
	id, err := readIdentity(dir)
	switch {
	case err == nil && id.KeyID == keyID:
		return dir, true, nil
	case holdsIdentity(below):
		return below, true, nil
	case errors.Is(err, fs.ErrNotExist):
		return dir, false, nil
	case err != nil:
		return "", false, err
	}
	return below, false, nil
}

// folders chooses those of the key and of the previous one, which is empty where there
// is no such key. A key that the folder was not made for begins a database of its own
// only beside the one from which it is rolled over: else it is the wrong key, which the
// identity of the state folder will say.
func (o *Options) folders() (current, previous string, err error) {
	current, made, err := folderOf(o.Dir, KeyID(o.Key))
	if err != nil || o.PreviousKey == nil {
		if err == nil && !made {
			current = o.Dir
		}
		return current, "", err
	}
	id := KeyID(*o.PreviousKey)
	previous, madeBefore, err := folderOf(o.Dir, id)
	switch {
	case err != nil:
		return "", "", err
	case !made && !madeBefore:
		current, previous = o.Dir, keyFolder(o.Dir, id)
	}
	return current, previous, nil
}

// openAll opens the database of the key and, where there is one, that of the previous
// key. The state folder is locked.
func openAll(o Options) (*DB, error) {
	current, previous, err := o.folders()
	if err != nil {
		return nil, err
	}
	if o.PreviousKey == nil {
		db, err := openFolder(o, current)
		if err == nil {
			db.nameUnused(o.Dir)
		}
		return db, err
	}
	db, err := openFolder(o, current)
	if err != nil {
		return nil, err
	}
	p := o
	p.Key, p.PreviousKey = *o.PreviousKey, nil
	p.Counts.Burst = 0 // the last minutes are counted once
	p.Log = o.Log.With("federation", KeyID(p.Key))
	if db.previous, err = openFolder(p, previous); err != nil {
		return nil, errors.Join(fmt.Errorf("previous federation key: %w", err), db.journal.close())
	}
	if err := db.uniteMuted(); err != nil {
		return nil, errors.Join(err, db.journal.close(), db.previous.journal.close())
	}
	o.Log.Info("the federation key is rolled over", "current", KeyID(o.Key), "previous", KeyID(p.Key),
		"previous_is_of_use_until", db.previousUntil().UTC().Format(time.RFC3339))
	db.warnOfNever(previous)
	return db, nil
}

// openFolder opens the database of one key in its folder, which it makes where missing,
// durably: what is acknowledged in it must not hang on a name that a crash takes back.
func openFolder(o Options, folder string) (*DB, error) {
	if folder != o.Dir {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
		if err := syncDir(o.Dir); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
	}
	o.Dir = folder
	db, err := newDB(o)
	if err != nil {
		return nil, err
	}
	return db, db.load()
}

// uniteMuted mutes and drops in each database who is muted or dropped in the other one:
// the one may have been made just now, or a fault may have come between the two.
func (db *DB) uniteMuted() error {
	for _, pair := range [][2]*DB{{db, db.previous}, {db.previous, db}} {
		here, there := pair[0], pair[1]
		for _, m := range there.view.Load().trusted.muted {
			known, muted := here.view.Load().trusted.find(m.Site)
			var err error
			if !muted {
				err = here.muteHere(m.Site, true)
			}
			if m.Dropped && !known.Dropped {
				err = errors.Join(err, here.dropHere(m.Site))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// previousUntil is when the last generation of reports that was made before the
// roll-over ages out. It goes by when the current key's folder was made, in this life
// or the ones before.
func (db *DB) previousUntil() time.Time {
	made := time.UnixMilli(int64(min(db.pub.epoch(), uint64(db.opt.Now().UnixMilli()))))
	newest := db.opt.generation(spamFilter, made)
	return db.opt.start(target{spamFilter, newest + int64(db.opt.Reports.Keep)})
}

// nameUnused says which databases below a state folder are of other keys, and how to
// remove them. Nothing is removed here.
func (db *DB) nameUnused(dir string) {
	say := func(folder, command string) {
		id, err := readIdentity(folder)
		if err != nil || folder == db.opt.Dir {
			return
		}
		db.warnOfNever(folder)
		db.opt.Log.Info("the state of another federation key is not used any more and may be removed",
			"folder", folder, "federation", id.KeyID, "command", command)
	}
	say(dir, "cd "+shellWord(dir)+" && rm -f identity segments journal-* *.snapshot *.mask *.votes never-*")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // Open has read it, and nothing depends on this
	}
	for _, e := range entries {
		if e.IsDir() && strings.HasPrefix(e.Name(), keyFolderPrefix) {
			folder := filepath.Join(dir, e.Name())
			say(folder, "rm -r "+shellWord(folder))
		}
	}
}

// shellWord quotes a path for a shell.
func shellWord(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// warnOfNever tells how many messages are on the never-list of another key's folder
// only. Their hashes are of no use under this one, and they do not age.
func (db *DB) warnOfNever(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // as in nameUnused
	}
	n := 0
	for _, e := range entries {
		if isNeverPath(e.Name()) && !slices.ContainsFunc(db.never.all(), func(own *neverEntry) bool {
			return filepath.Base(neverPath(folder, own.name)) == e.Name()
		}) {
			n++
		}
	}
	if n > 0 {
		db.opt.Log.Warn("messages are on the never-list under the previous federation key only; declare them again with spambloom never",
			"messages", n, "folder", folder)
	}
}
