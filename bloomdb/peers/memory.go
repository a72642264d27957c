package peers

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// partBlock and partCell bound what a block and a cell of a part take, in bytes.
const (
	partBlock = 112
	partCell  = 8
)

// roomForParts refuses a site's record that would make its parts, or those of all,
// take too much memory.
func (ps *Peers) roomForParts(site string, need int64) error {
	limit, total := ps.PartsLimit(), int64(0)
	for _, parts := range ps.store.View.Load().AllParts() {
		for _, p := range parts {
			total += p.Part.Bytes()
		}
	}
	if total+need <= limit/2 {
		return nil
	}
	return ps.partsBytes(site).room(limit, site, need)
}

// partsBytes is the memory that each site's parts take. Sites that may come take
// nothing yet: those named as members, and the one that asks.
func (ps *Peers) partsBytes(site string) memoryUse {
	use := memoryUse{site: 0}
	for name, m := range ps.sealer.Members {
		if m.Trust == wire.TrustFull {
			use[name] = 0
		}
	}
	for _, parts := range ps.store.View.Load().AllParts() {
		for _, p := range parts {
			use[p.Origin.Site] += p.Part.Bytes()
		}
	}
	return use
}

// memoryUse is how many bytes the parts of each site take, all known sites included.
type memoryUse map[string]int64

// room reports whether a site may take need bytes more. Half of the limit is set apart in
// equal shares: what is in its share, a site can always have. The other half is for
// whoever comes first, but no site may take more than half of the limit in all, unless
// it is the only one. So all parts stay within the limit, whatever the sites send, and
// none can keep another one from its share. Where members are not named, shares shrink
// with each name that is heard, and late sites may find nothing left.
func (u memoryUse) room(limit int64, site string, need int64) error {
	share := limit / 2 / int64(len(u))
	total, over := need, int64(0) // over: what all have beyond their shares
	for name, n := range u {
		total += n
		if name == site {
			n += need
		}
		over += max(0, n-share)
	}
	own := u[site] + need
	switch {
	case total > limit:
		return fmt.Errorf("%w: other sites' filters would take %d MiB, at most %d", layout.ErrFull, total>>20, limit>>20)
	case own <= share:
		return nil
	case len(u) > 1 && own > limit/2:
		return fmt.Errorf("%w: the site's filters would take %d MiB, at most %d, half of what is for all", layout.ErrFull, own>>20, limit>>21)
	case over > limit/2:
		return fmt.Errorf("%w: the site's filters would take %d MiB, its share is %d, and what is beyond the shares is used up", layout.ErrFull, own>>20, share>>20)
	}
	return nil
}

// sectionsNeed bounds the memory that sections take in parts.
func sectionsNeed(sections []wire.DeltaSection) int64 {
	need := int64(0)
	for _, s := range sections {
		last := ^uint64(0)
		for _, c := range s.Cells {
			if block := c.Pos / s.Target.Kind.BlockSize(); block != last {
				last = block
				need += partBlock
			}
			need += partCell
		}
	}
	return need
}

// blocksNeed bounds what the coded blocks of a chunk's section take.
func blocksNeed(r wire.RecordReader) int64 {
	need := int64(0)
	for len(r.B) > 0 && !r.Fail {
		r.U32()
		need += partBlock + int64(len(r.Take(int(r.U32()))))
	}
	return need
}
