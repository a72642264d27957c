package bloomdb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// RestsOn notes durably that a file beside the database holds what this site must not lose.
// From then on Open refuses with a *DamageError if the file is missing or empty. The caller
// has written the file.
func (ks *keyspace) RestsOn(path string) error {
	name, err := filepath.Rel(ks.opt.Dir, path)
	if err != nil {
		return err
	}
	p := &ks.pub
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if slices.Contains(p.id.Companions, name) {
		return nil
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return err
	}
	p.id.Companions, p.dirty = append(slices.Clone(p.id.Companions), name), true
	return p.writeLocked(ks.opt.Dir, ks.opt.Now())
}

// checkCompanions names the companions that are missing or empty. Repair goes on without
// them; an empty NAME.damaged keeps the loss in the status until it is removed.
func (ks *keyspace) checkCompanions(id identity) (missing error) {
	for _, name := range id.Companions {
		path := filepath.Join(ks.opt.Dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && info.Size() > 0:
			continue
		case err == nil:
			err = errors.New("the file is empty")
		case errors.Is(err, fs.ErrNotExist):
			err = errMissing
		}
		if ks.mending == nil {
			missing = errors.Join(missing, damaged(path, 0, err))
			continue
		}
		if err := ks.mendMissing(path, err, "all that it held"); err != nil {
			return err
		}
	}
	return missing
}
