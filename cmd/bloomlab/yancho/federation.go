package yancho

import (
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// Federation is a group of sites that count the same messages in filters of equal geometry,
// and merge them by several methods. Messages are drawn roughly like mail: 60 % arrive once;
// the others arrive more than 2x times with a chance of 1/x, at most 5,000 times. Half of
// the messages are seen at one site only, the others at all sites. All arrive in random
// order, and the sites exchange their counts Exchanges times, at equal intervals.
//
// A Federation is scratch for one goroutine.
type Federation struct {
	Sites, Exchanges int
	Keys             int
	K                int

	m                uint64
	own              []*papers.Counting // each site's own insertions, refined
	mixed            []*papers.Counting // each site's own, on top of what was merged as printed
	base             *papers.Counting   // what was merged last
	sum, delta       *papers.Counting
	intuitive, total *papers.Counting
	keys             []uint64 // K positions each
	truth            []uint32
}

// Scheme is a way to merge.
type Scheme int

const (
	Printed   Scheme = iota // refined insertion into the merged state, differences of cells added
	Intuitive               // intuitive insertion, cells added
	MinOfSum                // refined insertion into each site's own state, cells added
	SumOfMin                // refined insertion into each site's own state, a key's counts added
	schemes
)

// threshold is the count at which a message is bulk (section IV: t=20).
const threshold = 20

// Outcome has the errors of a scheme's counts, as shares of the keys.
type Outcome struct {
	Over, Under float64 // counted more and less often than inserted
	Missed      float64 // inserted at least 20 times, counted less
}

// NewFederation makes the filters, of so many cells a key.
func NewFederation(sites, exchanges, keys, cells, k int) *Federation {
	f := &Federation{Sites: sites, Exchanges: exchanges, Keys: keys, K: k, m: uint64(cells * keys)}
	state := func(e papers.Extension) *papers.Counting {
		c, _ := newCounting(e, f.m, k, 20)
		return c
	}
	for range sites {
		f.own = append(f.own, state(papers.Refined))
		f.mixed = append(f.mixed, state(papers.Refined))
	}
	f.base, f.sum, f.delta, f.total = state(papers.Refined), state(papers.Refined), state(papers.Refined), state(papers.Refined)
	f.intuitive = state(papers.Intuitive)
	f.truth = make([]uint32, keys)
	return f
}

// arrival is one message at one site.
type arrival struct {
	key  int32
	site int32
}

// Round lets all messages of one draw arrive, and returns the outcome of each
// Scheme.
func (f *Federation) Round(r *rand.Rand) [schemes]Outcome {
	f.reset(r)
	arrivals := f.draw(r)
	part := (len(arrivals) + f.Exchanges - 1) / f.Exchanges
	for len(arrivals) > 0 {
		n := min(part, len(arrivals))
		for _, a := range arrivals[:n] {
			x := f.key(int(a.key))
			f.own[a.site].Add(x, 1)
			f.mixed[a.site].Add(x, 1)
			f.intuitive.Add(x, 1)
		}
		arrivals = arrivals[n:]
		f.exchange()
	}
	for _, site := range f.own {
		lab.Check(f.total.Sum(site))
	}
	return f.outcomes()
}

func (f *Federation) reset(r *rand.Rand) {
	for _, c := range append(append([]*papers.Counting{f.base, f.intuitive, f.total}, f.own...), f.mixed...) {
		c.Reset()
	}
	f.keys = f.keys[:0]
	for range f.Keys * f.K {
		f.keys = append(f.keys, r.Uint64N(f.m))
	}
}

func (f *Federation) key(i int) []uint64 { return f.keys[i*f.K : (i+1)*f.K] }

func (f *Federation) draw(r *rand.Rand) []arrival {
	var all []arrival
	for i := range f.truth {
		count := 1
		if r.Float64() >= 0.6 {
			count = int(min(5000, 2/(1-r.Float64())))
		}
		f.truth[i] = uint32(count)
		home, everywhere := r.IntN(f.Sites), r.IntN(2) == 0
		for range count {
			site := home
			if everywhere {
				site = r.IntN(f.Sites)
			}
			all = append(all, arrival{int32(i), int32(site)})
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// exchange is the printed synchronisation: all sites send the increase of their cells since
// the last one, and all add these up.
func (f *Federation) exchange() {
	f.sum.Reset()
	lab.Check(f.sum.Sum(f.base))
	for _, site := range f.mixed {
		lab.Check(site.Delta(f.base, f.delta))
		lab.Check(f.sum.Sum(f.delta))
	}
	for _, site := range append(f.mixed, f.base) {
		lab.Check(site.Join(f.sum)) // no cell of sum is less than theirs
	}
}

func (f *Federation) outcomes() (all [schemes]Outcome) {
	share := 1 / float64(f.Keys)
	for i, truth := range f.truth {
		x := f.key(i)
		counts := [schemes]uint64{
			Printed:   uint64(f.mixed[0].Count(x)),
			Intuitive: uint64(f.intuitive.Count(x)),
			MinOfSum:  uint64(f.total.Count(x)),
			SumOfMin:  papers.CountSites(f.own, x),
		}
		for s, count := range counts {
			switch o := &all[s]; {
			case count > uint64(truth):
				o.Over += share
			case count < uint64(truth):
				o.Under += share
				if count < threshold && truth >= threshold {
					o.Missed += share
				}
			}
		}
	}
	return all
}
