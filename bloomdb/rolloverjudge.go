package bloomdb

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// knowledge is what one question about a message sees. While the federation key is
// rolled over, the previous key's database answers with it, as its twin:
//
//   - A signature is listed where either lists it, and neither has a revocation of the
//     same generation or a newer one, nor has it retouched in that generation. Both have
//     the same periods, so that their generations can be compared.
//   - A site that has both keys tells everything twice. Sites of one generation are
//     therefore united, and the counts of one site are not added: the larger one holds.
//
// A nil knowledge, that of a twin that is not there, knows of nothing.
type knowledge struct {
	db    *DB
	view  view
	asked []kindGroups // of the message's sketches; none where no sketch is held
	twin  *knowledge
}

func (db *DB) know(set signature.Set) knowledge {
	k := knowledge{db: db, view: db.current()}
	sketches := k.view.hasSketches()
	if db.previous != nil {
		k.twin = &knowledge{db: db.previous, view: db.previous.current()}
		if sketches = sketches || k.twin.view.hasSketches(); sketches {
			k.twin.asked = db.previous.asked(set.Sketches)
		}
	}
	if sketches {
		k.asked = db.asked(set.Sketches)
	}
	return k
}

// found appends to dst, for each signature, whether either database may list it.
func (k *knowledge) found(signatures []signature.Signature, hashes []filter.Hash, dst []bool) []bool {
	dst = k.view.found(hashes, dst)
	if k.twin == nil {
		return dst
	}
	theirs := make([]filter.Hash, len(signatures))
	for i, s := range signatures {
		theirs[i] = k.twin.db.reportHash(s)
	}
	for i, ok := range k.twin.view.found(theirs, nil) {
		dst[i] = dst[i] || ok
	}
	return dst
}

// match is that of the database with the newest listing.
func (k *knowledge) match(s signature.Signature, h filter.Hash) (Match, bool) {
	m, ok := k.view.match(s, h, k.db.opt.Site, k.twin)
	if k.twin == nil {
		return m, ok
	}
	other, known := k.twin.view.match(s, k.twin.db.reportHash(s), k.db.opt.Site, k)
	switch {
	case !ok || known && other.Generation > m.Generation:
		return other, known
	case known && other.Generation == m.Generation:
		m.Sites = unitedSites(m.Sites, other.Sites)
	}
	return m, ok
}

// classOf is the gravest class under which either lists a signature.
func (k *knowledge) classOf(s signature.Signature, h filter.Hash) Class {
	class := k.db.classOf(&k.view, s, h, k.twin)
	if k.twin == nil {
		return class
	}
	return gravest(class, k.twin.db.classOf(&k.twin.view, s, k.twin.db.reportHash(s), k))
}

// seen sums a signature's counts over generations and sites.
func (k *knowledge) seen(s signature.Signature) (n uint64, sites int) {
	if k.twin == nil {
		return k.view.seen(k.db.countHash(s), k.db.opt.Site)
	}
	var names []string
	for _, t := range unitedCounts(k.counts(s), k.twin.counts(s)) {
		n += t.Count
		names = append(names, t.Site)
	}
	slices.Sort(names)
	return n, len(slices.Compact(names))
}

func (k *knowledge) counts(s signature.Signature) []Trail {
	return k.db.countTrails(&k.view, k.db.countHash(s))
}

// revokedSince says whether a signature was revoked in a generation or a newer one.
func (k *knowledge) revokedSince(s signature.Signature, gen int64) bool {
	return k != nil && k.view.revokedSince(gen, k.db.reportHash(s))
}

// revokedByAny is revokedSince in either database.
func (k *knowledge) revokedByAny(s signature.Signature, gen int64) bool {
	return k.revokedSince(s, gen) || k.twin.revokedSince(s, gen)
}

// retouched says whether a signature itself was retouched in a generation.
func (k *knowledge) retouched(s signature.Signature, gen int64) bool {
	if k == nil {
		return false
	}
	g := k.view.report(gen)
	return g != nil && g.mask.retouched(k.db.reportHash(s))
}

// retouchedMessage says whether a message's body or text was.
func (k *knowledge) retouchedMessage(exact []signature.Signature, gen int64) bool {
	if k == nil {
		return false
	}
	g := k.view.report(gen)
	return g != nil && g.mask != nil && slices.ContainsFunc(k.db.messageHashes(exact), g.mask.retouched)
}

// revokedSketchFrom is revokedFrom for the sketch of a number.
func (k *knowledge) revokedSketchFrom(number int, exact []signature.Signature) int64 {
	if k == nil {
		return neverRevoked
	}
	s := kindGroups{}
	if i := slices.IndexFunc(k.asked, func(s kindGroups) bool { return s.number == number }); i >= 0 {
		s = k.asked[i]
	}
	return k.revokedFrom(s, k.db.messageHashes(exact))
}

