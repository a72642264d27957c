package coded

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Part is a filter received from another site: the cells received so far, held block by
// block in coded form. It takes close to the minimum memory for its content: about a tenth
// of a full filter for one that is a hundredth full, and for bits little more than a full
// one. A lookup decodes some 64 cells of a block. Reads and merges may run at the same
// time.
type Part struct {
	size   uint64
	values bool
	shift  uint // log2 of a block's cells

	mu    sync.RWMutex // guards pages; data that a partBlock refers to never changes
	pages []partPage

	cells atomic.Int64
	bytes atomic.Int64
}

// NewPart returns an empty part of a filter of size cells. Values selects counts or bits.
func NewPart(size uint64, values bool) *Part {
	p := &Part{size: size, values: values, shift: uint(bits.TrailingZeros64(filter.BlockSize(values)))}
	p.pages = make([]partPage, (filter.Blocks(size, values)+pageBlocks-1)/pageBlocks)
	p.bytes.Store(int64(len(p.pages)) * pageBytes)
	return p
}

// Size returns the number of cells of the whole filter.
func (p *Part) Size() uint64 { return p.size }

// Cells returns the number of non-zero cells held.
func (p *Part) Cells() int64 { return p.cells.Load() }

// Bytes returns the memory held.
func (p *Part) Bytes() int64 { return p.bytes.Load() }

// bounds returns the first position of a block, and the position after its last.
func (p *Part) bounds(block uint64) (from, limit uint64) {
	from = block << p.shift
	return from, min(from+1<<p.shift, p.size)
}

func (p *Part) load(block uint64) partBlock {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if b := p.pages[block/pageBlocks].at(block % pageBlocks); b != nil {
		return *b
	}
	return partBlock{}
}

// Block appends the non-zero cells of block i to dst, ascending.
func (p *Part) Block(i uint64, dst []filter.Cell) []filter.Cell {
	b := p.load(i)
	d := partDecoder{part: p}
	dst, _ = d.all(&b, i, dst) // coded by this program; Check detects an error
	return dst
}

// Next returns the first block from i on that has cells, or a number beyond the last block. A part
// of a large filter may have few of millions of blocks.
func (p *Part) Next(i uint64) uint64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	from := ^uint64(0) << (i % pageBlocks)
	for n := i / pageBlocks; n < uint64(len(p.pages)); n++ {
		if there := p.pages[n].there & from; there != 0 {
			return n*pageBlocks + uint64(bits.TrailingZeros64(there))
		}
		from = ^uint64(0)
	}
	return uint64(len(p.pages)) * pageBlocks
}

// Min returns the least of the cells at the given positions, which is a key's count, or
// whether all its bits are set. The positions must be ascending, like those of a key.
func (p *Part) Min(positions []uint64) uint32 {
	least := uint32(filter.MaxValue)
	var values [atOnce]uint32
	for len(positions) > 0 {
		block, n := positions[0]>>p.shift, 1
		for n < min(len(positions), atOnce) && positions[n]>>p.shift == block {
			n++
		}
		b := p.load(block)
		if b.empty() {
			return 0
		}
		for _, v := range p.read(&b, block, positions[:n], values[:n], true) {
			if least = min(least, v); least == 0 {
				return 0
			}
		}
		positions = positions[n:]
	}
	return least
}

// Fresh returns how many cells, ascending and distinct, the part does not contain. It decodes some 64
// cells for each.
func (p *Part) Fresh(cells []filter.Cell) (n int) {
	var positions [atOnce]uint64
	var values [atOnce]uint32
	for len(cells) > 0 {
		block, in := cells[0].Pos>>p.shift, 0
		for in < min(len(cells), atOnce) && cells[in].Pos>>p.shift == block {
			positions[in] = cells[in].Pos
			in++
		}
		if b := p.load(block); b.empty() {
			n += in
		} else {
			for _, v := range p.read(&b, block, positions[:in], values[:in], false) {
				if v == 0 {
					n++
				}
			}
		}
		cells = cells[in:]
	}
	return n
}

// Merge joins cells, ascending and distinct, by maximum. It returns an error for invalid
// cells and then changes nothing.
func (p *Part) Merge(cells []filter.Cell) error {
	for i, c := range cells {
		if c.Pos >= p.size || c.Value == 0 || c.Value > filter.MaxValue || i > 0 && c.Pos <= cells[i-1].Pos {
			return fmt.Errorf("cell %d of %d: position %d, value %d", i, len(cells), c.Pos, c.Value)
		}
	}
	d := partDecoder{part: p}
	for len(cells) > 0 {
		block := cells[0].Pos >> p.shift
		n := 1
		for n < len(cells) && cells[n].Pos>>p.shift == block {
			n++
		}
		if err := p.mergeBlock(&d, block, cells[:n]); err != nil {
			return err
		}
		cells = cells[n:]
	}
	return nil
}

