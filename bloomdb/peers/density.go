package peers

import (
	"fmt"
	"iter"
	"math/bits"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// A cap on the number of bits alone would not bound the errors that a site causes. All bits of a
// key are in one line or two, so a member that sets all bits of some lines, and no others, would
// list every message with a key there: 5 % of all mail with the bits of an eighth of its cap, and
// most mail by its sketches. The hashes are keyed, but members have the key, and choose bits and
// not keys. The same holds for counts. So no line may have more than keys of reports put there.

// withinDensity rejects a section if the cells of its site would lie closer together than those of
// messages. epochs are the parts of the site. The caller holds sitesMu.
func (ps *Peers) withinDensity(o layout.Origin, s wire.DeltaSection, epochs []store.SitePart) error {
	if s.Target.Kind.Counts() {
		if len(epochs) > 0 && epochs[0].Origin != o && folder.CarriesOver(o.Epoch, epochs[0].Origin.Epoch) {
			epochs = epochs[1:] // its counts are included in those of o
		}
		if !isCrowded(o, s.Cells, s.Shape, epochs) {
			return nil
		}
	} else {
		m, _ := ps.sealer.Members.Of(o.Site)
		if !isDense(s.Cells, epochs, ps.opt.MostInLine(s.Target.Kind, s.Shape.Bits(), ps.shareOf(m))) {
			return nil
		}
	}
	ps.useOf(siteTarget{o.Site, s.Target}).capped = true
	return fmt.Errorf("%w: its %s are closer together than those of messages", wire.ErrCapped, s.Target.Kind.Unit())
}

// lineBits is the number of bits of a line.
const lineBits = 64 * uint64(len(filter.Line{}))

// isDense reports whether a line would have more than most ones with the cells.
func isDense(cells []filter.Cell, epochs []store.SitePart, most int) bool {
	for _, all := range lines(cells, epochs) {
		if all.Ones() > most {
			return true
		}
	}
	return false
}

// lines yields, for each line that contains cells, the bits that are there in any epoch, and these
// together with the cells.
func lines(cells []filter.Cell, epochs []store.SitePart) iter.Seq2[*filter.Line, *filter.Line] {
	return func(yield func(had, all *filter.Line) bool) {
		for len(cells) > 0 {
			var had filter.Line
			i := cells[0].Pos / lineBits
			for _, p := range epochs {
				p.AddLine(i, &had)
			}
			all := had
			for len(cells) > 0 && cells[0].Pos/lineBits == i {
				all.Set(cells[0].Pos)
				cells = cells[1:]
			}
			if !yield(&had, &all) {
				return
			}
		}
	}
}

const (
	// manyCounts is the count from which a cell is rare: a site's own chunk of 32 lines has at
	// most 512 such cells.
	manyCounts = store.LargeCount
	// crowdedRate is the share of absent keys with such a count in a block that is rejected. If a
	// chunk has 512 such cells, it is 7e-4.
	crowdedRate = 1.0 / 256
)

// isCrowded reports whether a block would give too many messages that its site has not counted a
// large count, over all its epochs: their counts are added. All epochs have the shape s.
func isCrowded(o layout.Origin, cells []filter.Cell, s layout.Shape, epochs []store.SitePart) bool {
	for len(cells) > 0 {
		block, n, hasLarge := cells[0].Pos/countBlock, 0, false
		for n < len(cells) && cells[n].Pos/countBlock == block {
			hasLarge = hasLarge || cells[n].Value >= manyCounts
			n++
		}
		hasOther := len(epochs) > 1 || len(epochs) == 1 && epochs[0].Origin != o
		if (hasLarge || hasOther) && absentRate(o, block, cells[:n], s, epochs) > crowdedRate {
			return true
		}
		cells = cells[n:]
	}
	return false
}

// The sections of a line of counts, and those of a block.
const (
	countBlock    = 1 << 12
	section       = 32
	lineSections  = 4
	blockSections = countBlock / section
)

// absentRate returns the share of absent keys of a block that have a large count, with some cells
// more.
func absentRate(o layout.Origin, block uint64, fresh []filter.Cell, s layout.Shape, epochs []store.SitePart) float64 {
	var counts [countBlock]uint32 // of each cell, up to manyCounts in each epoch
	for _, c := range fresh {
		counts[c.Pos%countBlock] = min(c.Value, manyCounts)
	}
	var cells []filter.Cell
	for _, p := range epochs {
		cells = p.Block(block, cells[:0])
		for _, c := range cells {
			n, v := &counts[c.Pos%countBlock], min(c.Value, manyCounts)
			if p.Origin == o { // it is the first one
				*n = max(*n, v)
			} else {
				*n += v
			}
		}
	}
	var sections [blockSections]uint32 // a bit for each cell with a large count
	for pos, n := range counts {
		if n >= manyCounts {
			sections[pos/section] |= 1 << (pos % section)
		}
	}
	sum := 0.0
	for line := range slices.Chunk(sections[:], lineSections) {
		rate := 1.0
		for _, large := range line {
			rate *= float64(bits.OnesCount32(large)) / section
		}
		sum += rate
	}
	lines := min(s.Lines-block*blockSections/lineSections, blockSections/lineSections)
	return sum / float64(lines)
}
