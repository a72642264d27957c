package beyond

import (
	"encoding/binary"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
	"github.com/spambloom/spambloom/signature"
)

// The attacked filter holds 10,000 messages at 16 bits each. In a filter of 160 Mbit with
// 10 million messages, which is a thousand times as large, a crafted message hits a wanted
// bit a thousand times less often; everything else is equal.
const (
	framingKeys  = 10_000
	framingBits  = 16 * framingKeys
	framingK     = 8
	framingScale = 1000
)

const noteScaled = "scaled up: measured on 160 kbit; the number of trials is proportional to m, since a trial hits a wanted bit with a chance of k/m"

// framing simulates an attacker who wants a chosen innocent message listed. The attacker
// makes up messages until some of them together set all its bits, and sends these as
// spam, which honest users report. This requires a hash that the attacker can compute.
func framing() lab.Experiment {
	return lab.Experiment{
		Name:   "framing",
		Title:  "crafted spams that list a chosen message, with public and keyed hashes",
		Source: "beyond the papers; the public hash is Fan et al.'s, Yan & Cho 2006, section III",
		Trials: []lab.Trial{
			framingTrial("empty filter", 0),
			framingTrial("filter with 10,000 messages", framingKeys),
		},
	}
}

// wanted is the distribution of how many of the chosen message's bits are still
// to be set, in a filter with so many ones.
func wanted(fill float64) (p [framingK + 1]float64) {
	for u := range p {
		a, _ := math.Lgamma(framingK + 1)
		b, _ := math.Lgamma(float64(u) + 1)
		c, _ := math.Lgamma(framingK - float64(u) + 1)
		p[u] = math.Exp(a-b-c) * math.Pow(1-fill, float64(u)) * math.Pow(fill, framingK-float64(u))
	}
	return p
}

// expected returns the mean numbers of crafted spams and of trials. A trial hits each of u
// bits with the chance k/m, and the last of them after m/k H_u trials.
func expected(fill float64) (spams, trials float64) {
	harmonic := 0.0
	for u, p := range wanted(fill) {
		if u > 0 {
			harmonic += 1 / float64(u)
		}
		spams += p * float64(u)
		trials += p * harmonic * framingBits / framingK
	}
	return spams, trials
}

func framingTrial(name string, keys int) lab.Trial {
	spams, trials := expected(papers.ClassicFill(framingBits, float64(keys), framingK))
	held := func(what string, reference float64, note string) lab.Cell {
		return lab.Cell{
			Name: name + ": " + what, Paper: lab.None, Note: note,
			Tolerance: lab.Plus(lab.StandardErrors, 0.01*reference),
			Why:       lab.WhySigmas + "; 1 % for bits that coincide",
		}.Expect(reference)
	}
	chance := papers.ClassicError(framingBits, float64(keys)+spams, framingK)
	listed := func(what string, reference float64, tolerance func(lab.Summary) float64, why string) lab.Cell {
		return lab.Cell{Name: name + ": " + what, Paper: lab.None, Tolerance: tolerance, Why: why}.Expect(reference)
	}
	return lab.Trial{
		Cells: []lab.Cell{
			held("public hash, crafted spams", spams, ""),
			held("public hash, trials", trials, noteScaled),
			held("public hash, trials at 160 Mbit", trials*framingScale, noteScaled),
			listed("public hash, chosen message listed", 1, lab.Within(0), "always"),
			listed("keyed hash, chosen message listed by the same spams", chance, lab.Events(1, chance, 0), "4 standard errors around Eq. 1"),
			held("keyed hash, reports until it is listed by chance", trials, "as many reports as an attacker needs trials with a public hash; by then nearly all bits are set"),
		},
		New: func(*rand.Rand) lab.Round { return newVictim(keys).round },
	}
}

// victim is a site with the two kinds of hash side by side.
type victim struct {
	keys          int
	public, keyed *papers.Classic
	chunks        papers.Chunks
	message       [16]byte
}

func newVictim(keys int) *victim {
	return &victim{
		keys:   keys,
		public: lab.Must(papers.NewClassic(framingBits, framingK)),
		keyed:  lab.Must(papers.NewClassic(framingBits, framingK)),
		chunks: lab.Must(papers.NewChunks(framingBits, framingK, len(signature.Digest{}))),
	}
}

func (v *victim) round(r *rand.Rand, out []float64) {
	key := make([]byte, 32)
	for i := range key {
		key[i] = byte(r.Uint32())
	}
	secret := signature.NewKeyed(key)
	v.public.Reset()
	v.keyed.Reset()
	for range v.keys {
		digest := v.next(r)
		v.public.Set(v.publicPositions(digest))
		v.keyed.Set(keyedPositions(secret, digest))
	}
	chosen := v.next(r)
	spams, trials := v.craft(r, chosen)
	for _, spam := range spams {
		v.public.Set(v.publicPositions(spam))
		v.keyed.Set(keyedPositions(secret, spam))
	}
	out[0], out[1], out[2] = float64(len(spams)), float64(trials), float64(trials)*framingScale
	out[3] = indicator(v.public.Has(v.publicPositions(chosen)))
	out[4] = indicator(v.keyed.Has(keyedPositions(secret, chosen)))
	out[5] = v.byChance(r, secret, chosen)
}

// next is the public digest of a message that was not seen before.
func (v *victim) next(r *rand.Rand) signature.Digest {
	binary.BigEndian.PutUint64(v.message[:], r.Uint64())
	binary.BigEndian.PutUint64(v.message[8:], r.Uint64())
	return signature.Sum(signature.KindBody, v.message[:])
}

func (v *victim) publicPositions(digest signature.Digest) []uint64 {
	return lab.Must(v.chunks.Positions(digest[:], make([]uint64, 0, framingK)))
}

func keyedPositions(secret *signature.Keyed, digest signature.Digest) []uint64 {
	return papers.Positions(filter.HashBytes(secret.Sum(digest[:])), framingBits, framingK, make([]uint64, 0, framingK))
}

// craft tries messages until some of them cover all bits of the chosen one that
// are not set.
func (v *victim) craft(r *rand.Rand, chosen signature.Digest) (spams []signature.Digest, trials int) {
	left := make(map[uint64]bool)
	for _, pos := range v.publicPositions(chosen) {
		if !v.public.Bit(pos) {
			left[pos] = true
		}
	}
	for len(left) > 0 {
		trials++
		digest := v.next(r)
		useful := false
		for _, pos := range v.publicPositions(digest) {
			if left[pos] {
				delete(left, pos)
				useful = true
			}
		}
		if useful {
			spams = append(spams, digest)
		}
	}
	return spams, trials
}

// byChance counts the reports of arbitrary messages until the chosen one is listed.
func (v *victim) byChance(r *rand.Rand, secret *signature.Keyed, chosen signature.Digest) float64 {
	positions := keyedPositions(secret, chosen)
	for reports := 0; ; reports++ {
		if v.keyed.Has(positions) {
			return float64(reports)
		}
		v.keyed.Set(papers.Positions(papers.DrawHash(r), framingBits, framingK, make([]uint64, 0, framingK)))
	}
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
