package outbox

import (
	"github.com/spambloom/spambloom/bloomdb/folder"
)

// Resume sets the (epoch, seq) at the end of this site's stream (zeros: the stream is empty or
// lost). The caller calls it before the first NextDelta and after every reconnection.
func (p *Outbox) Resume(epoch, seq uint64) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.dirty = true
	if f := p.flight; f != nil && f.delta.Epoch == epoch && f.delta.Seq == seq {
		p.confirm() // the delta had arrived; only the answer was lost
	}
	switch {
	case p.isBeyond(epoch, seq):
		p.beginNextEpoch(epoch)
	case epoch == p.ID.Epoch && seq < p.ID.TailSeq, epoch < p.ID.Epoch && p.ID.TailSeq > 0:
		// The stream was lost. Numbers continue, so that receivers detect a gap.
		p.ID.Republish, p.ID.TailSeq = true, 0
		if epoch == p.ID.Epoch {
			p.ID.TailSeq = seq
		}
	case epoch == p.ID.Epoch: // later changes, if any, are pending again
		p.ID.TailSeq, p.ID.PublishedSeq = seq, max(p.ID.PublishedSeq, seq)
	}
	if p.ID.Republish && !p.resumed {
		p.skipNumber() // since the last start, changes may not have been collected
	}
	p.resumed = true
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// isBeyond reports whether numbers are in use that this folder has not assigned: the folder was
// restored from a backup, or was made while the clock was wrong. The caller holds deltaMu.
func (p *Outbox) isBeyond(epoch, seq uint64) bool {
	return epoch > p.ID.Epoch || epoch == p.ID.Epoch && seq > p.ID.ReservedSeq
}

// beginNextEpoch begins the epoch after one that other sites hold. It continues that epoch if both
// began with the same folder. The epoch of another folder, made at another time, contains data
// that this one does not. The caller holds deltaMu.
func (p *Outbox) beginNextEpoch(epoch uint64) {
	related := epoch-p.ID.Epoch <= folder.MaxCarried
	p.ID.Enter(folder.NextEpoch(epoch, related && p.ID.ReservedSeq > 0 || epoch == p.ID.Epoch))
	p.flight = nil
	p.skipNumber()
}

// IsBeyond reports whether (epoch, seq), from a record of this site, is newer than this folder:
// other sites hold an epoch or numbers that it does not continue.
func (p *Outbox) IsBeyond(epoch, seq uint64) bool {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.isBeyond(epoch, seq)
}

// Supersede makes this site's position newer than a record of it at (epoch, seq).
func (p *Outbox) Supersede(epoch, seq uint64) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	switch {
	case p.isBeyond(epoch, seq):
		p.beginNextEpoch(epoch)
	case epoch == p.ID.Epoch && seq > p.ID.PublishedSeq: // a crash lost the record that this number was published
		p.ID.PublishedSeq, p.spare = seq, p.spare && seq < p.ID.ReservedSeq
	default:
		return nil
	}
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// BeginEpoch begins the next epoch: another daemon of this name has used the number of the delta in
// flight. A snapshot becomes due, because other sites have taken the other delta for it.
func (p *Outbox) BeginEpoch() error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.beginNextEpoch(p.ID.Epoch)
	return p.writeLocked(p.Opt.Dir, p.Opt.Now())
}

// Tail returns the (epoch, seq) at the end of the stream when this site last published. If seq is
// 0, the stream contained nothing of this epoch.
func (p *Outbox) Tail() (epoch, seq uint64) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.ID.Epoch, p.ID.TailSeq
}
