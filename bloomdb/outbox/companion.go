package outbox

import (
	"path/filepath"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// AddCompanion records durably that a file beside the database contains data of this site that must
// not be lost.
func (p *Outbox) AddCompanion(path string) error {
	name, err := filepath.Rel(p.Opt.Dir, path)
	if err != nil {
		return err
	}
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if slices.Contains(p.ID.Companions, name) {
		return nil
	}
	if err := folder.Sync(filepath.Dir(path)); err != nil {
		return err
	}
	p.ID.Companions, p.dirty = append(slices.Clone(p.ID.Companions), name), true
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}
