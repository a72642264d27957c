package judging

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// sketchRevoked is the newest generation with a revocation of a near-duplicate: of one
// site's, enough of one of the message's groups, whichever it is. The groups of a revoked
// message need not be those by which it was listed, which are of another message. Nothing
// older than a revocation of the message itself is looked for.
func (q *question) sketchRevoked(s sketch.KindGroups) int64 {
	q.askMessage()
	revoked := int64(neverRevoked)
	for _, of := range q.standingFor(s) {
		query := sketch.NewQuery(of, sketch.RevokedGroups)
		for _, g := range q.view.Reports {
			if g.Num <= max(q.message.revoked, revoked) {
				break
			}
			if len(query.Overlaps(g, q.ks.Settings.Site, leastRevoked(of.Kind), false)) > 0 {
				revoked = g.Num
			}
		}
	}
	return revoked
}

// leastRevoked returns how much of a group a revocation needs. That of one sender's page takes
// back what several senders' pages listed.
func leastRevoked(k signature.Kind) func(signature.Group) int {
	if k == signature.KindShape {
		return sketch.Suffices
	}
	return sketch.Enough
}

// standingFor returns the sketches whose revocation takes back a match by s: s itself, and if
// that is plain, the one that stands for the message. A revocation stores only the latter.
func (q *question) standingFor(s sketch.KindGroups) []sketch.KindGroups {
	list := []sketch.KindGroups{s}
	if q.plain&(1<<s.Number) == 0 {
		return list
	}
	for _, of := range q.groups {
		if of.Number == s.Number-1 {
			list = append(list, of)
		}
	}
	return list
}

// plainOf returns a bit for each sketch that does not stand for its message.
func plainOf(sketches []signature.Sketch) (bits uint64) {
	for i := range sketches[:min(len(sketches), sketch.Max)] {
		if never.IsPlain(sketches, i) {
			bits |= 1 << i
		}
	}
	return bits
}

// messageOf returns what speaks against a listing of the message in all keyspaces.
func messageOf(asked []question) messageFacts {
	m := messageFacts{revoked: neverRevoked}
	for i := range asked {
		asked[i].askMessage()
		m = m.unite(asked[i].message)
	}
	return m
}

// askMessage gathers what speaks against a listing of the message itself, once.
func (q *question) askMessage() {
	if q.isMessageKnown {
		return
	}
	q.isMessageKnown, q.message.revoked = true, neverRevoked
	var buf [4]filter.Hash
	hashes := buf[:0]
	for i, s := range q.exact {
		if isOfMessage(s.Kind) {
			hashes = append(hashes, q.hashes()[i])
		}
	}
	for _, g := range q.view.Reports {
		if q.message.revoked == neverRevoked && slices.ContainsFunc(hashes, g.Revoked.Has) {
			q.message.revoked = g.Num
		}
		if g.Mask != nil && slices.ContainsFunc(hashes, g.Mask.Retouched) {
			q.message.retouched = append(q.message.retouched, g.Num)
		}
	}
}

func (m messageFacts) unite(o messageFacts) messageFacts {
	return messageFacts{max(m.revoked, o.revoked), slices.Concat(m.retouched, o.retouched)}
}