// unitedFindings leaves one finding of each sketch: a match that stands before a weak
// one, that before a revoked one; of two alike, the one in the newer generation.
func unitedFindings(a, b []sketchFinding) []sketchFinding {
	rank := func(f sketchFinding) int { return 2*boolOrder(f.match.Revoked) + boolOrder(!f.strong) }
	for _, f := range b {
		i := slices.IndexFunc(a, func(g sketchFinding) bool { return g.number == f.number })
		if i < 0 {
			a = append(a, f)
			continue
		}
		switch order := cmp.Or(cmp.Compare(rank(f), rank(a[i])), cmp.Compare(a[i].match.Generation, f.match.Generation)); {
		case order < 0:
			a[i] = f
		case order == 0:
			a[i].match.Sites = unitedSites(a[i].match.Sites, f.match.Sites)
		}
	}
	return a
}

// countsDomains says whether any link domain was counted.
func (k *knowledge) countsDomains() bool {
	counts := func(g *reportGeneration) bool { return g.domains != nil }
	return slices.ContainsFunc(k.view.reports, counts) || k.twin != nil && slices.ContainsFunc(k.twin.view.reports, counts)
}

// domain is what this site counted of a domain. The previous key's database has counted
// all that the current one has, and more: the larger numbers hold.
func (k *knowledge) domain(d string) domainCounts {
	c := k.view.domain(k.db.domainKeys(d))
	if k.twin != nil {
		before := k.twin.view.domain(k.twin.db.domainKeys(d))
		c.campaigns = max(c.campaigns, before.campaigns)
		c.sightings = max(c.sightings, before.sightings)
		c.newest = max(c.newest, before.newest)
	}
	return c
}

func unitedSites(a, b []string) []string {
	sites := slices.Concat(a, b)
	slices.Sort(sites)
	return slices.Compact(sites)
}

// unite adds what the other database has of a signature.
func (t *Trace) unite(o Trace) {
	t.Spam = unitedTrails(t.Spam, o.Spam)
	t.Revoked = unitedTrails(t.Revoked, o.Revoked)
	t.Counts = unitedCounts(t.Counts, o.Counts)
	t.Votes = unitedVotes(t.Votes, o.Votes)
}

// unitedTrails leaves one trail of each site and generation.
func unitedTrails(a, b []Trail) []Trail {
	for _, t := range b {
		i := slices.IndexFunc(a, t.sameAs)
		if i < 0 {
			a = append(a, t)
			continue
		}
		a[i].Retouched = a[i].Retouched || t.Retouched
		a[i].Classes = slices.Concat(a[i].Classes, t.Classes)
		slices.Sort(a[i].Classes)
		a[i].Classes = slices.Compact(a[i].Classes)
	}
	sortTrails(a)
	return a
}

// unitedCounts leaves the larger count of each site and generation. The lives of one
// site are added up first.
func unitedCounts(a, b []Trail) []Trail {
	list := summed(a)
	for _, t := range summed(b) {
		if i := slices.IndexFunc(list, t.sameAs); i >= 0 {
			list[i].Count = max(list[i].Count, t.Count)
		} else {
			list = append(list, t)
		}
	}
	sortTrails(list)
	return list
}

func summed(trails []Trail) []Trail {
	var list []Trail
	for _, t := range trails {
		if i := slices.IndexFunc(list, t.sameAs); i >= 0 {
			list[i].Count += t.Count
		} else {
			list = append(list, t)
		}
	}
	return list
}

func (t Trail) sameAs(o Trail) bool { return t.Site == o.Site && t.Generation == o.Generation }

func sortTrails(trails []Trail) {
	slices.SortFunc(trails, func(a, b Trail) int {
		return cmp.Or(cmp.Compare(b.Generation, a.Generation), strings.Compare(a.Site, b.Site))
	})
}

// unitedSketchTraces leaves one trace of each sketch, and in it the larger overlap of
// each site and generation.
func unitedSketchTraces(a, b []SketchTrace) []SketchTrace {
	for _, t := range b {
		i := slices.IndexFunc(a, func(u SketchTrace) bool { return u.number == t.number })
		if i < 0 {
			a = append(a, t)
			continue
		}
		a[i].Groups = max(a[i].Groups, t.Groups)
		a[i].Spam = unitedSketchTrails(a[i].Spam, t.Spam)
		a[i].Revoked = unitedSketchTrails(a[i].Revoked, t.Revoked)
	}
	return a
}

func unitedSketchTrails(a, b []SketchTrail) []SketchTrail {
	for _, t := range b {
		i := slices.IndexFunc(a, func(u SketchTrail) bool { return u.Site == t.Site && u.Generation == t.Generation })
		switch {
		case i < 0:
			a = append(a, t)
		case t.Found > a[i].Found:
			a[i] = t
		}
	}
	slices.SortFunc(a, func(t, u SketchTrail) int {
		return cmp.Or(cmp.Compare(u.Generation, t.Generation), strings.Compare(t.Site, u.Site))
	})
	return a
}
