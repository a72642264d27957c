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
	n := last()
	p.knownReport = p.ID.LastReport
	if saved := p.ID.SavedReport; saved != nil {
		p.knownReport = min(p.knownReport, *saved)
	}
	p.nextSaved = min(p.knownReport, n)
	if n < p.ID.LastReport {
		err := folder.Damaged(path, 0, fmt.Errorf("%w: its last report is number %d, and there was a number %d", folder.ErrOlder, n, p.ID.LastReport))
		if mend == nil {
			return err
		}
		if err := mend(err); err != nil {
			return err
		}
		isOlder = true // the filters know better than the copy: nothing to list from it
		p.knownReport, p.nextSaved, p.ID.SavedReport = p.ID.LastReport, n, &n
	}
	if !known {
		if err := folder.Sync(filepath.Dir(path)); err != nil {
			return err
		}
		// A new folder beside a ledger with reports: they were listed in filters that are gone.
		p.ID.Relist = p.ID.Relist || n > 0
		p.ID.Companions = slices.Sorted(slices.Values(append(slices.Clone(p.ID.Companions), name)))
	}
	p.lastReport, p.dirty = last, true
	if known && !isOlder {
		return nil
	}
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// KnownReport returns the number of a report up to which the folder had all when AddCompanion read its
// identity: snapshots contained it. Later ones are in the journal, if that has its end.
func (p *Outbox) KnownReport() uint64 {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.knownReport
}

// ForgetReports records that the ledger is missing, and begins anew.
func (p *Outbox) ForgetReports() {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.ID.LastReport, p.ID.SavedReport, p.nextSaved, p.dirty = 0, new(uint64), 0, true
}
