package coded

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// lineShapes are all layouts of the code of lines.
var lineShapes = []filter.BitsShape{
	{Lines: 40, K: 4, Span: 1}, {Lines: 40, K: 4, Span: 2},
	{Lines: 40, K: 8, Span: 1}, {Lines: 40, K: 8, Span: 2},
	{Lines: 40, K: 16, Span: 1}, {Lines: 40, K: 16, Span: 2},
}

// Any set of cells can be encoded and decoded, with data after it. A truncated code is rejected.
// A code that can be decoded is the one that the writer produces.
func TestLinesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := bitLines(rapid.SampledFrom(lineShapes).Draw(t, "shape"))
		if rapid.Bool().Draw(t, "counts") {
			l = countLines(filter.CountsShape{Lines: 40})
		}
		l.lines = rapid.Uint64Range(1, filter.MaxLines).Draw(t, "lines")
		cells := drawLineCells(t, l)
		code := append(l.append([]byte("head"), cells), "tail"...)[4:]
		got, rest, err := l.decode([]filter.Cell{{Pos: 9, Value: 9}}, code, len(cells))
		if err != nil || got[0] != (filter.Cell{Pos: 9, Value: 9}) || !slices.Equal(got[1:], cells) || string(rest) != "tail" {
			t.Fatalf("%d cells became %d, rest %q, error %v", len(cells), len(got)-1, rest, err)
		}
		code = code[:len(code)-4]
		if _, _, err := l.decode(nil, code, len(cells)-1); err == nil && len(cells) > 0 {
			t.Fatal("more cells than the limit, but no error")
		}
		for cut := range len(code) {
			if got, _, err := l.decode(nil, code[:cut], len(cells)); err == nil {
				t.Fatalf("cut at %d of %d: %d cells and no error", cut, len(code), len(got))
			}
		}
	})
}

// drawLineCells draws cells like those of keys, one in each section, and arbitrary ones.
func drawLineCells(t *rapid.T, l lineCode) []filter.Cell {
	all := make(map[uint64]uint32)
	value := rapid.Uint32Range(1, 1)
	if l.values {
		value = rapid.Uint32Range(1, filter.MaxValue)
	}
	for range rapid.IntRange(0, 10).Draw(t, "keys") {
		line, v := rapid.Uint64Range(0, l.lines-1).Draw(t, "line"), value.Draw(t, "value")
		for j := range uint64(l.sections) {
			all[line<<l.shift()|j<<l.section|rapid.Uint64Range(0, 1<<l.section-1).Draw(t, "bit")] = v
		}
	}
	for range rapid.IntRange(0, 20).Draw(t, "others") {
		all[rapid.Uint64Range(0, l.lines<<l.shift()-1).Draw(t, "cell")] = value.Draw(t, "value")
	}
	return ascending(all)
}

func ascending(all map[uint64]uint32) []filter.Cell {
	cells := make([]filter.Cell, 0, len(all))
	for pos, v := range all {
		cells = append(cells, filter.Cell{Pos: pos, Value: v})
	}
	slices.SortFunc(cells, func(a, b filter.Cell) int { return int(a.Pos) - int(b.Pos) })
	return cells
}

// Full lines, and the code of an empty set.
func TestLinesFullAndEmpty(t *testing.T) {
	for _, s := range lineShapes {
		var cells []filter.Cell
		for pos := range s.Size() {
			cells = append(cells, filter.Cell{Pos: pos, Value: 1})
		}
		got, _, err := DecodeLines(nil, AppendLines(nil, s, cells), s, len(cells))
		if err != nil || !slices.Equal(got, cells) {
			t.Errorf("%v, all bits: %d, %v", s, len(got), err)
		}
		if got, rest, err := DecodeLines(nil, AppendLines(nil, s, nil), s, 0); err != nil || len(got)+len(rest) > 0 {
			t.Errorf("%v, no bits: %v, %v, %v", s, got, rest, err)
		}
	}
}

