package bloomdb

import "time"

// A site lives in epochs. Which one it lives in, and which numbers it has given, stands
// in the identity and in records that the site has signed, and nowhere else: ids in
// Redis are written by anybody.

// newEpoch names the life of a folder made at a time, in milliseconds since
// 1970. It is even. A life that goes on with the filters of the one before, since
// that one's numbers can't be used any more, is odd: its counts hold those of the
// life before, and are not added to them. A life is even, too, that only comes after
// another one: the folder was lost, and the clock was put back.
func newEpoch(now time.Time) uint64 { return uint64(max(2, now.UnixMilli())) &^ 1 }

// nextLife is the least odd epoch after another, or the least even one where the life
// does not carry over what others hold of the one before.
func nextLife(epoch uint64, carries bool) uint64 {
	if carries {
		return (epoch + 1) | 1
	}
	return (epoch + 2) &^ 1
}

// maxCarried is how far apart, at most, the epochs are of lives that began with each
// other's filters: each takes the least odd number after the one before. Folders
// are made at times that differ by more.
const maxCarried = 64

// carriesOver says that a life began with the filters of an earlier one, or with
// those of one that did.
func carriesOver(epoch, earlier uint64) bool { return epoch&1 == 1 && epoch-earlier <= maxCarried }

// Resume tells, before the first NextDelta and after every reconnection, which (epoch, seq) the
// stream of this site ends with (zeros: it is empty or gone).
func (p *publisher) Resume(epoch, seq uint64) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	p.dirty = true
	if f := p.flight; f != nil && f.delta.Epoch == epoch && f.delta.Seq == seq {
		p.confirm() // it had arrived; only the answer was lost
	}
	switch {
	case p.isBeyond(epoch, seq):
		p.succeed(epoch)
	case epoch == p.id.Epoch && seq < p.id.TailSeq, epoch < p.id.Epoch && p.id.TailSeq > 0:
		// The stream was lost. Numbers go on, so that who misses some sees it.
		p.id.Republish, p.id.TailSeq = true, 0
		if epoch == p.id.Epoch {
			p.id.TailSeq = seq
		}
	case epoch == p.id.Epoch: // what came after it, if anything, is pending again
		p.id.TailSeq, p.id.PublishedSeq = seq, max(p.id.PublishedSeq, seq)
	}
	if p.id.Republish && !p.resumed {
		p.leaveOut() // since the last start, changes may not have been kept
	}
	p.resumed = true
	return p.writeLocked(p.opt.Dir, p.opt.Now())
}

// isBeyond reports whether numbers were given that this folder does not know of: it is
// a backup, or was made by a wrong clock. deltaMu is held.
func (p *publisher) isBeyond(epoch, seq uint64) bool {
	return epoch > p.id.Epoch || epoch == p.id.Epoch && seq > p.id.ReservedSeq
}

// succeed begins the life after one that others hold. It carries that one over where
// both began with the same folder; the life of another folder, which was made at another
// time, holds what this one does not. deltaMu is held.
func (p *publisher) succeed(epoch uint64) {
	related := epoch-p.id.Epoch <= maxCarried
	p.id.enter(nextLife(epoch, related && p.id.ReservedSeq > 0 || epoch == p.id.Epoch))
	p.flight = nil
	p.leaveOut()
}

// enter begins a life with the given epoch. It has published nothing yet, and must publish
// a snapshot first.
func (id *identity) enter(epoch uint64) {
	id.Epoch, id.Republish = epoch, true
	id.PublishedSeq, id.TailSeq, id.ReservedSeq, id.LeftSeq = 0, 0, 0, 0
}

// IsBeyond reports whether (epoch, seq), of a record of this site, is newer than this folder:
// other sites hold an epoch or numbers that it does not continue.
func (p *publisher) IsBeyond(epoch, seq uint64) bool {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.isBeyond(epoch, seq)
}

// Outlive takes note of a record of this site at (epoch, seq).
func (p *publisher) Outlive(epoch, seq uint64) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	switch {
	case p.isBeyond(epoch, seq):
		p.succeed(epoch)
	case epoch == p.id.Epoch && seq > p.id.PublishedSeq: // a crash has lost that it was said
		p.id.PublishedSeq, p.spare = seq, p.spare && seq < p.id.ReservedSeq
	default:
		return nil
	}
	return p.writeLocked(p.opt.Dir, p.opt.Now())
}

// Tail is the (epoch, seq) with which the stream ended when this site published last; seq 0: with
// nothing of this life.
func (p *publisher) Tail() (epoch, seq uint64) {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	return p.id.Epoch, p.id.TailSeq
}
