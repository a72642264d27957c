package outbox

import "time"

// LackReports is Republish before a part of the journal is given up. Until Relisted, the folder may lack
// reports of the ledger: if the repair is interrupted, the next start lists them.
func (p *Outbox) LackReports(dir string, now time.Time) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.ID.Republish, p.ID.Relist, p.dirty = true, true, true
	return p.writeLocked(dir, now)
}

// MustRelist reports whether the folder lacks reports of the ledger: they were made while the site
// did not use its key, its filters are gone, or a repair was interrupted.
func (p *Outbox) MustRelist() bool {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.ID.Relist
}

// Relisted records durably that the folder has all reports of the ledger. The caller has saved
// them.
func (p *Outbox) Relisted() error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.ID.Relist = false
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}
