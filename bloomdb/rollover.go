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
// one key can be looked up under another. While the key is rolled over there are therefore
// two keyspaces in one state folder:
//
//	Report, Revoke, Retouch, Never, Count -> both, durable in both
//	Mute, Drop                            -> both
//	Judge, Explain                        <- both, united
//	NextDelta, Apply                      -- each with the members that have its key
//
// The previous one serves the sites that have not rolled over yet, and contains what was
// reported before; it can be removed when its reports have expired. The current one begins
// empty.
//
// Folders: the state folder itself belongs to the key under which it was first made,
// and each later key has a folder key-ID in it. Only the identity files record which folder
// belongs to which key. No file is moved, copied or removed at a roll-over, so that no
// crash can come between two steps. Files that are no longer used stay until an
// administrator removes them; Open logs the command.

// keyFolderPrefix begins the names of the folders of keys that were rolled over to.
const keyFolderPrefix = "key-"

func keyFolder(dir, keyID string) string { return filepath.Join(dir, keyFolderPrefix+keyID) }

// holdsIdentity reports whether a folder itself belongs to some key.
func holdsIdentity(folder string) bool {
	_, err := os.Stat(identityPath(folder))
	return err == nil
}

// folderOf returns where below a state folder the keyspace of a key is, or is to be made:
// in the state folder itself if that belongs to this key or to none, else in a folder of
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

// folders chooses the folders of the key and of the previous one; the latter is empty if
// there is no such key. A key for which the folder was not made begins a keyspace only
// during a roll-over. Otherwise it is the wrong key, and the check of the identity fails.
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

// openKeys opens the keyspace of the key and, if there is one, that of the previous key.
// The caller has locked the state folder.
func openKeys(o Options) (keys []*keyspace, err error) {
	current, previous, err := o.folders()
	if err != nil {
		return nil, err
	}
	ks, err := openKeyspace(o, current)
	if err != nil {
		return nil, err
	}
	if o.PreviousKey == nil {
		ks.nameUnused(o.Dir)
		return []*keyspace{ks}, nil
	}
	p := o
	p.Key, p.PreviousKey = *o.PreviousKey, nil
	p.Log = o.Log.With("federation", KeyID(p.Key))
	before, err := openKeyspace(p, previous)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("previous federation key: %w", err), ks.journal.close())
	}
	keys = []*keyspace{ks, before}
	if err := uniteMuted(keys); err != nil {
		return nil, errors.Join(err, ks.journal.close(), before.journal.close())
	}
	o.Log.Info("the federation key is rolled over", "current", KeyID(o.Key), "previous", KeyID(p.Key),
		"previous_is_of_use_until", ks.previousUntil().UTC().Format(time.RFC3339))
	ks.warnOfNever(previous)
	return keys, nil
}

// openKeyspace opens the keyspace in a folder, which it makes durably if it is missing: an
// acknowledged report must not depend on a name that a crash takes back.
func openKeyspace(o Options, folder string) (*keyspace, error) {
	if folder != o.Dir {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
		if err := syncDir(o.Dir); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
	}
	o.Dir = folder
	ks := newKeyspace(config{o.settings(), o.Key, o.Members, o.SigningKey, o.keeper, o.mending, o.newFile})
	return ks, ks.load()
}

// uniteMuted mutes and drops in every keyspace the sites that are muted or dropped in
// another one. One of them may have been made just now, or a fault may have come between
// the two changes.
func uniteMuted(keys []*keyspace) error {
	for _, from := range keys {
		for _, m := range from.store.view.Load().trusted.muted {
			for _, ks := range keys {
				if err := ks.takeMuted(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// previousUntil returns when the last generation of reports made before the roll-over
// expires. The roll-over is when the current key's folder was made, in this life or an
// earlier one.
func (ks *keyspace) previousUntil() time.Time {
	made := time.UnixMilli(int64(min(ks.pub.epoch(), uint64(ks.opt.Now().UnixMilli()))))
	newest := ks.opt.generation(spamFilter, made)
	return ks.opt.start(target{spamFilter, newest + int64(ks.opt.Reports.Keep)})
}

// nameUnused logs which keyspaces below a state folder belong to other keys, and how to
// remove them. Nothing is removed here.
func (ks *keyspace) nameUnused(dir string) {
	say := func(folder, command string) {
		id, err := readIdentity(folder)
		if err != nil || folder == ks.opt.Dir {
			return
		}
		ks.warnOfNever(folder)
		ks.opt.Log.Info("the state of another federation key is not used any more and may be removed",
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

// warnOfNever logs how many messages are on the never-list of another key's folder only.
// Their hashes are of no use under this key, and they do not expire.
func (ks *keyspace) warnOfNever(folder string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return // as in nameUnused
	}
	n := 0
	for _, e := range entries {
		if isNeverPath(e.Name()) && !slices.ContainsFunc(ks.never.all(), func(own *neverEntry) bool {
			return filepath.Base(neverPath(folder, own.name)) == e.Name()
		}) {
			n++
		}
	}
	if n > 0 {
		ks.opt.Log.Warn("messages are on the never-list under the previous federation key only; declare them again with spambloom never",
			"messages", n, "folder", folder)
	}
}
