package bloomdb

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// Evidence is the answer to both questions about one message.
type Evidence struct {
	Listed  bool    // some signature was reported and not revoked
	Class   Class   // the gravest of the matches that stand
	Matches []Match // the signatures with a listing, revoked or not; those that stand first
	Weak    []Match // sketches of which fewer keys were found than a match needs; none is revoked
	Votes   int     // sites heard by their votes that vote for the message, see VotesError
	Count   uint64  // how often the message was seen: the largest over its counting keys, all sites summed
	Sites   int     // listed: sites that reported a signature; else sites that counted it

	// Never says that the message is on the never-list. It is listed then only for an
	// attachment that the declared message did not have.
	Never  bool
	Spared []Match // listings that do not count, since the never-list has the message or the part

	Limits signature.Limits // that bit while the filters were asked: LimitGroups or none
}

// Match is a signature that was reported. The newest generation wins, within one
// the revocation wins.
type Match struct {
	Signature  signature.Signature
	Revoked    bool
	Class      Class    // the gravest under which a listing that stands was reported
	Generation int64    // the newest that lists it: number of the period since 1970
	Sites      []string // that reported it in that generation

	// Of a sketch, whose Signature has the anchor in its digest's first 8 bytes: the
	// keys that were found of those asked for, and how many of them a match needs.
	Found, Need, Keys int

	Domain string // of a link; of signature.KindDomain only

	// Votes says that it is listed by the votes of Sites, of which Options.Votes must
	// agree. They tell no generation. A revocation in any generation revokes it.
	Votes bool
}

