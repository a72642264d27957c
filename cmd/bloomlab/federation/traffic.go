package federation

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// intervals are the intervals at which counts are published, in seconds.
var intervals = []float64{1, 5, 15, 60}

// The overhead of a record, in bytes: head, signature and HMAC; the
// head of a filter's section; Redis' protocol, TCP and IP around it.
const (
	recordHead  = 55 + 64 + 33 // with a site name of 8
	sectionHead = 32
	protocolIn  = 250 // a script's call with its keys, and the answer
	protocolOut = 120 // a message to one subscriber

	heartbeatBody  = 16
	heartbeatEvery = 2.0 // seconds
)

const noteCounts = "each distinct message of the interval is a key of four changed cells in one line. A line costs Rice's code of a gap, " +
	"k + 1/(1-(1-p)^(2^k)) bits with p = keys/lines, two flags, 4x5 bits, and the value's gamma code. " + noteMail

// site is one of the federation's, with its counting filter's size.
type site struct {
	share float64
	shape filter.CountsShape
}

func allSites() []site {
	all := make([]site, sites)
	for i := range all {
		w := share(i + 1)
		all[i] = site{w, filter.SizeCounts(daysKeys(daily, w))}
	}
	return all
}

// countTraffic draws the counts that all sites publish after an interval, at full size.
func countTraffic(seconds float64) lab.Trial {
	bytes, keys := 0.0, 0.0
	for _, s := range allSites() {
		b, k := s.expectedCounts(seconds)
		bytes, keys = bytes+b, keys+k
	}
	name := fmt.Sprintf("counts every %g s, ", seconds)
	return lab.Trial{
		Cells: []lab.Cell{
			near(name+"all sites, bytes/s", bytes/seconds, 0.03, whyTraffic, noteCounts),
			near(name+"all sites, keys/s", keys/seconds, 0.005, whyTraffic, ""),
			near(name+"bits a key", 8*bytes/keys, 0.03, whyTraffic, ""),
		},
		New: func(*rand.Rand) lab.Round {
			publishers := newPublishers(seconds)
			return func(r *rand.Rand, out []float64) {
				hour, bytes, keys := r.Float64(), 0, 0
				for _, p := range publishers {
					n, code := p.publish(r, hour)
					bytes, keys = bytes+len(code), keys+n
				}
				out[0], out[1] = float64(bytes)/seconds, float64(keys)/seconds
				if keys > 0 {
					out[2] = 8 * float64(bytes) / float64(keys)
				}
			}
		},
	}
}

const whyTraffic = "4 standard errors, and 3 % (of keys 0.5 %) for lines that keys share, rounding to bytes, and the gaps' parameter"

// publisher draws one site's intervals.
type publisher struct {
	site
	own, common     float64 // mean distinct messages of an interval
	ofOwn, ofCommon sightings
	cells           []filter.Cell
	code            []byte
}

func newPublishers(seconds float64) []*publisher {
	part := seconds / daySeconds
	ofOwn := newSightings(part)
	var all []*publisher
	for _, s := range allSites() {
		p := &publisher{site: s, ofOwn: ofOwn, ofCommon: newSightings(s.share * part)}
		p.own, p.common = distinct(daily, s.share, part)
		all = append(all, p)
	}
	return all
}

// publish codes an interval at a time of the day, 0 to 1. By then, a message with c
// sightings has had about that part of them.
func (p *publisher) publish(r *rand.Rand, hour float64) (keys int, code []byte) {
	p.cells = p.cells[:0]
	own, common := poisson(r, p.own), poisson(r, p.common)
	for range own {
		p.count(r, (p.ofOwn.draw(r)-1)*hour)
	}
	for range common {
		p.count(r, (p.ofCommon.draw(r)-1)*hour*p.share)
	}
	if own+common == 0 {
		return 0, nil
	}
	p.cells = sorted(p.cells)
	p.code = coded.AppendCountLines(p.code[:0], p.shape, p.cells)
	return own + common, p.code
}

// count has a key's cells changed to what it had before, rounded at random, and one.
func (p *publisher) count(r *rand.Rand, before float64) {
	value := 1 + uint32(before+r.Float64())
	for _, pos := range p.shape.Positions(papers.DrawHash(r)) {
		p.cells = append(p.cells, filter.Cell{Pos: pos, Value: value})
	}
}

// sorted is ascending and distinct; of a position's values the largest stays.
func sorted(cells []filter.Cell) []filter.Cell {
	packed := make([]uint64, len(cells)) // the largest value first; numbers are sorted four times as fast
	for i, c := range cells {
		packed[i] = c.Pos<<valueWidth | uint64(filter.MaxValue-c.Value)
	}
	slices.Sort(packed)
	cells = cells[:0]
	for i, p := range packed {
		if i == 0 || p>>valueWidth != packed[i-1]>>valueWidth {
			cells = append(cells, filter.Cell{Pos: p >> valueWidth, Value: filter.MaxValue - uint32(p&filter.MaxValue)})
		}
	}
	return cells
}

// valueWidth is the bits of filter.MaxValue.
const valueWidth = 20

// expectedCounts are the bytes and the keys of one interval, by the equation.
func (s site) expectedCounts(seconds float64) (bytes, keys float64) {
	part := seconds / daySeconds
	own, common := distinct(daily, s.share, part)
	keys = own + common
	values := own*valueBits(part, 1) + common*valueBits(s.share*part, s.share)
	return codeBytes(keys, float64(s.shape.Lines), 2+4*5, values/keys), keys
}

// codeBytes are those of a code of a Poisson number of keys, each in a line of its
// own: the number, Rice's parameter, for each key a gap and so many bits more, and
// half a byte of padding.
func codeBytes(keys, lines, inLine, values float64) float64 {
	some := -math.Expm1(-keys)
	head := some * (1 + 1 + 0.5)
	if keys > 128 {
		head++
	}
	gap := riceBits(max(keys, some) / some / lines)
	return head + keys*(gap+inLine+values)/8
}

// riceBits is what Rice's code takes for a gap between cells of which each is used
// with a chance p, with the parameter that bloomdb/filter/coded chooses.
func riceBits(p float64) float64 {
	k := 0
	if mean := 0.69 / p; mean >= 1 {
		k = bits.Len64(uint64(mean)) - 1
	}
	return float64(k) + 1/-math.Expm1(math.Exp2(float64(k))*math.Log1p(-min(p, 1-1e-9)))
}

// valueBits are the mean bits of Elias' gamma code of what a message has come to at a
// site with a share of it, of those that a part of the sightings shows; hours are
// taken in twentieths.
func valueBits(part, share float64) float64 {
	const hours = 20
	sum, total := 0.0, 0.0
	for _, g := range groups {
		p := g.chance * g.seen(part)
		total += p * hours
		for h := range hours {
			before := (g.count - 1) * share * (float64(h) + 0.5) / hours
			least := math.Floor(before)
			more := before - least // chance to be rounded up
			sum += p * ((1-more)*gammaBits(1+least) + more*gammaBits(2+least))
		}
	}
	return sum / total
}

func gammaBits(v float64) float64 { return 2*float64(bits.Len64(uint64(v))) - 1 }