// Codes that the writer does not produce. Lines of k=16 in one line have sections of 32
// bits; so have lines of counts, which have four sections.
func TestLinesRefuses(t *testing.T) {
	shape := filter.BitsShape{Lines: 40, K: 16, Span: 1}
	for name, tc := range map[string]struct {
		bits string
		want string
	}{
		"nothing":                {"", "truncated"},
		"number in two bytes":    {"10000000 00000000", "truncated"},
		"more lines than shape":  {"00101001" + strings.Repeat("0", 999), "41 of 40 lines"},
		"more lines than bytes":  {"00000100 00000000 00000000", "4 of 40 lines"},
		"rice parameter":         {"00000001 00100001 00000000", "rice parameter 33"},
		"other rice parameter":   {"00000001 00000010 000 1" + "0" + strings.Repeat("10", 15) + "00000", "must be 0"},
		"beyond the last line":   {"00000001 00000101 1101 00000 00000000", "exceed line 40"},
		"a line of nothing":      {"00000001 00000000 0 1" + strings.Repeat("10", 16), "shortest form"},
		"one in each, the long":  {"00000001 00000000 0 1" + strings.Repeat("0", 16) + strings.Repeat("00000", 16), "shortest form"},
		"33 cells in a section":  {"00000001 00000000 0 1" + strings.Repeat("1", 33) + strings.Repeat("0", 99), "33 cells in section 0"},
		"not ascending":          {"00000001 00000000 0 1 110" + strings.Repeat("10", 15) + "00010 00010", "ascend"},
		"bits behind the last":   {"00000001 00000000 0 1 0" + strings.Repeat("10", 15) + "00010 01", "after"},
		"more cells than wanted": {"00000001 00000000 0 0" + strings.Repeat("00000", 16), "16 cells, limit 15"},
	} {
		_, _, err := DecodeLines(nil, packBits(tc.bits), shape, 15)
		if name == "one in each, the long" || name == "more lines than shape" || name == "33 cells in a section" {
			_, _, err = DecodeLines(nil, packBits(tc.bits), shape, 100)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, tc.want)
		}
	}
	counts := filter.CountsShape{Lines: 40}
	for name, bits := range map[string]string{
		"equal values, the long way": "00000001 00000000 0 0" + strings.Repeat("00000", 4) + "1 0 0 0 0",
		"a value of 21 bits":         "00000001 00000000 0 0" + strings.Repeat("00000", 4) + "0" + strings.Repeat("1", 20) + strings.Repeat("0", 30),
		"a value cut short":          "00000001 00000000 0 0" + strings.Repeat("00000", 4) + "0 1",
	} {
		if got, _, err := DecodeCountLines(nil, packBits(bits), counts, 100); err == nil {
			t.Errorf("%s: %v and no error", name, got)
		}
	}
}

// packBits packs the given bits, padded with zeros.
func packBits(bits string) []byte {
	w := bitWriter{}
	for _, b := range bits {
		if b != ' ' {
			w.bits(uint64(b-'0'), 1)
		}
	}
	return w.end()
}

// The cost of a new signature in a spam filter of the default size: at most 64 bits in a
// delta with 1,000 or more of them, however full the filter is.
func TestLinesSize(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	r := filtertest.Seeded(t, 30)
	spam := filter.BitsShape{K: 8, Span: 1}.Fit(2_000_000, 1.25e-8)
	b, err := filter.NewBits(spam)
	testenv.Check(t, err)
	n := 0 // keys in b, which grows from case to case
	for _, held := range []int{0, 200_000, 1_000_000, 2_000_000} {
		for ; n < held; n++ {
			b.Set(filtertest.Hash(r))
		}
		for _, fresh := range []int{1_000, 10_000} {
			cells := freshBits(b, r.Uint64(), fresh)
			n += fresh
			perKey := float64(len(AppendLines(nil, spam, cells))) * 8 / float64(fresh)
			t.Logf("%v, %d held, %d new: %.1f bits each", spam, held, fresh, perKey)
			if perKey > 64 || perKey < entropyOfLines(spam, len(cells), fresh) {
				t.Errorf("%d held, %d new: %.1f bits each", held, fresh, perKey)
			}
		}
	}
}

// entropyOfLines returns a lower bound for the bits a key takes: which lines, and where in
// its section each cell is; not which sections there are.
func entropyOfLines(s filter.BitsShape, cells, keys int) float64 {
	_, section := s.Sections()
	share := float64(keys) / float64(s.Lines)
	lines := (-share*math.Log2(share) - (1-share)*math.Log2(1-share)) / share
	return lines - share + float64(cells)/float64(keys)*float64(section)*0.99
}

