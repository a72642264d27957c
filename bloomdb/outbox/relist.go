package outbox

// MustRelist reports whether the folder lacks reports of the ledger, which were made while the site
// did not use its key.
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
