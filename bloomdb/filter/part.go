package filter

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Part is a filter as received from another site: the cells it has sent so far,
// held block by block in coded form. It takes close to the least memory that
// its content needs: about a tenth of a full filter for one that is a hundredth
// full, and for bits no more than a full one, but for the blocks' overhead. A
// lookup decodes one or two blocks: some 15 ns for each cell in them. Reads and
// merges may run at the same time.
type Part struct {
	size   uint64
	values bool
	block  uint64 // cells of a block

	mu     sync.RWMutex // guards blocks; the slices in it are never changed
	blocks map[uint64][]byte

	cells atomic.Int64
	bytes atomic.Int64
}

// blockOverhead is what a block takes beside its code: map entry and header.
const blockOverhead = 96

// NewPart makes an empty part of a filter of size cells; values says whether
// its cells count or are bits.
func NewPart(size uint64, values bool) *Part {
	return &Part{size: size, values: values, block: BlockSize(values), blocks: make(map[uint64][]byte)}
}

// Size is the number of cells of the whole filter.
func (p *Part) Size() uint64 { return p.size }

// Cells is the number of non-zero cells held.
func (p *Part) Cells() int64 { return p.cells.Load() }

// Bytes is the memory held.
func (p *Part) Bytes() int64 { return p.bytes.Load() }

// Merge joins cells, ascending and distinct, by maximum. An error means that
// they are not what was promised, and that nothing was changed.
func (p *Part) Merge(cells []Cell) error {
	for i, c := range cells {
		if c.Pos >= p.size || c.Value == 0 || c.Value > MaxValue || i > 0 && c.Pos <= cells[i-1].Pos {
			return fmt.Errorf("cell %d of %d: position %d, value %d", i, len(cells), c.Pos, c.Value)
		}
	}
	for len(cells) > 0 {
		block := cells[0].Pos / p.block
		n := 1
		for n < len(cells) && cells[n].Pos/p.block == block {
			n++
		}
		if err := p.mergeBlock(block, cells[:n]); err != nil {
			return err
		}
		cells = cells[n:]
	}
	return nil
}

func (p *Part) mergeBlock(block uint64, cells []Cell) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, err := p.decode(block, nil)
	if err != nil {
		return err
	}
	joined := join(old, cells)
	code := AppendCells(nil, block*p.block, joined, p.values)
	if was, ok := p.blocks[block]; ok {
		p.bytes.Add(-int64(len(was)))
	} else {
		p.bytes.Add(blockOverhead)
	}
	p.blocks[block] = code
	p.bytes.Add(int64(len(code)))
	p.cells.Add(int64(len(joined) - len(old)))
	return nil
}

// join merges two ascending lists; where both have a position, the larger value
// stays.
func join(a, b []Cell) []Cell {
	out := make([]Cell, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].Pos < b[0].Pos:
			out, a = append(out, a[0]), a[1:]
		case a[0].Pos > b[0].Pos:
			out, b = append(out, b[0]), b[1:]
		default:
			out = append(out, Cell{a[0].Pos, max(a[0].Value, b[0].Value)})
			a, b = a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

var errBlock = errors.New("block has bytes beyond its cells")

func (p *Part) decode(block uint64, dst []Cell) ([]Cell, error) {
	code, ok := p.blocks[block]
	if !ok {
		return dst, nil
	}
	from := block * p.block
	cells, rest, err := DecodeCells(dst, code, from, min(from+p.block, p.size), p.values)
	if err == nil && len(rest) > 0 {
		err = errBlock
	}
	if err != nil {
		return dst, fmt.Errorf("block %d: %w", block, err)
	}
	return cells, nil
}

// Block appends the non-zero cells of block i to dst, ascending.
func (p *Part) Block(i uint64, dst []Cell) []Cell {
	p.mu.RLock()
	defer p.mu.RUnlock()
	cells, _ := p.decode(i, dst) // our own code, written by mergeBlock; Check proves it
	return cells
}

// Min is the least of the cells at the given positions, which decides how often
// a key was counted, and whether all its bits are set. The positions must be
// ascending, as those of a key are.
func (p *Part) Min(positions []uint64) uint32 {
	least := uint32(MaxValue)
	for len(positions) > 0 {
		block, n := positions[0]/p.block, 1
		for n < len(positions) && positions[n]/p.block == block {
			n++
		}
		if least = min(least, p.minOf(block, positions[:n])); least == 0 {
			return 0
		}
		positions = positions[n:]
	}
	return least
}

// minOf decodes a block as far as is needed: up to the first position that is
// not there, or the last.
func (p *Part) minOf(block uint64, positions []uint64) uint32 {
	p.mu.RLock()
	code, ok := p.blocks[block]
	p.mu.RUnlock()
	if !ok {
		return 0
	}
	from := block * p.block
	r, err := newCellReader(code, from, min(from+p.block, p.size), p.values)
	if err != nil {
		return 0 // our own code, written by mergeBlock; Check proves it
	}
	least := uint32(MaxValue)
	for r.left > 0 {
		c, err := r.next()
		if err != nil || c.Pos > positions[0] {
			return 0
		}
		if c.Pos < positions[0] {
			continue
		}
		least = min(least, c.Value)
		for positions[0] == c.Pos { // a position may stand twice
			if positions = positions[1:]; len(positions) == 0 {
				return least
			}
		}
	}
	return 0
}

// Check decodes every block and compares the totals.
func (p *Part) Check() error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	cells, size := int64(0), int64(0)
	for block, code := range p.blocks {
		got, err := p.decode(block, nil)
		if err != nil {
			return err
		}
		cells += int64(len(got))
		size += int64(len(code)) + blockOverhead
	}
	if cells != p.Cells() || size != p.Bytes() {
		return fmt.Errorf("part holds %d cells in %d bytes, its totals say %d in %d", cells, size, p.Cells(), p.Bytes())
	}
	return nil
}
