package outbox

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// AddCompanion records durably that a file beside the database contains data of this site that must
// not be lost. last returns the number of the last report in it that is on disk, and each identity
// that is written from now on has this number. A file without reports that there were is an older
// copy, and refused as damage, unless mend leaves a mark of the loss.
func (p *Outbox) AddCompanion(path string, last func() uint64, mend func(fault error) error) error {
	name, err := filepath.Rel(p.Opt.Dir, path)
	if err != nil {
		return err
	}
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	known, isOlder := slices.Contains(p.ID.Companions, name), false
	p.knownReport = p.ID.LastReport
	if n := last(); n < p.ID.LastReport {
		err := folder.Damaged(path, 0, fmt.Errorf("%w: its last report is number %d, and there was a number %d", folder.ErrOlder, n, p.ID.LastReport))
		if mend == nil {
			return err
		}
		if err := mend(err); err != nil {
			return err
		}
		isOlder = true // the filters know better than the copy: nothing to list from it
	}
	if !known {
		if err := folder.Sync(filepath.Dir(path)); err != nil {
			return err
		}
		// A new folder beside a ledger with reports: they were listed in filters that are gone.
		p.ID.Relist = p.ID.Relist || last() > 0
		p.ID.Companions = slices.Sorted(slices.Values(append(slices.Clone(p.ID.Companions), name)))
	}
	p.lastReport, p.dirty = last, true
	if known && !isOlder {
		return nil
	}
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// KnownReport returns the number of the last report that the identity knew when AddCompanion read it.
func (p *Outbox) KnownReport() uint64 {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.knownReport
}

// ForgetReports records that the ledger is missing, and begins anew.
func (p *Outbox) ForgetReports() {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.ID.LastReport, p.dirty = 0, true
}
