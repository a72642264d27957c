package replay

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// Comparison is what a report of one message says about another. Unlike a database,
// it never errs.
type Comparison struct {
	Equal   []signature.Signature // that both have
	Sketch  []Overlap             // for each kind of sketch that both have, the best pair
	Domains []string              // that both link to
}

// KeysTried is how many keys Compare tries: each is that of a possible federation.
// Which features of a text are taken for its sketch, and so whether two texts that are
// a little alike match, is decided by the federation's key.
const KeysTried = 32

// Overlap is how much of a reported sketch an asked one has.
type Overlap struct {
	Kind signature.Kind
	// Matches is under how many of the keys it is a match, and Weak under how many
	// it is one where something else corroborates it, those included.
	Matches, Weak int
	// The middle one of what is found under the keys: Found of Of keys beside one
	// anchor that both have, where Need make a match. Of is 0 where there mostly is
	// no such anchor.
	Found, Of, Need int
	// Contained is the share of the reported features that the other has.
	Contained float64
}

// Listed says that a match is more likely than not.
func (o Overlap) Listed() bool { return 2*o.Matches > KeysTried }

// ListedWeakly says so of a match that something else corroborates.
func (o Overlap) ListedWeakly() bool { return 2*o.Weak > KeysTried }

// Compare compares a message that is reported with one that is checked.
func Compare(reported, asked signature.Set) Comparison {
	c := Comparison{Domains: commonDomains(reported.ToReport(), asked)}
	for _, s := range reported.Signatures {
		if slices.Contains(asked.Signatures, s) {
			c.Equal = append(c.Equal, s)
		}
	}
	for _, kind := range []signature.Kind{signature.KindSketch, signature.KindImage} {
		if o, ok := best(kind, reported.Sketches, asked.Sketches); ok {
			c.Sketch = append(c.Sketch, o)
		}
	}
	return c
}

// commonDomains are the domains that both messages link to.
func commonDomains(a, b signature.Set) []string {
	var common []string
	for _, d := range a.Domains {
		if slices.Contains(b.Domains, d) {
			common = append(common, d)
		}
	}
	return common
}

// best compares each sketch of a kind with each other one.
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

// found is the best group under one key.
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

// match is the group that has most beyond its need, and the need of a weak match.
// Of the reported groups, those are stored that come first.
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
		return found{need: 1 << 20}, 0 // behind all that have an anchor
	}
	return most, weak
}

// common counts the different values that both have.
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

// keyed is a hash under a key: the finaliser of SplitMix64 (Steele, Lea, Flood
// 2014), twice. It stands in for the databases' secret one.
func keyed(key uint64) func(uint64) uint64 {
	seed := mix(key + 0x9e3779b97f4a7c15)
	return func(x uint64) uint64 { return mix(mix(x^seed) + seed) }
}

func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// contained is the share of the different keys of a reported sketch that another
// one has, 0 to 1.
func contained(reported, asked signature.Sketch) float64 {
	keys, others := hashes(reported), hashes(asked)
	if len(keys) == 0 {
		return 0
	}
	return float64(common(keys, others)) / float64(len(keys))
}

// hashes are the different keys of a sketch, ascending.
func hashes(s signature.Sketch) []uint64 {
	keys := make([]uint64, len(s.Keys))
	for i, k := range s.Keys {
		keys[i] = k.Hash
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
