package replay

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// Comparison is the effect of a report of one message on another. Unlike a database, it has
// no false positives.
type Comparison struct {
	Equal   []signature.Signature // common to both
	Sketch  []Overlap             // the best pair of each kind of sketch that both have
	Domains []string              // common to both
}

// KeysTried is the number of keys that Compare tries; each represents a possible
// federation. The federation's key selects the features of a text for its sketch. It
// thereby decides whether two texts with some similarity match.
const KeysTried = 32

// Overlap is the part of a reported sketch that an asked one contains.
type Overlap struct {
	Kind signature.Kind
	// Matches is the number of keys with a match. Weak is the number of keys with at least
	// a weak match, which requires other evidence.
	Matches, Weak int
	// The median of the results under the keys: Found of Of keys beside a common anchor,
	// where Need make a match. Of is 0 if mostly there is no common anchor.
	Found, Of, Need int
	// Contained is the share of the reported features that the other sketch contains.
	Contained float64
}

// Listed reports whether a match is more likely than not.
func (o Overlap) Listed() bool { return 2*o.Matches > KeysTried }

// ListedWeakly reports the same for a match with other evidence.
func (o Overlap) ListedWeakly() bool { return 2*o.Weak > KeysTried }

// Compare compares a reported message with a checked one.
func Compare(reported, asked signature.Set) Comparison {
	c := Comparison{Domains: commonDomains(reported.ToReport(), asked)}
	for _, s := range reported.Signatures {
		if slices.Contains(asked.Signatures, s) {
			c.Equal = append(c.Equal, s)
		}
	}
	for _, kind := range []signature.Kind{signature.KindSketch, signature.KindImage, signature.KindShape} {
		if o, ok := best(kind, reported.Sketches, asked.Sketches); ok {
			c.Sketch = append(c.Sketch, o)
		}
	}
	return c
}

// commonDomains returns the domains that both messages link to.
func commonDomains(a, b signature.Set) []string {
	var common []string
	for _, d := range a.Domains {
		if slices.Contains(b.Domains, d) {
			common = append(common, d)
		}
	}
	return common
}

// best compares all pairs of sketches of a kind.
func best(kind signature.Kind, reported, asked []signature.Sketch) (most Overlap, ok bool) {
	for _, r := range reported {
		for _, a := range asked {
			if r.Kind != kind || a.Kind != kind {
				continue
			}
			o := overlap(r, a)
			if !ok || o.Matches > most.Matches || o.Matches == most.Matches && o.Contained > most.Contained {
				most, ok = o, true
			}
		}
	}
	return most, ok
}

// found is the best group for one key.
type found struct{ found, of, need int }

// overlap tries all keys.
func overlap(reported, asked signature.Sketch) Overlap {
	o := Overlap{Kind: reported.Kind, Contained: contained(reported, asked)}
	tries := make([]found, 0, KeysTried)
	for key := range uint64(KeysTried) {
		f, weak := match(reported, asked, keyed(key))
		if f.of > 0 && f.found >= f.need {
			o.Matches++
		}
		if f.of > 0 && f.found >= weak {
			o.Weak++
		}
		tries = append(tries, f)
	}
	slices.SortFunc(tries, func(a, b found) int { return (a.found - a.need) - (b.found - b.need) })
	middle := tries[len(tries)/2]
	o.Found, o.Of, o.Need = middle.found, middle.of, middle.need
	return o
}

// match returns the group that exceeds its need by most, and the need of a weak match. The
// first of the reported groups are stored.
func match(reported, asked signature.Sketch, keyed func(uint64) uint64) (most found, weak int) {
	stored := reported.Reported(keyed)
	if reported.Kind == signature.KindSketch {
		stored = stored[:min(len(stored), signature.StoredAnchors)]
	}
	most.found = -1
	for _, g := range asked.Asked(keyed) {
		for _, s := range stored {
			if s.Anchor != g.Anchor {
				continue
			}
			f := found{common(s.Keys, g.Keys), len(s.Keys), g.Need}
			if most.found < 0 || f.found-f.need > most.found-most.need {
				most, weak = f, g.Weak
			}
		}
	}
	if most.found < 0 {
		return found{need: 1 << 20}, 0 // worse than any with an anchor
	}
	return most, weak
}

// common counts the distinct values in both.
func common(a, b []uint64) int {
	in := make(map[uint64]bool, len(b))
	for _, v := range b {
		in[v] = true
	}
	n := 0
	for _, v := range a {
		if in[v] {
			n++
			in[v] = false
		}
	}
	return n
}

// keyed is a keyed hash: the finaliser of SplitMix64 (Steele, Lea, Flood 2014), twice. It
// replaces the databases' secret hash.
func keyed(key uint64) func(uint64) uint64 {
	seed := filter.Mix(key + 0x9e3779b97f4a7c15)
	return func(x uint64) uint64 { return filter.Mix(filter.Mix(x^seed) + seed) }
}

// contained returns the share of the distinct keys of a reported sketch that another one
// contains, 0 to 1.
func contained(reported, asked signature.Sketch) float64 {
	keys, others := hashes(reported), hashes(asked)
	if len(keys) == 0 {
		return 0
	}
	return float64(common(keys, others)) / float64(len(keys))
}

// hashes returns the distinct keys of a sketch, ascending.
func hashes(s signature.Sketch) []uint64 {
	keys := make([]uint64, len(s.Keys))
	for i, k := range s.Keys {
		keys[i] = k.Hash
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
