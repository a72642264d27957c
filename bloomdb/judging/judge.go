package judging

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/signature"
)

// Judge looks a message up in the filters of one keyspace or of two. It does no I/O and
// cannot fail.
//
//	gather  facts about the message in the filters of one keyspace; no rule is applied
//	unite   the facts of two keyspaces, during a change of the federation key
//	decide  the verdict; the never-list is applied last
//
// Both keyspaces have the same periods, so their generations can be compared. A site that has
// both keys publishes everything twice: its reports in one generation count once, and the larger
// of its two counts is used.
func Judge(keys []*keyspace.Keyspace, set signature.Set, p Policy) (e Evidence) {
	var buf [1]question
	asked := ask(buf[:], keys, &set)
	for i := range asked {
		asked[i].sender = p.Sender
	}
	f := gather(asked, &set)
	f.askNear(asked)
	if len(set.Domains) > 0 && f.needsLinks(p) {
		f.links = gatherLinks(asked, set.Domains, len(f.weak()) > 0, p)
		if len(f.links) > 0 {
			f.message = messageOf(asked)
		}
	}
	if p.Sender != "" && !(f.mayBeNear() && keys[0].Common.Knows(p.Sender)) {
		p.Sender = ""
	}
	return f.decide(&set, p)
}

// mayBeNear reports whether the message has near matches, valid or not.
func (f *facts) mayBeNear() bool { return len(f.sketches) > 0 || len(f.links) > 0 }

// ask returns the questions to all keyspaces, in buf if it is long enough. buf must be zero.
func ask(buf []question, keys []*keyspace.Keyspace, set *signature.Set) []question {
	if len(buf) < len(keys) {
		buf = make([]question, len(keys))
	}
	hasSketches, hasMasks := false, false
	asked := buf[:len(keys)]
	for i, ks := range keys {
		q := &asked[i]
		q.ks, q.view, q.exact = ks, ks.Store.Current(), set.Signatures
		hasSketches = hasSketches || len(set.Sketches) > 0 && q.view.HasSketches()
		hasMasks = hasMasks || len(keys) > 1 && q.view.HasMasks()
	}
	for i := range asked {
		q := &asked[i]
		if q.isLayered = hasMasks; len(q.exact) > len(q.few) {
			q.many = make([]filter.Hash, len(q.exact))
		}
		for i := range q.exact {
			q.hashes()[i] = q.ks.Ring.ReportHash(q.exact[i])
		}
		if hasSketches {
			if len(keys) == 1 {
				q.groups = q.ks.Sketches.AskedIn(&q.view, set.Sketches)
			} else { // what one keyspace revokes, the other may list
				q.groups = q.ks.Sketches.Asked(set.Sketches)
			}
			q.plain = plainOf(set.Sketches)
		}
	}
	return asked
}

// gather returns the facts of all keyspaces. A first round of lookups finds what needs further
// lookups.
func gather(asked []question, set *signature.Set) *facts {
	var buf [8]store.Span
	f := hits{signatures: buf[:0]}
	for range set.Signatures {
		f.signatures = append(f.signatures, store.Nowhere)
	}
	for i := range asked {
		asked[i].find(&f)
	}
	for i := range asked {
		asked[i].gather(&f, set)
	}
	if len(asked) == 1 {
		return &asked[0].facts
	}
	united := unite(asked[0].facts, asked[1].facts)
	return &united
}

// find adds what this keyspace may contain.
func (q *question) find(f *hits) {
	q.view.Find(q.hashes(), f.signatures)
	for _, s := range q.groups {
		if len(s.Groups) >= signature.MaxAsked {
			q.limits |= signature.LimitGroups
		}
		if sketch := q.sketch(s); len(sketch.matches) > 0 {
			q.sketches = append(q.sketches, sketch)
			f.sketches |= 1 << s.Number
		}
	}
	q.votedBy, q.vote = q.votes()
	f.votes += len(q.votedBy)
}