// mergeBlock joins a block's cells. A few cells are appended to the block's others uncoded.
// The block is coded again once these take a quarter of its code.
func (p *Part) mergeBlock(d *partDecoder, block uint64, cells []filter.Cell) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b partBlock
	if at := p.pages[block/pageBlocks].at(block % pageBlocks); at != nil {
		b = *at
	}
	if b.empty() {
		p.put(block, d.encode(cells, block))
		return nil
	}
	if len(b.late)+len(cells) <= b.lateLimit() {
		fresh, more := d.newer(&b, block, cells)
		if late, ok := b.withLate(more, p.values); ok {
			b.late = late
			b.all += fresh
			p.put(block, b)
			return nil
		}
	}
	old, err := d.coded(&b, block, d.old[:0])
	if err != nil {
		return err
	}
	d.old = old
	if len(b.late) > 0 {
		d.sortLate(&b, block)
		d.few = join(d.few[:0], d.late, cells)
		cells = d.few
	}
	d.joined = join(d.joined[:0], old, cells)
	p.put(block, d.encode(d.joined, block))
	return nil
}

// put replaces a block.
func (p *Part) put(block uint64, b partBlock) {
	page := &p.pages[block/pageBlocks]
	was := page.bytes()
	at := page.at(block % pageBlocks)
	if at == nil {
		at = page.insert(block % pageBlocks)
	}
	p.bytes.Add(page.bytes() - was + b.bytes() - at.bytes())
	p.cells.Add(int64(b.all) - int64(at.all))
	*at = b
}

// join appends two ascending lists, merged, to dst. If both contain a position, the larger
// value is kept. It is fast for a short b.
func join(dst, a, b []filter.Cell) []filter.Cell {
	for _, c := range b {
		n := 0
		for n < len(a) && a[n].Pos < c.Pos {
			n++
		}
		dst, a = append(dst, a[:n]...), a[n:]
		if len(a) > 0 && a[0].Pos == c.Pos {
			c.Value, a = max(c.Value, a[0].Value), a[1:]
		}
		dst = append(dst, c)
	}
	return append(dst, a...)
}

// Install joins a whole block from a snapshot, coded by AppendCells, and appends its cells
// to dst, ascending. If the part has no cells in that block, it keeps the code as it is,
// unless AppendCells would produce a shorter one. It returns an error for an invalid code, or
// that of accept for the cells, and then changes nothing.
func (p *Part) Install(block uint64, code []byte, dst []filter.Cell, accept func([]filter.Cell) error) (cells []filter.Cell, err error) {
	if block >= filter.Blocks(p.size, p.values) {
		return dst, fmt.Errorf("block %d of %d", block, filter.Blocks(p.size, p.values))
	}
	d := partDecoder{part: p}
	cells, b, err := d.adopt(code, block, dst)
	if err != nil {
		return dst, fmt.Errorf("block %d: %w", block, err)
	}
	if err := accept(cells[len(dst):]); err != nil {
		return dst, err
	}
	if fresh := cells[len(dst):]; len(fresh) == 0 || p.install(block, b) {
		return cells, nil
	}
	return cells, p.mergeBlock(&d, block, cells[len(dst):])
}

// install stores a block if there is none yet, and reports whether it did.
func (p *Part) install(block uint64, b partBlock) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b.empty() || p.pages[block/pageBlocks].at(block%pageBlocks) != nil {
		return false
	}
	p.put(block, b)
	return true
}

// Check decodes every block and compares the totals.
func (p *Part) Check() error {
	p.mu.RLock()
	defer p.mu.RUnlock()
	d := partDecoder{part: p}
	var got []filter.Cell
	var err error
	cells, size := int64(0), int64(len(p.pages))*pageBytes
	for i := range p.pages {
		page := &p.pages[i]
		size += page.bytes()
		for j := range uint64(pageBlocks) {
			b := page.at(j)
			if b == nil {
				continue
			}
			block := uint64(i)*pageBlocks + j
			got, err = d.all(b, block, got[:0])
			if err != nil {
				return err
			}
			if len(got) != int(b.all) {
				return fmt.Errorf("block %d contains %d cells, recorded %d", block, len(got), b.all)
			}
			if again := d.encode(got, block); len(b.late) == 0 && string(again.code) != string(b.code) {
				return fmt.Errorf("block %d: %d cells have a different code", block, len(got))
			}
			cells += int64(len(got))
			size += b.bytes()
		}
	}
	if cells != p.Cells() || size != p.Bytes() {
		return fmt.Errorf("part contains %d cells in %d bytes, recorded %d in %d", cells, size, p.Cells(), p.Bytes())
	}
	return nil
}