// freshBits sets n keys, and returns the bits that were clear, ascending.
func freshBits(b *filter.Bits, seed uint64, n int) []filter.Cell {
	all := make(map[uint64]uint32)
	for _, h := range hashes(seed, n) {
		for _, pos := range b.Shape().Positions(h, nil) {
			if !b.Bit(pos) {
				all[pos] = 1
			}
		}
	}
	cells := ascending(all)
	b.SetCells(cells)
	return cells
}

// The cost of a counted message in a delta of 15,000, four cells each, compared with the
// code of single cells: at least a quarter less.
func TestCountLinesSize(t *testing.T) {
	r := filtertest.Seeded(t, 31)
	shape := filter.SizeCounts(20_000_000)
	for _, times := range []uint32{1, 3, 100} {
		all := make(map[uint64]uint32)
		const keys = 15_000
		for range keys {
			v := 1 + r.Uint32N(times)
			for _, pos := range shape.Positions(filtertest.Hash(r)) {
				all[pos] = max(all[pos], v)
			}
		}
		cells := ascending(all)
		lines := float64(len(AppendCountLines(nil, shape, cells))) * 8 / keys
		single := float64(len(AppendCells(nil, 0, cells, true))) * 8 / keys
		t.Logf("counted up to %d times: %.1f bits a message, as single cells %.1f", times, lines, single)
		if lines > 0.75*single {
			t.Errorf("counted up to %d times: %.1f bits a message, as single cells %.1f", times, lines, single)
		}
	}
}

func FuzzDecodeLines(f *testing.F) {
	for i, s := range lineShapes {
		f.Add(AppendLines(nil, s, []filter.Cell{{Pos: 1, Value: 1}, {Pos: 2, Value: 1}, {Pos: 600, Value: 1}, {Pos: 20000, Value: 1}}), uint8(i), uint64(40))
	}
	f.Add(AppendCountLines(nil, filter.CountsShape{Lines: 3}, []filter.Cell{{Pos: 0, Value: 7}, {Pos: 33, Value: 7}, {Pos: 70, Value: 7}, {Pos: 100, Value: 7}, {Pos: 130, Value: filter.MaxValue}, {Pos: 131, Value: 1}}), uint8(6), uint64(3))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0}, uint8(2), uint64(filter.MaxLines))
	f.Fuzz(func(t *testing.T, code []byte, layout uint8, lines uint64) {
		l := countLines(filter.CountsShape{Lines: 1 + lines%filter.MaxLines})
		if i := int(layout) % (len(lineShapes) + 1); i < len(lineShapes) {
			l = bitLines(lineShapes[i])
			l.lines = 1 + lines%filter.MaxLines
		}
		const most = 5000
		cells, rest, err := l.decode(nil, code, most)
		if err != nil {
			return
		}
		if len(cells) > most || len(cells)*5 > len(code)*8 {
			t.Fatalf("%d cells from %d bytes", len(cells), len(code))
		}
		for i, c := range cells {
			if c.Pos >= l.lines<<l.shift() || i > 0 && c.Pos <= cells[i-1].Pos || c.Value < 1 || c.Value > filter.MaxValue {
				t.Fatalf("cell %d: %+v", i, c)
			}
		}
		if again := append(l.append(nil, cells), rest...); !slices.Equal(again, code) {
			t.Fatalf("%d cells are coded as %x, were %x", len(cells), again, code)
		}
	})
}

func BenchmarkLines(b *testing.B) {
	spam := filter.BitsShape{K: 8, Span: 1}.Fit(2_000_000, 1.25e-8)
	empty, err := filter.NewBits(spam)
	testenv.Check(b, err)
	for _, keys := range []int{1_000, 10_000} {
		cells := freshBits(empty, 1, keys)
		code := AppendLines(nil, spam, cells)
		b.Run(fmt.Sprintf("decode/%d", keys), func(b *testing.B) {
			buf := make([]filter.Cell, 0, len(cells))
			for b.Loop() {
				if _, _, err := DecodeLines(buf, code, spam, len(cells)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(cells)), "ns/cell")
		})
	}
}
