package outbox

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/layout"
)

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

// Relisted records durably that the folder has all reports of the ledger: the caller has saved them, if
// MustRelist, and otherwise the journal has those after the snapshots, in segments whose length is known:
// then a later write does, as a start on a full disk goes on. No report is being made.
func (p *Outbox) Relisted() error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	if p.lastReport != nil {
		saved := p.lastReport()
		p.ID.SavedReport, p.nextSaved, p.dirty = &saved, saved, true
	}
	if !p.ID.Relist {
		return nil
	}
	p.ID.Relist = false
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// hasBegun reports whether a period has begun of which this site has reports already: its clock was
// ahead. Other sites lack them. A snapshot has left them out so far, and made sites read past the deltas;
// what was not published is gone with a crash. The caller holds deltaMu.
func (p *Outbox) hasBegun() bool {
	before := p.early
	p.early = 0
	for _, g := range p.Store.View.Load().Reports { // newest first
		for _, kind := range layout.ReportKinds {
			if p.isFuture(layout.Target{Kind: kind, Gen: g.Num}) && g.Listing(kind).Own != nil {
				p.early = g.Num
			}
		}
	}
	p.dirty = p.dirty || p.early != before
	return before != 0 && (p.early == 0 || p.early > before)
}
