package peers

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// partBlock and partCell bound the memory of a block and of a cell of a part, in bytes.
const (
	partBlock = 112
	partCell  = 8
)

// partsLimit returns the memory limit of all parts in bytes: twice what this site's own filters
// take when they are full, and at least 256 MiB.
func (ps *Peers) partsLimit() int64 {
	reports, counts := ps.opt.FullMemory()
	return max(ps.leastParts, 2*(reports+counts))
}

// roomForParts rejects a record if the parts of its site, or of all sites, would take too much
// memory.
func (ps *Peers) roomForParts(site string, need int64) error {
	limit, total := ps.partsLimit(), int64(0)
	for _, parts := range ps.store.View.Load().AllParts() {
		for _, p := range parts {
			total += p.Bytes()
		}
	}
	if total+need <= limit/2 {
		return nil
	}
	return ps.partsBytes(site).room(limit, site, need)
}

// partsBytes returns the memory of each site's parts. It includes sites that may come: those that
// are named as members, and the one that asks.
func (ps *Peers) partsBytes(site string) memoryUse {
	use := memoryUse{site: 0}
	for name, m := range ps.sealer.Members {
		if m.Trust == wire.TrustFull {
			use[name] = 0
		}
	}
	for _, parts := range ps.store.View.Load().AllParts() {
		for _, p := range parts {
			use[p.Origin.Site] += p.Bytes()
		}
	}
	return use
}

// memoryUse is the memory in bytes of each site's parts. It contains all known sites.
type memoryUse map[string]int64

// room returns ErrFull unless a site may take need more bytes. Half of the limit is divided into equal
// shares, one for each site. A site can always use its share. The other half is available to all
// sites, first come, first served. No site may take more than half of the limit in all, unless it
// is the only one. All parts therefore stay within the limit, and no site can take another one's
// share. If members are not named, shares shrink with each new name, and late sites may find no
// room.
func (u memoryUse) room(limit int64, site string, need int64) error {
	share := limit / 2 / int64(len(u))
	total, over := need, int64(0) // over: what all sites take beyond their shares
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
		return fmt.Errorf("%w: other sites' filters would take %d MiB, must be at most %d", layout.ErrFull, total>>20, limit>>20)
	case own <= share:
		return nil
	case len(u) > 1 && own > limit/2:
		return fmt.Errorf("%w: the site's filters would take %d MiB, must be at most %d, half of the limit for all sites", layout.ErrFull, own>>20, limit>>21)
	case over > limit/2:
		return fmt.Errorf("%w: the site's filters would take %d MiB, its share is %d, and the room beyond the shares is used up", layout.ErrFull, own>>20, share>>20)
	}
	return nil
}

// sectionsNeed bounds the memory of sections in parts.
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

// blocksNeed bounds the memory of the encoded blocks of a chunk's section.
func blocksNeed(r wire.RecordReader) int64 {
	need := int64(0)
	for len(r.B) > 0 && !r.Fail {
		r.U32()
		need += partBlock + int64(len(r.Take(int(r.U32()))))
	}
	return need
}
