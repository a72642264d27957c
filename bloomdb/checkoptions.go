package bloomdb

import (
	"errors"
	"io/fs"
	"os"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// RefuseNewer returns an error that wraps ErrNewer if a newer version wrote a file. It changes nothing.
func RefuseNewer(dir string) error { return folder.RefuseNewer(dir, fileForms) }

// CheckOptions returns an error if Open would refuse the folder for its identity, its version
// or the options. It changes nothing, and the folder may be in use. It does not read the data:
// CheckFolder does that.
func CheckOptions(o Options) error {
	if err := o.complete(); err != nil {
		return err
	}
	if _, err := os.Stat(o.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil // Open makes it
	}
	if err := RefuseNewer(o.Dir); err != nil {
		return err
	}
	folders, err := folder.KeyFolders(o.Dir)
	if err != nil {
		return err
	}
	keys := [][32]byte{o.Key}
	if o.PreviousKey != nil {
		keys = append(keys, *o.PreviousKey)
	}
	var errs []error
	for _, f := range folders {
		id, err := folder.ReadIdentity(f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		for _, key := range keys {
			if ring := keyring.NewRing(key); keyring.ID(key) == id.KeyID {
				s := o.settings()
				s.Dir = f
				errs = append(errs, id.Check(s, ring.KeyID))
			}
		}
	}
	return errors.Join(errs...)
}
