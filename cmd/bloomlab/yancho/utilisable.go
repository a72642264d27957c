package yancho

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// chunked is a filter whose positions are the chunks of a digest.
type chunked struct {
	name  string
	bytes int // of the digest
	m     uint64
	n, k  int
	note  string
}

const notePublic = "the paper gives the bound of 2^(bits/k) positions; it follows that one of the longest digests does not suffice for the last row of Table I"

var chunkings = []chunked{
	{"MD5", 16, 160_000, 10_000, 4, ""},
	{"MD5", 16, 160_000, 10_000, 8, ""},
	{"SHA-1", 20, 160_000, 10_000, 8, ""},
	{"SHA-1", 20, 700_000, 43_750, 8, "all positions are utilisable, as the paper counts them; but 2^20 is 1.5 times m, so the modulus " +
		"hits half of the positions twice as often as the others, and the error is larger than the 5.7E-4 of Eq. 1"},
	{"SHA-256", 32, 400_000, 10_000, 8, ""},
	{"SHA-256", 32, 400_000, 10_000, 16, notePublic},
}

// utilisable shows section III's bound on chunks of a digest, and the resulting error of a
// filter. The bits of a digest are drawn; they are equivalent to those of a message.
func utilisable() lab.Experiment {
	e := lab.Experiment{
		Name:   "yancho-utilisable",
		Title:  "chunks of a digest as hash functions: positions never reached",
		Source: paper + "section III, \"choosing proper hash functions\", and Fig. 1",
	}
	for _, c := range chunkings {
		e.Trials = append(e.Trials, c.bound(), c.measured())
	}
	return e
}

func (c chunked) String() string {
	return fmt.Sprintf("%s m=%dK n=%.4gK k=%d", c.name, c.m/1000, float64(c.n)/1000, c.k)
}

func (c chunked) bound() lab.Trial {
	bound := min(float64(c.m), math.Exp2(float64(c.bytes*8/c.k)))
	return lab.Trial{
		Fixed: true,
		Cells: []lab.Cell{
			{Name: c.String() + " utilisable bits", Paper: bound, Tolerance: lab.Within(0), Why: "min(m, 2^(bits/k))"},
			{Name: c.String() + " Eq. 1", Paper: lab.None},
		},
		New: func(*rand.Rand) lab.Round {
			chunks := lab.Must(papers.NewChunks(c.m, c.k, c.bytes))
			return func(_ *rand.Rand, out []float64) {
				out[0] = float64(chunks.Utilisable())
				out[1] = papers.ClassicError(float64(c.m), float64(c.n), c.k)
			}
		},
	}
}

func (c chunked) measured() lab.Trial {
	const asked = 20_000
	cell := lab.Cell{
		Name: c.String() + " measured", Paper: lab.None, Note: c.note,
		Tolerance: lab.Plus(lab.Events(asked, c.expected(), 0), 0.01*c.expected()),
		Why:       "4 standard errors around (sum of p fill)^k over positions of chance p, and 1 % because it is an estimate",
	}.Expect(c.expected())
	return lab.Trial{
		Cells: []lab.Cell{cell},
		New: func(*rand.Rand) lab.Round {
			chunks := lab.Must(papers.NewChunks(c.m, c.k, c.bytes))
			f := lab.Must(papers.NewClassic(c.m, c.k))
			digest := make([]byte, 40)
			return func(r *rand.Rand, out []float64) {
				out[0] = falsePositives(f, c.n, asked, func(_ uint64, dst []uint64) []uint64 {
					for i := 0; i < c.bytes; i += 8 {
						binary.BigEndian.PutUint64(digest[i:], r.Uint64())
					}
					return lab.Must(chunks.Positions(digest[:c.bytes], dst))
				})
			}
		},
	}
}

// expected is the error with positions that are not equally likely: a chunk has
// v values, of which q = floor(v/m) or q+1 lead to a position.
func (c chunked) expected() float64 {
	v := math.Exp2(float64(c.bytes * 8 / c.k))
	m := float64(c.m)
	q := math.Floor(v / m)
	often := v - q*m // positions with q+1 values
	probes := float64(c.k * c.n)
	hit := func(positions, values float64) float64 {
		p := values / v
		return positions * p * -math.Expm1(probes*math.Log1p(-p))
	}
	return math.Pow(hit(often, q+1)+hit(m-often, q), float64(c.k))
}