// gather looks up the details of what was found in any keyspace.
func (q *question) gather(f *hits, set *signature.Set) {
	for i, in := range f.signatures {
		if in.IsEmpty() {
			continue
		}
		if q.signatures == nil { // most messages have none
			q.signatures = make([]signatureFacts, 0, len(f.signatures)-i)
		}
		q.signatures = append(q.signatures, q.signature(q.exact[i], q.hashes()[i], in, q.ks.Settings.Reports.Classes))
	}
	for _, s := range q.groups {
		if f.sketches&(1<<s.Number) != 0 && !slices.ContainsFunc(q.sketches, func(o sketchFacts) bool { return o.number == s.Number }) {
			q.sketches = append(q.sketches, sketchFacts{number: s.Number, words: q.sketchWords(s)})
		}
	}
	if f.sketches != 0 || f.votes >= q.ks.Settings.Votes {
		q.askMessage()
	}
	for i, s := range set.Counting {
		q.counts = q.view.Counted(q.counts, i, q.ks.Ring.CountHash(s), q.ks.Settings.Site)
	}
	if q.never = q.ks.Never.Covers(set, q.hashes()); q.never.IsNear {
		q.compareDeclared(set.Sketches)
	}
}

// signature returns the facts about one signature. It goes through the generations, newest
// first, down to the oldest one in which any keyspace may list it. Without classes it stops at
// the newest listing, because lookups in parts are slow.
func (q *question) signature(s signature.Signature, h filter.Hash, in store.Span, classes bool) (f signatureFacts) {
	f.signature, f.revoked = s, neverRevoked
	class := layout.ClassOther
	var l keyring.Labels
	for _, g := range q.view.Reports {
		if g.Num < in.Oldest || !q.isLayered && len(f.listed) > 0 && (!classes || f.revoked != neverRevoked) {
			break
		}
		top := 0
		if g.Revoked.Has(h) {
			top = g.Top(h)
		}
		if f.revoked == neverRevoked && layout.IsRevocation(top) {
			f.revoked = layout.NewWord(g.Num, top)
		}
		reported := layout.NewWord(g.Num, top&^1) // an odd top is above a report
		if q.isLayered && g.Mask.Retouched(h) {
			f.retouched = append(f.retouched, g.Num)
		}
		if g.Num > in.Newest || !g.Lists(h) {
			continue
		}
		if len(f.listed) == 0 || q.isLayered {
			// If no site has all its bits, several sites have them together by chance.
			if sites := g.Spam.Sites(h, q.ks.Settings.Site); len(sites) > 0 {
				f.listed = append(f.listed, listedIn{reported, sites})
			}
		}
		if !classes || f.revoked != neverRevoked {
			continue
		}
		if l == (keyring.Labels{}) {
			l = q.ks.Ring.Labels(h)
		}
		if c := g.GraverClass(&l, h, class); c != class {
			class = c
			f.classes = append(f.classes, classedIn{reported, c})
		}
	}
	return f
}

// sketch returns the facts about one sketch. It goes through the generations, newest first, down
// to the first match that is valid unless another keyspace revokes it.
func (q *question) sketch(s sketch.KindGroups) sketchFacts {
	f := sketchFacts{number: s.Number}
	query := sketch.NewQuery(s, sketch.ReportedGroups).Without(q.ks.Common).From(q.sender)
	for _, g := range q.view.Reports {
		list := query.Overlaps(g, q.ks.Settings.Site, sketch.Suffices, false)
		if len(list) == 0 {
			continue
		}
		if len(f.matches) == 0 {
			f.words = q.sketchWords(s)
		}
		best, isStrong := query.Best(list)
		isHeld := !isStrong && best.Found >= sketch.Enough(query.Groups[best.Group])
		if isHeld && g.Num <= max(f.words.revoked(), q.message.words.revoked()) { // it lists nothing either way
			isStrong, isHeld = true, false
		}
		isRevoked, isApart := g.Num <= max(f.words.revoked(), q.message.words.revoked()), false
		if isStrong && isRevoked {
			list, isApart = q.apart(&query, s, g, list)
			best, _ = query.Best(list)
		}
		match := sketchMatch{Match: sketchMatchOf(q.ks, &query, list, best, g.Num), isStrong: isStrong, isHeld: isHeld, isApart: isApart}
		if isStrong && !q.ks.Never.IsEmpty() {
			match.keys = query.Found(g, best.Group)
		}
		f.matches = append(f.matches, match)
		if isStrong && (!isRevoked || isApart) && !q.isLayered && !slices.Contains(q.message.retouched, g.Num) {
			break
		}
	}
	if query.IsSpent() {
		q.limits |= signature.LimitGroups
	}
	return f
}

