package filter

import "runtime"

// SetCells sets the bits at the cells' positions, which must be below Shape().Size().
// Others may read and write meanwhile.
func (b *Bits) SetCells(cells []Cell) {
	if len(cells) == 0 {
		return
	}
	b.beginSet()
	fresh := int64(0)
	for _, c := range cells {
		if b.raise(c.Pos) {
			fresh++
		}
	}
	runtime.KeepAlive(b.mem)
	b.ones.Add(fresh)
}
