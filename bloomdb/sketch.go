package bloomdb

import (
	"fmt"
	"math"
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// How sketches are kept. A generation has one pooled filter, in which stand, for
// each group that was reported (signature.Group), its anchor and the pairs of the
// anchor with each of its keys. A message is asked for every anchor it has, and for
// the pairs of those that are found: a match is one group of which one site has
// stored the anchor and Need pairs. A pair belongs to one anchor, so that keys of
// different reports never add up, though the filter forgets which key came from
// which report. Revoked groups stand in the same filter: their positions come from
// keys of their own, and are independent of those of the reported ones.
//
// # Error
//
// Four bits an entry in one line, at p = 3 % where a generation is full: 85 bytes a
// reported message of three groups of 20 keys, the quarter more that a generation
// holds and its revocations within. Eight bits would err more there, and cost deltas
// and parts twice as many ones; two lines, for 2.9 %, twice the cache misses where
// keys are there. At the capacity, evenly over the generations, p is 1.5 %, and 2.2 %
// with an eighth of it revoked.
//
// An anchor is stored four times, 16 bits: it decides whether keys are asked for at
// all. A message that nobody reported is listed, for A groups of n keys of which t are
// needed, in G generations, own and others', with a chance of
//
//	A * 2G * p^4 * P(Binomial(n, p) >= t)
//
// For 300 groups of 50 keys, 8 needed, in five generations that is 9e-9 at the capacity
// with an eighth of it revoked, and 3e-7 where all ten filters are full, which is two
// and a half times the capacity. With anchors stored once it would be 1e-3 and 1e-2:
// keys have to be of few bits, since they have to be many.
const (
	anchorCopies   = 4
	plannedGroups  = 3
	plannedKeys    = 20
	plannedEntries = plannedGroups * (anchorCopies + plannedKeys) // of one report
	sketchKeyError = 0.03                                         // of a full generation
)

// Bounds of one report and one question, whatever a sketch says.
const (
	maxSketches     = 8
	maxReportedKeys = 1000 // entries of one report: a journal record holds them
	maxAskedGroups  = 2048 // of one sketch
	maxKeysPerGroup = 256
	sketchSeedBytes = 8
)

// The message for which Status estimates the error: a long text.
const (
	typicalGroups = 300
	typicalKeys   = 50
	typicalNeed   = 8
)

// matchError is the chance that such a message, which nobody reported, matches in one
// filter with an error of p.
func matchError(p float64) float64 {
	return typicalGroups * math.Pow(p, anchorCopies) * atLeast(typicalNeed, typicalKeys, p)
}

// atLeast is P(Binomial(n, p) >= t).
func atLeast(t, n int, p float64) float64 {
	if p >= 1 {
		return 1
	}
	sum, term := 0.0, math.Pow(1-p, float64(n)) // of k hits
	for k := range n + 1 {
		if k >= t {
			sum += term
		}
		term *= float64(n-k) / float64(k+1) * p / (1 - p)
	}
	return sum
}

// sketchLists are the lists that a sketch filter holds in one: their entries'
// positions differ by these numbers, which are odd and of no other meaning.
type sketchList uint64

const (
	reportedGroups sketchList = 0x9ae16a3b2f90404f
	revokedGroups  sketchList = 0xc949d7c7509e6557
)

func sketchListOf(kind filterKind) sketchList {
	if kind == revokedFilter {
		return revokedGroups
	}
	return reportedGroups
}

// sketchSipKeys derives, for each kind of sketch, the key under which its features
// are hashed from the federation's key: with public hashes, a sender could choose
// which features are taken, and a few crafted reports would match a message that was
// chosen beforehand.
func sketchSipKeys(keyed *signature.Keyed) map[signature.Kind]sipKey {
	keys := make(map[signature.Kind]sipKey)
	for _, kind := range []signature.Kind{signature.KindSketch, signature.KindImage} {
		keys[kind] = newSipKey(keyed.Sum(purposeSketch, []byte{byte(kind)}))
	}
	return keys
}

// seed is what the seeds of a group's entries are made of. Groups have keyed hashes,
// so that what is mixed here is unknown to all who do not have the federation's key.
func (l sketchList) seed(anchor uint64) uint64 { return mix(anchor ^ uint64(l)) }

// anchorSeed and pairSeed are the seeds of an entry's positions, of which stretch
// makes the lanes.
func anchorSeed(seed uint64, i int) uint64    { return seed + uint64(i) }
func pairSeed(seed uint64, key uint64) uint64 { return mix(seed ^ key) }

// kindGroups are the groups of one sketch.
type kindGroups struct {
	kind   signature.Kind
	groups []signature.Group
	number int // of the sketch in its set
}

// reported and asked take the groups out of a message's sketches.
func (sk *sketches) reported(sketches []signature.Sketch) []kindGroups {
	return sk.groupsOf(sketches, signature.Sketch.Reported)
}

func (sk *sketches) asked(sketches []signature.Sketch) []kindGroups {
	return sk.groupsOf(sketches, signature.Sketch.Asked)
}

func (sk *sketches) groupsOf(sketches []signature.Sketch, groups func(s signature.Sketch, keyed func(uint64) uint64) []signature.Group) []kindGroups {
	var list []kindGroups
	for i, s := range sketches[:min(len(sketches), maxSketches)] {
		sip, ok := sk.sipKeys[s.Kind]
		if !ok {
			continue
		}
		if g := groups(s, sip.hash); len(g) > 0 {
			list = append(list, kindGroups{s.Kind, g[:min(len(g), maxAskedGroups)], i})
		}
	}
	return list
}

// ofMessage are the sketches that stand for a message: not those of what it carries or
// hides, as it would be in a message that shows it itself. These are only asked: of the
// text the second one, of images those that follow another one.
// Else a spam that carries a declared newsletter would be declared, too.
func ofMessage(sketches []signature.Sketch) []signature.Sketch {
	var of []signature.Sketch
	for i, s := range sketches[:min(len(sketches), maxNeverSketches)] {
		isPlain := s.AskOnly && i > 0 && sketches[i-1].Kind == s.Kind && (i == 1 || s.Kind == signature.KindImage)
		if !isPlain {
			of = append(of, s)
		}
	}
	return of
}

// sketchRecords are the journal records of a report's or a revocation's groups:
// none where sketches are off, or where the generation's filter is full, which is
// said once. A report is never refused for its sketch.
func (sk *sketches) sketchRecords(sketches []kindGroups, l sketchList, gen int64) ([]record, error) {
	if len(sketches) == 0 || sk.opt.unwanted(sketchFilter) {
		return nil, nil
	}
	t := target{sketchFilter, gen}
	own, err := sk.store.ownBits(t, sk.store.shapeFor(t))
	if err != nil {
		return nil, err
	}
	if err := sk.opt.fits(fmt.Sprintf("sketch filter generation %d", gen), own.Shape(), own.Ones(), t); err != nil {
		if sk.sketchesLost.Swap(gen) != gen {
			sk.opt.Log.Warn("reports are kept without their sketches", "error", err)
		}
		return nil, nil
	}
	if seeds := sk.entrySeeds(sketches, l, gen); len(seeds) > 0 {
		return []record{{target: t, seeds: seeds}}, nil
	}
	return nil, nil
}

// entrySeeds lists what a report stores: for each group its anchor's copies and its
// pairs. Groups that the bounds leave no room for are left out whole.
func (sk *sketches) entrySeeds(sketches []kindGroups, l sketchList, gen int64) []uint64 {
	var seeds []uint64
	for _, s := range sketches {
		for _, g := range sk.chosen(s, l, gen) {
			if len(g.Keys) > maxKeysPerGroup || len(seeds)+anchorCopies+len(g.Keys) > maxReportedKeys {
				continue
			}
			seed := l.seed(g.Anchor)
			for i := range anchorCopies {
				seeds = append(seeds, anchorSeed(seed, i))
			}
			for _, key := range g.Keys {
				seeds = append(seeds, pairSeed(seed, key))
			}
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// chosen are the groups of a sketch that are stored in a generation, of those that it
// offers: first those whose anchor nobody has stored there yet, so that each report is
// told from the others, then the first ones. Where the site has stored nearly all keys
// of one of them there, it has this very text, or one that differs by a word: a
// campaign that is reported a thousand times stores its groups once.
func (sk *sketches) chosen(s kindGroups, l sketchList, gen int64) []signature.Group {
	g := sk.store.view.Load().report(gen)
	if s.kind == signature.KindImage || len(s.groups) <= signature.StoredAnchors || g == nil {
		return s.groups
	}
	q := newSketchQuery(s, l)
	own := q.anchored(g.sketches.own, nil)
	if slices.ContainsFunc(own, func(i int) bool {
		pairs := q.pairs(i)
		return count(g.sketches.own.HasBatch(pairs, nil)) >= len(pairs)-len(pairs)/10
	}) {
		return nil
	}
	var unused, used []signature.Group
	taken := q.anchored(g.sketches.others, own)
	for i, group := range s.groups {
		if slices.Contains(taken, i) {
			used = append(used, group)
		} else {
			unused = append(unused, group)
		}
	}
	return append(unused, used...)[:signature.StoredAnchors]
}