// unite returns the facts of two keyspaces about one message.
func unite(a, b facts) facts {
	a.signatures = slices.Clone(a.signatures)
	for i := range a.signatures { // they are the same in all keyspaces
		a.signatures[i] = a.signatures[i].unite(b.signatures[i])
	}
	a.sketches = Merged(a.sketches, b.sketches, func(s, o sketchFacts) bool { return s.number == o.number },
		func(s *sketchFacts, o sketchFacts) { *s = s.unite(o) })
	a.message = a.message.unite(b.message)
	a.votedBy, a.vote = mergedNames(a.votedBy, b.votedBy), min(a.vote, b.vote)
	a.counts = joinedCounts(slices.Concat(summedCounts(a.counts), summedCounts(b.counts)),
		func(c *store.SiteCount, o store.SiteCount) { c.Count = max(c.Count, o.Count) })
	a.never = a.never.Unite(b.never)
	a.limits |= b.limits
	return a
}

func (f signatureFacts) unite(o signatureFacts) signatureFacts {
	f.listed = Merged(f.listed, o.listed, func(l, o listedIn) bool { return l.word.Gen() == o.word.Gen() },
		func(l *listedIn, o listedIn) { l.word, l.sites = max(l.word, o.word), mergedNames(l.sites, o.sites) })
	slices.SortFunc(f.listed, func(l, o listedIn) int { return cmp.Compare(o.word, l.word) })
	f.revoked = max(f.revoked, o.revoked)
	f.retouched = slices.Concat(f.retouched, o.retouched)
	f.classes = slices.Concat(f.classes, o.classes)
	return f
}

// needsLinks reports whether link domains may list the message: there is no other match, not
// even a revoked one.
func (f *facts) needsLinks(p Policy) bool {
	if len(f.votedBy) >= p.Votes {
		return false
	}
	for i := range f.signatures {
		if _, ok := f.signatures[i].match(); ok {
			return false
		}
	}
	for i := range f.sketches {
		if m, ok := f.sketches[i].match(f.message); ok && m.isStrong {
			return false
		}
	}
	return true
}

// decide applies the rules: a listing is valid if it is newer than all revocations. Matches that
// are on the never-list are removed last.
func (f *facts) decide(set *signature.Set, p Policy) (e Evidence) {
	e.Votes, e.Limits = len(f.votedBy), f.limits
	e.Matches, e.Weak = f.matches(set.Signatures, p), f.weak()
	if len(e.Matches) == 0 {
		e.Matches = f.matchesOfLinks(e.Weak, p)
		f.hold(&e, p)
	}
	slices.SortStableFunc(e.Matches, func(a, b Match) int { return boolOrder(a.Revoked) - boolOrder(b.Revoked) })
	f.spare(&e)
	spareSender(&e, p)
	settle(&e, set.Signatures, p)
	e.Count, e.OwnCount, e.Sites = f.mostCounted(p.Site)
	for i := range e.Matches {
		if m := &e.Matches[i]; !m.Revoked {
			e.Listed, e.Class = true, layout.Gravest(e.Class, m.Class)
		}
	}
	if e.Listed {
		e.Sites = reporters(e.Matches)
	}
	return e
}

// matches returns the matches of the message's signatures and sketches, and if nothing else lists
// it, the match by votes. They include revoked ones.
func (f *facts) matches(exact []signature.Signature, p Policy) (matches []Match) {
	matches = slices.Grow(matches, len(f.signatures)+len(f.sketches))
	for i := range f.signatures {
		if m, ok := f.signatures[i].match(); ok {
			matches = append(matches, m)
		}
	}
	for i := range f.sketches {
		if m, ok := f.sketches[i].match(f.message); ok && m.isStrong {
			matches = append(matches, m.Match)
		}
	}
	if len(f.votedBy) < p.Votes || slices.ContainsFunc(matches, func(m Match) bool { return !m.Revoked }) {
		return matches
	}
	m := Match{Signature: exact[vote.Keys(exact)[f.vote]], Sites: f.votedBy, Votes: true}
	m.Revoked = f.message.words.revoked() != neverRevoked || len(f.message.retouched) > 0
	return append(matches, m)
}