// Judge asks the filters. It does no I/O and cannot fail.
func (db *DB) Judge(set signature.Set) Evidence {
	k := db.know(set)
	var e Evidence
	hashes := make([]filter.Hash, 0, 8)
	for _, s := range set.Signatures {
		hashes = append(hashes, db.reportHash(s))
	}
	found := k.found(set.Signatures, hashes, make([]bool, 0, 8))
	for i, s := range set.Signatures {
		if !found[i] {
			continue
		}
		if m, ok := k.match(s, hashes[i]); ok {
			if !m.Revoked && db.opt.Reports.Classes {
				m.Class = k.classOf(s, hashes[i])
			}
			if !m.Revoked {
				e.Listed = true
				e.Class = gravest(e.Class, m.Class)
			}
			e.Matches = append(e.Matches, m)
		}
	}
	k.addSketches(&e, set.Signatures)
	k.judgeVotes(&e, set.Signatures)
	c := db.covers(set)
	k.judgeLinks(&e, set.Domains, &c)
	slices.SortStableFunc(e.Matches, func(a, b Match) int { return boolOrder(a.Revoked) - boolOrder(b.Revoked) })
	counters := 0
	for _, s := range set.Counting {
		if n, sites := k.seen(s); n > e.Count {
			e.Count, counters = n, sites
		}
	}
	e.Sites = counters
	if e.Listed {
		e.Sites = reporters(e.Matches)
	}
	db.spare(&c, &e, counters)
	return e
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reporters counts the sites behind the matches that stand.
func reporters(matches []Match) int {
	var sites []string
	for _, m := range matches {
		if !m.Revoked {
			sites = append(sites, m.Sites...)
		}
	}
	slices.Sort(sites)
	return len(slices.Compact(sites))
}

// found appends to dst, for each key, whether some spam filter has it; match
// looks at those closely. All keys are asked at once, filter by filter, so that
// their cache misses overlap: for most mail, that is all there is to do.
func (v *view) found(keys []filter.Hash, dst []bool) []bool {
	from := len(dst)
	for range keys {
		dst = append(dst, false)
	}
	answers := make([]bool, 0, 8)
	for _, g := range v.reports {
		for _, b := range [...]*filter.Bits{g.spam.own, g.spam.others} {
			if b == nil {
				continue
			}
			answers = b.HasBatch(keys, answers[:0])
			for i, ok := range answers {
				dst[from+i] = dst[from+i] || ok
			}
		}
	}
	return dst
}

// match looks for the newest generation that lists a key, and for a revocation
// in that one or a newer one. What the other key's database takes back counts, too.
func (v *view) match(s signature.Signature, h filter.Hash, self string, other *knowledge) (m Match, ok bool) {
	for i, g := range v.reports {
		if !g.lists(h) || other.retouched(s, g.num) {
			continue
		}
		sites := g.spam.sites(h, self)
		if len(sites) == 0 {
			continue // no site reported it: only the union of several has these bits
		}
		revoked := slices.ContainsFunc(v.reports[:i+1], func(g *reportGeneration) bool { return g.revoked.has(h) }) ||
			other.revokedSince(s, g.num)
		return Match{Signature: s, Revoked: revoked, Generation: g.num, Sites: sites}, true
	}
	return m, false
}

// lists says whether a generation lists a key, revoked or not, and no retouch
// hides it.
func (g *reportGeneration) lists(h filter.Hash) bool { return g.spam.has(h) && !g.mask.hides(h) }

func (l *listing) has(h filter.Hash) bool {
	return l.own != nil && l.own.Has(h) || l.others != nil && l.others.Has(h)
}

// sites names those whose filter has a key.
func (l *listing) sites(h filter.Hash, self string) []string {
	var names []string
	if l.own != nil && l.own.Has(h) {
		names = append(names, self)
	}
	names = append(names, l.partsWith(h)...)
	slices.Sort(names)
	return slices.Compact(names)
}

// partsWith names the other sites whose part has a key.
func (l *listing) partsWith(h filter.Hash) []string {
	var names []string
	for _, p := range l.trusted {
		var buf [16]uint64
		if p.part.Min(p.shape.bits().Positions(h, buf[:0])) > 0 {
			names = append(names, p.origin.site)
		}
	}
	return names
}

// seen sums a key's counts over generations and sites.
func (v *view) seen(h filter.Hash, self string) (n uint64, sites int) {
	var names []string
	for _, g := range v.counts {
		if c := g.ownCount(h); c > 0 {
			n += uint64(c)
			names = append(names, self)
		}
		for _, p := range g.countedParts {
			if c := p.count(h); c > 0 {
				n += uint64(c)
				names = append(names, p.origin.site)
			}
		}
	}
	slices.Sort(names)
	return n, len(slices.Compact(names))
}

func (g *countGeneration) ownCount(h filter.Hash) uint32 {
	if g.own == nil {
		return 0
	}
	return g.own.Count(h)
}

func (p *sitePart) count(h filter.Hash) uint32 {
	positions := p.shape.counts().Positions(h)
	return p.part.Min(positions[:])
}

// Trace says, for one signature, everything that speaks for or against it.
type Trace struct {
	Signature signature.Signature
	Spam      []Trail     // generations and sites that reported it, newest first
	Revoked   []Trail     // that took it back
	Counts    []Trail     // how often each site counted it; only for counting keys
	Votes     []VoteTrail // sites that vote by it; only for a message's text and body
	Burst     *Burst      // how often this site did in the last minutes; nil for other keys, and where CountOptions.Burst is 0
}

// Trail is one site's part of a Trace in one generation.
type Trail struct {
	Site       string
	Generation int64
	Start      time.Time // begin of the generation's period
	Classes    []Class   // for Spam: as which the site reported it, the gravest first
	Retouched  bool      // for Spam: a masked bit hides it from Judge
	Count      uint64    // for Counts
}

// Explain traces every signature of set, newest generation first.
func (db *DB) Explain(set signature.Set) []Trace {
	traces := db.explain(set)
	if db.previous != nil {
		for i, before := range db.previous.explain(set) {
			traces[i].unite(before)
		}
	}
	return traces
}

func (db *DB) explain(set signature.Set) []Trace {
	v := db.current()
	var traces []Trace
	voted := voteKeys(set.Signatures)
	for i, s := range set.Signatures {
		t := Trace{Signature: s}
		h := db.reportHash(s)
		for _, g := range v.reports {
			t.Spam = append(t.Spam, db.trails(spamFilter, g, h)...)
			t.Revoked = append(t.Revoked, db.trails(revokedFilter, g, h)...)
		}
		if slices.Contains(voted, i) {
			t.Votes = db.voteTrails(&v, h)
		}
		if slices.Contains(set.Counting, s) {
			h := db.countHash(s)
			t.Counts = db.countTrails(&v, h)
			if db.burst != nil {
				burst := db.burst.ask(h, db.opt.Now())
				t.Burst = &burst
			}
		}
		traces = append(traces, t)
	}
	return traces
}

func (db *DB) trails(kind filterKind, g *reportGeneration, h filter.Hash) []Trail {
	var trails []Trail
	l := g.listing(kind)
	if !l.has(h) {
		return nil
	}
	var classes map[string][]Class
	if kind == spamFilter && db.opt.Reports.Classes {
		classes = db.classesBySite(g, h)
	}
	for _, site := range l.sites(h, db.opt.Site) {
		t := db.trail(target{kind, g.num}, site, 0)
		t.Classes = classes[site]
		t.Retouched = kind == spamFilter && g.mask.hides(h)
		trails = append(trails, t)
	}
	return trails
}

func (db *DB) countTrails(v *view, h filter.Hash) []Trail {
	var trails []Trail
	for _, g := range v.counts {
		t := target{countFilter, g.num}
		if c := g.ownCount(h); c > 0 {
			trails = append(trails, db.trail(t, db.opt.Site, c))
		}
		for _, p := range g.countedParts {
			if c := p.count(h); c > 0 {
				trails = append(trails, db.trail(t, p.origin.site, c))
			}
		}
	}
	return trails
}

func (db *DB) trail(t target, site string, count uint32) Trail {
	return Trail{Site: site, Generation: t.gen, Start: db.opt.start(t), Count: uint64(count)}
}
