package picture

import (
	"math"
	"sync"

	"github.com/spambloom/spambloom/signature/digest"
)

const (
	// lowest and highest are the frequencies that a code is made of, in half
	// waves over the view. Lower ones in either direction are the layout that
	// many images share, rows of writing among it; higher ones do not outlast
	// cropping.
	lowest, highest = 2, 14
	// strongest, times the root mean square, bounds a coefficient, so that no code is
	// made of a few strong ones.
	strongest = 2

	samplesOfAnchor, samplesOfKey = 3, 2
	samples                       = 6*samplesOfAnchor + 20*samplesOfKey
)

// wave is a frequency in both directions.
type wave struct{ across, down int }

// tables are what all codes are made with.
type tables struct {
	waves  []wave
	cosine [highest + 1][size]float64
	// draws are, for each sample, wave and sign, independent and exponentially
	// distributed numbers. Divided by the weight of the wave, the smallest of a
	// sample is at each wave with a probability in proportion to its weight.
	draws [samples][][2]float64
}

var theTables = sync.OnceValue(func() *tables {
	t := new(tables)
	for down := lowest; down <= highest; down++ {
		for across := lowest; across*across+down*down <= highest*highest; across++ {
			t.waves = append(t.waves, wave{across, down})
		}
	}
	for f := range t.cosine {
		for i := range size {
			t.cosine[f][i] = math.Cos(math.Pi / size * float64(f) * (float64(i) + 0.5))
		}
	}
	for s := range t.draws {
		t.draws[s] = make([][2]float64, len(t.waves))
		for w := range t.waves {
			for sign := range 2 {
				uniform := (float64(mix64(uint64((s*len(t.waves)+w)*2+sign))>>11) + 0.5) / (1 << 53)
				t.draws[s][w][sign] = -math.Log(uniform)
			}
		}
	}
	return t
})

// mix64 is the output function of SplitMix64 (Steele, Lea and Flood, 2014): a
// bijection under which the bits of near numbers are independent.
func mix64(x uint64) uint64 { return digest.Mix(x + 0x9e3779b97f4a7c15) }

// code makes the code of an equalised view.
func (v *view) code() Code {
	drawn := theTables().draw(v.transform())
	var c Code
	next := drawn[:]
	take := func(place, n int) uint64 {
		h := uint64(place)
		for _, d := range next[:n] {
			h = mix64(h ^ uint64(d+1))
		}
		next = next[n:]
		return h
	}
	for i := range c.Anchors {
		c.Anchors[i] = take(i<<32, samplesOfAnchor)
	}
	for i := range c.Keys {
		c.Keys[i] = take((i+len(c.Anchors))<<32, samplesOfKey)
	}
	return c
}

// transform returns the coefficients of the discrete cosine transform (DCT-II) at
// the waves, to a common factor.
func (v *view) transform() []float64 {
	t := theTables()
	var across [highest + 1][size]float64
	for y := range size {
		for f := lowest; f <= highest; f++ {
			sum := 0.0
			for x, c := range t.cosine[f] {
				sum += float64(v[y][x] * c)
			}
			across[f][y] = sum
		}
	}
	out := make([]float64, len(t.waves))
	for i, w := range t.waves {
		for y, c := range t.cosine[w.down] {
			out[i] += float64(across[w.across][y] * c)
		}
	}
	return out
}

// draw returns the samples: each is twice the number of a wave, and one more where
// its coefficient is negative.
func (t *tables) draw(coefficients []float64) (drawn [samples]int) {
	square := 0.0
	for _, c := range coefficients {
		square += float64(c * c)
	}
	most := strongest * math.Sqrt(square/float64(len(coefficients)))
	signs, inverse := make([]int, len(coefficients)), make([]float64, len(coefficients))
	for i, c := range coefficients {
		if c < 0 {
			signs[i] = 1
		}
		weight := min(math.Abs(c), most)
		inverse[i] = 1 / (float64(weight*math.Sqrt(weight)) + math.SmallestNonzeroFloat64)
	}
	for s := range drawn {
		least := math.Inf(1)
		for i, inv := range inverse {
			if d := t.draws[s][i][signs[i]] * inv; d < least {
				least, drawn[s] = d, 2*i+signs[i]
			}
		}
	}
	return drawn
}