// weak returns the weak matches of sketches, without those on the never-list: a domain would
// turn them into listings.
func (f *facts) weak() (weak []Match) {
	for i := range f.sketches {
		if m, ok := f.sketches[i].match(f.message); ok && !m.isStrong && !f.never.Spares(m.Signature) {
			weak = append(weak, m.Match)
		}
	}
	return weak
}

// match returns the newest listing in a generation in which the signature is not retouched. A
// revocation in that generation or a newer one revokes it.
func (f *signatureFacts) match() (m Match, ok bool) {
	for _, l := range f.listed {
		if slices.Contains(f.retouched, l.word.Gen()) {
			continue
		}
		m.Signature, m.Revoked, m.Generation, m.Sites = f.signature, f.revoked > l.word, l.word.Gen(), l.sites
		for _, c := range f.classes {
			if !m.Revoked && c.word > f.revoked {
				m.Class = layout.Gravest(m.Class, c.class)
			}
		}
		return m, true
	}
	return m, false
}

// match returns the newest match that is not revoked; if there is none, the newest weak match
// that is not revoked; if there is none either, the newest revoked match. A revocation of the
// message counts like one of a near-duplicate. Generations in which the message is retouched do
// not count.
func (s *sketchFacts) match(message messageFacts) (m sketchMatch, ok bool) {
	var weak, revoked *sketchMatch
	since := max(s.words.revoked(), message.words.revoked())
	for i := range s.matches {
		switch m := &s.matches[i]; {
		case slices.Contains(message.retouched, m.Generation):
		case m.isStrong && (m.Generation > since || m.isApart && m.Generation > message.words.revoked()):
			return *m, true
		case m.isStrong && revoked == nil:
			revoked = m
		case !m.isStrong && m.Generation > since && weak == nil:
			weak = m
		}
	}
	switch {
	case weak != nil:
		return *weak, true
	case revoked != nil:
		m = *revoked
		m.Revoked = true
		return m, true
	}
	return m, false
}

// settle applies what an administrator has settled. If the text and the body of a message are
// settled differently, the text decides. The never-list is stronger than a settled spam.
func settle(e *Evidence, exact []signature.Signature, p Policy) {
	if len(p.Settled) == 0 || e.Never {
		return
	}
	for _, i := range vote.Keys(exact) {
		s := exact[i]
		isSpam, ok := p.Settled[s]
		switch {
		case !ok:
			continue
		case !isSpam:
			e.Spared, e.Matches = append(e.Spared, e.Matches...), nil
		case !slices.ContainsFunc(e.Matches, func(m Match) bool { return !m.Revoked }):
			e.Matches = append([]Match{{Signature: s, Sites: []string{p.Site}}}, e.Matches...)
		}
		return
	}
}

// spareSender moves near matches of mail of a known sender to Spared: a report of an imitation, which
// has the sender's own words, must not list the sender. An exact match still does.
func spareSender(e *Evidence, p Policy) {
	if p.Sender == "" {
		return
	}
	isNear := func(m Match) bool { return !m.Revoked && (m.Need > 0 || m.Signature.Kind == signature.KindDomain) }
	for _, m := range e.Matches {
		if isNear(m) {
			e.Spared, e.Sender = append(e.Spared, m), p.Sender
		}
	}
	e.Matches, e.Weak = slices.DeleteFunc(e.Matches, isNear), nil
}

// spare moves the matches that are on the never-list to Spared.
func (f *facts) spare(e *Evidence) {
	if e.Never = f.never.Message; f.never.IsEmpty() {
		return
	}
	var stand []Match
	for _, m := range e.Matches {
		if f.never.Spares(m.Signature) {
			e.Spared = append(e.Spared, m)
		} else {
			stand = append(stand, m)
		}
	}
	e.Matches = stand
}
