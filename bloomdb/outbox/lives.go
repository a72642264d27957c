package outbox

import (
	"github.com/spambloom/spambloom/bloomdb/folder"
)

// Resume tells, before the first NextDelta and after every reconnection, which (epoch, seq) the
// stream of this site ends with (zeros: it is empty or gone).
func (p *Outbox) Resume(epoch, seq uint64) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.dirty = true
	if f := p.flight; f != nil && f.delta.Epoch == epoch && f.delta.Seq == seq {
		p.confirm() // it had arrived; only the answer was lost
	}
	switch {
	case p.isBeyond(epoch, seq):
		p.succeed(epoch)
	case epoch == p.ID.Epoch && seq < p.ID.TailSeq, epoch < p.ID.Epoch && p.ID.TailSeq > 0:
		// The stream was lost. Numbers go on, so that who misses some sees it.
		p.ID.Republish, p.ID.TailSeq = true, 0
		if epoch == p.ID.Epoch {
			p.ID.TailSeq = seq
		}
	case epoch == p.ID.Epoch: // what came after it, if anything, is pending again
		p.ID.TailSeq, p.ID.PublishedSeq = seq, max(p.ID.PublishedSeq, seq)
	}
	if p.ID.Republish && !p.resumed {
		p.leaveOut() // since the last start, changes may not have been kept
	}
	p.resumed = true
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// isBeyond reports whether numbers were given that this folder does not know of: it is
// a backup, or was made by a wrong clock. The caller holds deltaMu.
func (p *Outbox) isBeyond(epoch, seq uint64) bool {
	return epoch > p.ID.Epoch || epoch == p.ID.Epoch && seq > p.ID.ReservedSeq
}

// succeed begins the life after one that others hold. It carries that one over where
// both began with the same folder; the life of another folder, which was made at another
// time, holds what this one does not. The caller holds deltaMu.
func (p *Outbox) succeed(epoch uint64) {
	related := epoch-p.ID.Epoch <= folder.MaxCarried
	p.ID.Enter(folder.NextLife(epoch, related && p.ID.ReservedSeq > 0 || epoch == p.ID.Epoch))
	p.flight = nil
	p.leaveOut()
}

// IsBeyond reports whether (epoch, seq), of a record of this site, is newer than this folder:
// other sites hold an epoch or numbers that it does not continue.
func (p *Outbox) IsBeyond(epoch, seq uint64) bool {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.isBeyond(epoch, seq)
}

// Outlive takes note of a record of this site at (epoch, seq).
func (p *Outbox) Outlive(epoch, seq uint64) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	switch {
	case p.isBeyond(epoch, seq):
		p.succeed(epoch)
	case epoch == p.ID.Epoch && seq > p.ID.PublishedSeq: // a crash has lost that it was said
		p.ID.PublishedSeq, p.spare = seq, p.spare && seq < p.ID.ReservedSeq
	default:
		return nil
	}
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// Tail is the (epoch, seq) with which the stream ended when this site published last; seq 0: with
// nothing of this life.
func (p *Outbox) Tail() (epoch, seq uint64) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.ID.Epoch, p.ID.TailSeq
}
