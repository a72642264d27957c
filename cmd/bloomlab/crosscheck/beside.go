package crosscheck

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// seedsTrial computes the false positives of the single filters of Tables 5 and 6 that
// remain at every size: each of q strings is mistaken for one of n keys if rand() has the
// same seed for both. With 2^30 seeds these are n*q/2^30.
func (t table) seedsTrial() lab.Trial {
	var cells []lab.Cell
	var values []float64
	for _, s := range t.rows {
		if len(s.multiples) > 1 || s.multiples[0] < 16 {
			continue
		}
		n := float64(t.keys(all))
		value := t.expected(s) + n*float64(t.queries)/(1<<30)
		values = append(values, value)
		cells = append(cells, lab.Cell{
			Name: s.name() + " and n*q/2^30 equal seeds: false positives", Paper: s.printed,
			Tolerance: lab.Within(lab.Sigmas * math.Sqrt(value)),
			Why:       "against the printed number, one draw: 4 deviations of a Poisson number",
		})
	}
	return computed(cells, values)
}

func computed(cells []lab.Cell, values []float64) lab.Trial {
	return lab.Trial{Cells: cells, Fixed: true, New: func(*rand.Rand) lab.Round {
		return func(_ *rand.Rand, out []float64) { copy(out, values) }
	}}
}

// leadingZerosTrial shows an error in Tables 3 and 4 that no size of a filter reduces: the
// paper's CRC generator starts with all registers 0 (Fig. 4), so leading zeros change
// nothing. The nodes of a trie are strings of 1 to 32 bits, so 0101 and 00101 are two
// nodes with one code.
func leadingZerosTrial() lab.Trial {
	const strings = 1000
	cell := func(start string, want float64) lab.Cell {
		return lab.Cell{
			Name:  fmt.Sprintf("CRC-64 from %s: strings with the code of one with fewer leading zeros, share", start),
			Paper: lab.None, Tolerance: lab.Within(0), Why: "exact",
			Note: "Fig. 4: all the registers of the CRC generator are initially set to 0",
		}.Expect(want)
	}
	return lab.Trial{
		Cells: []lab.Cell{cell("0", 1), cell("all ones", 0)},
		New: func(*rand.Rand) lab.Round {
			return func(r *rand.Rand, out []float64) {
				out[0], out[1] = 0, 0
				for range strings {
					bits := randomBits(r, 16)
					longer := append(make([]byte, 1+r.IntN(16)), bits...)
					for i, start := range []uint64{0, math.MaxUint64} {
						if crc64(bits, start) == crc64(longer, start) {
							out[i] += 1.0 / strings
						}
					}
				}
				out[0] = math.Round(out[0]*strings) / strings
			}
		},
	}
}

func randomBits(r *rand.Rand, n int) []byte {
	bits := make([]byte, n)
	for i := range bits {
		bits[i] = byte(r.IntN(2))
	}
	return bits
}

// crc64 is the CRC generator of Fig. 4 with 64 registers and the polynomial of
// ECMA-182, fed with one bit at a time.
func crc64(bits []byte, registers uint64) uint64 {
	const polynomial = 0x42F0E1EBA9EA3693
	for _, bit := range bits {
		feedback := registers>>63 ^ uint64(bit)
		registers <<= 1
		if feedback != 0 {
			registers ^= polynomial
		}
	}
	return registers
}
