package bloomdb

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
)

// folders returns the folders of the key and of the previous key; the latter is empty if there
// is no such key. A key without a folder begins a keyspace only during a key change. Otherwise
// it is the wrong key, and the check of the identity fails.
func (o *Options) folders() (current, previous string, err error) {
	current, made, err := folder.FolderOf(o.Dir, keyring.ID(o.Key))
	if err != nil || o.PreviousKey == nil {
		if err == nil && !made {
			current = o.Dir
		}
		return current, "", err
	}
	id := keyring.ID(*o.PreviousKey)
	previous, madeBefore, err := folder.FolderOf(o.Dir, id)
	switch {
	case err != nil:
		return "", "", err
	case !made && !madeBefore:
		current, previous = o.Dir, folder.KeyFolder(o.Dir, id)
	}
	return current, previous, nil
}

// openKeys opens the keyspace of the key, and that of the previous key if there is one. The
// caller has locked the state folder.
func openKeys(o Options) (keys []*keyspace.Keyspace, err error) {
	current, previous, err := o.folders()
	if err != nil {
		return nil, err
	}
	// Reports made before a key is used for the first time are in the ledger only.
	relist := o.PreviousKey != nil
	ks, err := openKeyspace(o, current, relist)
	if err != nil {
		return nil, err
	}
	if o.PreviousKey == nil {
		ks.NameUnused(o.Dir)
		return []*keyspace.Keyspace{ks}, nil
	}
	p := o
	p.Key, p.PreviousKey = *o.PreviousKey, nil
	p.Log = o.Log.With("federation", keyring.ID(p.Key))
	before, err := openKeyspace(p, previous, relist)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("previous federation key: %w", err), ks.Journal.Close())
	}
	keys = []*keyspace.Keyspace{ks, before}
	if err := uniteMuted(keys); err != nil {
		return nil, errors.Join(err, ks.Journal.Close(), before.Journal.Close())
	}
	o.Log.Info("the federation key is rolled over", "current", keyring.ID(o.Key), "previous", keyring.ID(p.Key),
		"previous_is_of_use_until", previousUntil(ks, before).UTC().Format(time.RFC3339))
	ks.WarnOfNever(previous)
	return keys, nil
}

// previousUntil returns when the last reports made before the key change expire. If a site has
// exchanged its two keys, the previous key is the newer one.
func previousUntil(ks, before *keyspace.Keyspace) time.Time {
	until := ks.PreviousUntil()
	if later := before.PreviousUntil(); later.After(until) {
		return later
	}
	return until
}

// openKeyspace opens the keyspace in a folder. With relist, a new one lacks the reports of the
// ledger, see MustRelist. It creates a missing folder durably: otherwise a
// crash could remove a folder with acknowledged reports.
func openKeyspace(o Options, f string, relist bool) (*keyspace.Keyspace, error) {
	if f != o.Dir {
		if err := os.MkdirAll(f, 0o700); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
		if err := folder.Sync(o.Dir); err != nil {
			return nil, fmt.Errorf("state folder: %w", err)
		}
	}
	o.Dir = f
	ks := keyspace.New(keyspace.Config{Settings: o.settings(), Key: o.Key, Members: o.Members, SigningKey: o.SigningKey, Keeper: o.keeper, Mending: o.mending, Relist: relist, NewFile: o.newFile})
	return ks, ks.Load()
}

// uniteMuted mutes and drops in every keyspace the sites that are muted or dropped in another
// one. They differ if one keyspace is new, or if a fault occurred between the two changes.
func uniteMuted(keys []*keyspace.Keyspace) error {
	for _, from := range keys {
		for _, m := range from.Store.View.Load().Trusted.Muted {
			for _, ks := range keys {
				if err := ks.TakeMuted(m); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
