package filter

import (
	"bytes"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// cellsIn returns the content of a filter.
func cellsIn(blocks uint64, block func(uint64, []Cell) []Cell) map[uint64]uint32 {
	m := make(map[uint64]uint32)
	for i := range blocks {
		for _, c := range block(i, nil) {
			m[c.Pos] = c.Value
		}
	}
	return m
}

// Joining raw blocks of one filter into another sets each cell to the greater of both. The
// blocks report their number of cells, and the other filter's totals stay correct.
func TestRawJoins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.Uint64Range(1, 150).Draw(t, "lines")
		bits := func() (*Bits, func(uint64)) {
			b, err := NewBits(BitsShape{Lines: lines, K: 8, Span: 1})
			testenv.Check(t, err)
			return b, func(pos uint64) { b.SetCells([]Cell{{pos, 1}}) }
		}
		counts := func() (*Counts, func(uint64, uint32)) {
			c, err := NewCounts(CountsShape{Lines: lines})
			testenv.Check(t, err)
			return c, c.RaiseCell
		}
		from, setFrom := bits()
		into, setInto := bits()
		counted, raiseFrom := counts()
		counter, raiseInto := counts()
		value := rapid.SampledFrom([]uint32{1, 2, 13, 14, 15, 16, 300, MaxValue})
		for range rapid.IntRange(0, 200).Draw(t, "cells") {
			setFrom(rapid.Uint64Range(0, from.Shape().Size()-1).Draw(t, "bit"))
			setInto(rapid.Uint64Range(0, from.Shape().Size()-1).Draw(t, "bit"))
			raiseFrom(rapid.Uint64Range(0, counted.Shape().Size()-1).Draw(t, "cell"), value.Draw(t, "value"))
			raiseInto(rapid.Uint64Range(0, counted.Shape().Size()-1).Draw(t, "cell"), value.Draw(t, "value"))
		}
		join := func(size uint64, values bool, block func(uint64, []Cell) []Cell, raw func(uint64, []byte) ([]byte, int), take func(uint64, []byte), have map[uint64]uint32) {
			for i := range Blocks(size, values) {
				code, used := raw(i, nil)
				cells := min(BlockSize(values), size-i*BlockSize(values))
				if n, err := RawCells(code, cells, values); err != nil || n != used || used != len(block(i, nil)) {
					t.Fatalf("block %d: %d cells, reported %d, has %d: %v", i, n, used, len(block(i, nil)), err)
				}
				for _, c := range block(i, nil) {
					have[c.Pos] = max(have[c.Pos], c.Value)
				}
				take(i, code)
			}
		}
		want := cellsIn(Blocks(into.Shape().Size(), false), into.Block)
		join(from.Shape().Size(), false, from.Block, from.AppendRaw, into.OrRaw, want)
		if got := cellsIn(Blocks(into.Shape().Size(), false), into.Block); !equalCells(got, want) || into.Ones() != int64(len(want)) {
			t.Fatalf("bits: %v, want %v; %d ones", got, want, into.Ones())
		}
		want = cellsIn(Blocks(counter.Shape().Size(), true), counter.Block)
		had, changes := maps.Clone(want), counter.Changes()
		join(counted.Shape().Size(), true, counted.Block, counted.AppendRaw, counter.RaiseRaw, want)
		if got := cellsIn(Blocks(counter.Shape().Size(), true), counter.Block); !equalCells(got, want) || counter.Used() != int64(len(want)) {
			t.Fatalf("counts: %v, want %v; %d used", got, want, counter.Used())
		}
		for pos, v := range want {
			if v > had[pos] {
				changes++
			}
		}
		if got := counter.Changes(); got != changes {
			t.Fatalf("%d changes, want %d", got, changes)
		}
	})
}

func equalCells(a, b map[uint64]uint32) bool {
	for pos, v := range a {
		if b[pos] != v {
			return false
		}
	}
	return len(a) == len(b)
}

func TestRawRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		code   []byte
		cells  uint64
		values bool
	}{
		"bits too short":      {make([]byte, 56), 512, false},
		"bits too long":       {make([]byte, 72), 512, false},
		"counts too short":    {make([]byte, 56), 128, true},
		"counts too long":     {make([]byte, 65), 128, true},
		"no value for a 15":   {append([]byte{0x0f}, make([]byte, 63)...), 128, true},
		"half a value":        {append([]byte{0xf0}, make([]byte, 65)...), 128, true},
		"a value of 14":       {append(append([]byte{0x0f}, make([]byte, 63)...), 0, 0, 14), 128, true},
		"a value of 21 bits":  {append(append([]byte{0x0f}, make([]byte, 63)...), 16, 0, 0), 128, true},
		"a value for nothing": {append(make([]byte, 64), 0, 0, 15), 128, true},
	} {
		if n, err := RawCells(tc.code, tc.cells, tc.values); err == nil {
			t.Errorf("%s: %d cells, no error", name, n)
		}
	}
}

// Accepted data is joined without an error, and is encoded again to the same bytes.
func FuzzRaw(f *testing.F) {
	f.Add(make([]byte, 64), false)
	f.Add(append(append([]byte{0xff, 0x21}, make([]byte, 62)...), 0, 0, 15, 15, 255, 255), true)
	f.Fuzz(func(t *testing.T, code []byte, values bool) {
		cells := uint64(512)
		if values {
			cells = 128
		}
		used, err := RawCells(code, cells, values)
		if err != nil {
			return
		}
		var again []byte
		var n int
		if values {
			c, err := NewCounts(CountsShape{Lines: 1})
			testenv.Check(t, err)
			c.RaiseRaw(0, code)
			again, n = c.AppendRaw(0, nil)
		} else {
			b, err := NewBits(BitsShape{Lines: 1, K: 8, Span: 1})
			testenv.Check(t, err)
			b.OrRaw(0, code)
			again, n = b.AppendRaw(0, nil)
		}
		if n != used || !bytes.Equal(again, code) {
			t.Fatalf("%x came out as %x, with %d and %d cells", code, again, used, n)
		}
	})
}
