package outbox

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
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

// LosesEnd reports whether a segment of the journal has fewer bytes than were on disk when the identity was
// written. Then the folder may lack reports of the ledger, as with LackReports. It is called by Open.
func (p *Outbox) LosesEnd(segment uint32, size int64) bool {
	end := p.ID.JournalEnd
	if segment != end.Segment() || folder.MakeLSN(segment, size) >= end {
		return false
	}
	p.ID.Republish, p.ID.Relist, p.dirty = true, true, true
	return true
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
