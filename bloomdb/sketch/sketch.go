package sketch

import (
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

const (
	Max             = signature.MaxTexts + signature.MaxImages + 1 // sketches of a message: of its texts, images and page
	maxReportedKeys = journal.MaxSeeds                             // entries of one report
	maxAskedGroups  = 2048                                         // groups of one sketch that are looked up
	maxKeysPerGroup = 256
)

// The message for which Status estimates the error: one with a long text.
const (
	typicalGroups = 300
	typicalKeys   = 50
	typicalNeed   = 8
	shapeGroups   = 2
	shapeKeys     = 24
	shapeNeed     = 3
)

// MatchError returns the chance that such a message, reported by nobody, matches in one filter
// with error p.
func MatchError(p float64) float64 {
	return typicalGroups * math.Pow(p, layout.AnchorCopies) * atLeast(typicalNeed, typicalKeys, p)
}

// ShapeError returns the same for a page of much structure and many words: the chance that it
// matches by its words. By its senders it is a thousandth of that.
func ShapeError(p float64) float64 {
	return shapeGroups * math.Pow(p, layout.AnchorCopies) * atLeast(shapeNeed, shapeKeys, p)
}

// atLeast returns P(Binomial(n, p) >= t).
func atLeast(t, n int, p float64) float64 {
	if p >= 1 {
		return 1
	}
	sum, term := 0.0, math.Pow(1-p, float64(n)) // term: chance of k hits
	for k := range n + 1 {
		if k >= t {
			sum += term
		}
		term *= float64(n-k) / float64(k+1) * p / (1 - p)
	}
	return sum
}

// List is one of the lists that share a sketch filter. The positions of their entries differ by
// these numbers, which are odd and otherwise arbitrary.
type List uint64

const (
	ReportedGroups List = 0x9ae16a3b2f90404f
	RevokedGroups  List = 0xc949d7c7509e6557
)

// listOf returns the list of a rung (layout.Rungs). Rungs 0 and 1 are those of groups that were
// reported and revoked first.
func listOf(rung int) List {
	switch rung {
	case 0:
		return ReportedGroups
	case 1:
		return RevokedGroups
	}
	return List(filter.Mix(uint64(ReportedGroups)+uint64(rung)) | 1)
}

// sipKeys derives, for each kind of sketch, the key under which its features are hashed. With
// public hashes, a sender could choose which features are selected. A few crafted reports would
// then match a message that was chosen beforehand.
func sipKeys(keyed *signature.Keyed) map[signature.Kind]keyring.Sip {
	keys := make(map[signature.Kind]keyring.Sip)
	for _, kind := range []signature.Kind{signature.KindSketch, signature.KindImage, signature.KindShape} {
		keys[kind] = keyring.NewSip(keyed.Sum(keyring.PurposeSketch, []byte{byte(kind)}))
	}
	return keys
}

// seed returns the seed from which the seeds of a group's entries are derived. Groups have keyed
// hashes, so it cannot be computed without the federation key.
func (l List) seed(anchor uint64) uint64 { return filter.Mix(anchor ^ uint64(l)) }

// anchorSeed and pairSeed return the seeds of an entry. keyring.Stretch derives positions from
// them.
func anchorSeed(seed uint64, i int) uint64 { return seed + uint64(i) }

func pairSeed(seed uint64, key uint64) uint64 { return filter.Mix(seed ^ key) }

// KindGroups contains the groups of one sketch.
type KindGroups struct {
	Kind   signature.Kind
	Groups []signature.Group
	Number int // index of the sketch in its set
}

// Reported and Asked return the groups in a message's sketches.
func (sk *Index) Reported(sketches []signature.Sketch) []KindGroups {
	return sk.groupsOf(sketches, signature.Sketch.Reported)
}

func (sk *Index) Asked(sketches []signature.Sketch) []KindGroups {
	return sk.groupsOf(sketches, signature.Sketch.Asked)
}

// AskedIn is Asked without the pages that no report in v matches.
func (sk *Index) AskedIn(v *store.View, sketches []signature.Sketch) []KindGroups {
	return sk.groupsOf(sketches, func(s signature.Sketch, keyed func(uint64) uint64) []signature.Group {
		if s.Kind == signature.KindShape && !sk.isAnchored(v, s) {
			return nil
		}
		return s.Asked(keyed)
	})
}

func (sk *Index) groupsOf(sketches []signature.Sketch, groups func(s signature.Sketch, keyed func(uint64) uint64) []signature.Group) []KindGroups {
	var list []KindGroups
	for i, s := range sketches[:min(len(sketches), Max)] {
		sip, ok := sk.SipKeys[s.Kind]
		if !ok || s.Kind == signature.KindShape && sk.opt.Reports.NoShapes {
			continue
		}
		if g := groups(s, sip.Hash); len(g) > 0 {
			list = append(list, KindGroups{s.Kind, g[:min(len(g), maxAskedGroups)], i})
		}
	}
	return list
}

// Records returns the journal records of the groups of a report or revocation. There are none if
// sketches are disabled, or if the generation's filter is full, which is logged once. A full
// sketch filter never rejects a report. They use the first most rungs.
func (sk *Index) Records(kind layout.Kind, sketches []KindGroups, gen int64, most int) (records []journal.Record, err error) {
	if len(sketches) == 0 || sk.opt.Unwanted(layout.SketchFilter) {
		return nil, nil
	}
	t := layout.Target{Kind: layout.SketchFilter, Gen: gen}
	own, err := sk.store.OwnBits(t, sk.store.ShapeFor(t))
	if err != nil {
		return nil, err
	}
	if err := sk.opt.Fits(fmt.Sprintf("sketch filter generation %d", gen), own.Shape(), own.Ones(), t); err != nil {
		if sk.sketchesLost.Swap(gen) != gen {
			sk.opt.Log.Warn("sketch filter is full: reports are recorded without their sketches", "error", err)
		}
		return nil, nil
	}
	for seeds := range slices.Chunk(sk.EntrySeeds(kind, sketches, gen, most), journal.MaxSeeds) {
		records = append(records, journal.Record{Target: t, Seeds: seeds})
	}
	return records, nil
}

// EntrySeeds returns the entries that a report or a revocation stores: those of its first list,
// and for each sketch that was reported and revoked before those of all rungs up to the new one.
// A sketch for which none of the first most rungs is left has none.
func (sk *Index) EntrySeeds(kind layout.Kind, sketches []KindGroups, gen int64, most int) (seeds []uint64) {
	g := sk.store.View.Load().Report(gen)
	byRung := make([][]KindGroups, layout.Rungs)
	for _, s := range sketches {
		rung, ok := layout.NextRung(kind, WriteTop(g, s, sk.opt.Site), most)
		if !ok {
			continue
		}
		first, _ := layout.NextRung(kind, -1, most)
		byRung[first] = append(byRung[first], s)
		for r := layout.FirstRung; r <= rung; r++ {
			byRung[r] = append(byRung[r], s)
		}
	}
	for r, list := range byRung {
		seeds = append(seeds, sk.listSeeds(list, listOf(r), gen)...)
	}
	return seeds
}

// RungSeeds returns the entries of sketches on one rung.
func (sk *Index) RungSeeds(sketches []KindGroups, rung int, gen int64) []uint64 {
	return sk.listSeeds(sketches, listOf(rung), gen)
}

// listSeeds returns the entries of one list: for each group, the copies of its anchor and its
// pairs. A group that exceeds the limit is omitted as a whole.
func (sk *Index) listSeeds(sketches []KindGroups, l List, gen int64) (seeds []uint64) {
	for _, s := range sketches {
		for _, g := range sk.chosen(s, l, gen) {
			if len(g.Keys) > maxKeysPerGroup || len(seeds)+layout.AnchorCopies+len(g.Keys) > maxReportedKeys {
				continue
			}
			seed := l.seed(g.Anchor)
			for i := range layout.AnchorCopies {
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

// chosen returns the groups of a sketch that are stored in a generation. Groups whose anchor
// nobody has stored there come first, so that reports can be told apart. If the site has stored
// nearly all keys of one group, it has this text already, or one that differs by a word. A
// campaign that is reported a thousand times is therefore stored once.
func (sk *Index) chosen(s KindGroups, l List, gen int64) []signature.Group {
	g := sk.store.View.Load().Report(gen)
	if s.Kind != signature.KindSketch || len(s.Groups) <= signature.StoredAnchors || g == nil {
		return s.Groups
	}
	q := NewQuery(s, l)
	own := q.anchored(g.Sketches.Own, nil)
	if slices.ContainsFunc(own, func(i int) bool {
		pairs := q.pairs(i)
		return Count(g.Sketches.Own.HasBatch(pairs, nil)) >= len(pairs)-len(pairs)/10
	}) {
		return nil
	}
	var unused, used []signature.Group
	taken := q.anchored(g.Sketches.Others, own)
	for i, group := range s.Groups {
		if slices.Contains(taken, i) {
			used = append(used, group)
		} else {
			unused = append(unused, group)
		}
	}
	return append(unused, used...)[:signature.StoredAnchors]
}

// Index encodes near-duplicates as journal records.
type Index struct {
	opt   *layout.Settings
	ring  *keyring.Ring
	store *store.Store

	Common  *commonness.Table              // what is common at this site; nil: nothing is
	SipKeys map[signature.Kind]keyring.Sip // hash their features

	sketchesLost atomic.Int64 // the last generation whose sketch filter was full
}

func New(st *store.Store) *Index {
	return &Index{opt: st.Opt, ring: st.Ring, store: st, SipKeys: sipKeys(st.Ring.Keyed)}
}
