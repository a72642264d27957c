package bloomdb

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// RestsOn notes durably that a file beside the database holds what this site must not lose.
func (p *publisher) RestsOn(path string) error {
	name, err := filepath.Rel(p.opt.Dir, path)
	if err != nil {
		return err
	}
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if slices.Contains(p.id.Companions, name) {
		return nil
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return err
	}
	p.id.Companions, p.dirty = append(slices.Clone(p.id.Companions), name), true
	return p.writeLocked(p.opt.Dir, p.opt.Now())
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
		if ks.files.mending == nil {
			missing = errors.Join(missing, damaged(path, 0, err))
			continue
		}
		if err := ks.files.mendMissing(path, err, "all that it held"); err != nil {
			return err
		}
	}
	return missing
}
