// Package contest counts what was said of a message in a period, for the bounds that package desk sets. It reads
// nothing: the desk gives it what the ledger has found.
//
//	words of a message, the latest first -> Revocations: by a reporter, and by an origin
//	words of all that share a part       -> OfParts
//	all words                            -> Like -> TakenBack: reports by one who is alone
package contest

import (
	"slices"

	"github.com/spambloom/spambloom/reporting/desk/identity"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// AnyPart returns anchors of which one in common is enough.
func AnyPart(anchors []ledger.Anchors) []ledger.Anchors {
	return needing(anchors, func(need int) int { return min(need, 1) })
}

// Half returns anchors of which half as many as before are enough.
func Half(anchors []ledger.Anchors) []ledger.Anchors {
	return needing(anchors, func(need int) int { return (need + 1) / 2 })
}

func needing(anchors []ledger.Anchors, of func(need int) int) []ledger.Anchors {
	changed := slices.Clone(anchors)
	for i := range changed {
		changed[i].Need = of(changed[i].Need)
	}
	return changed
}

// Like returns those words of a list that are about messages like an entry's: they share a signature, or half of a
// sketch's anchors, as copies of a newsletter do, and not two mails with the same footer.
func Like(list []ledger.Report, e ledger.Entry) (like []ledger.Report) {
	known := make([]map[uint64]bool, len(e.Set.Sketches))
	for i, s := range e.Set.Sketches {
		known[i] = map[uint64]bool{}
		for _, f := range s.Anchors {
			known[i][f.Hash] = true
		}
	}
	isLike := func(set signature.Set) bool {
		for i, s := range e.Set.Sketches {
			if hasHalf(set, s, known[i]) {
				return true
			}
		}
		return slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return slices.Contains(e.Set.Signatures, s) })
	}
	for _, r := range list {
		if isLike(r.Set) {
			like = append(like, r)
		}
	}
	return like
}

// hasHalf reports whether a sketch of a message has half as many known anchors as another sketch of its kind has in all.
func hasHalf(set signature.Set, of signature.Sketch, known map[uint64]bool) bool {
	return slices.ContainsFunc(set.Sketches, func(s signature.Sketch) bool {
		if s.Kind != of.Kind { // a message may have sixteen pictures
			return false
		}
		n := 0
		for _, f := range s.Anchors {
			if known[f.Hash] {
				n++
			}
		}
		return len(of.Anchors) > 0 && 2*n >= len(of.Anchors)
	})
}

// TakenBack counts, in words of messages like that of an entry, the latest first, how often its reporter alone has
// reported, and others have revoked after that, or only the reporter: what several report, one who revokes it must
// not keep them all from. It goes by the order and not by what was refuted, because near-duplicates of one
// newsletter are revoked in part only.
func TakenBack(like []ledger.Report, by string) (byOthers, byItself int) {
	isReported, isAlone := false, true
	for _, r := range slices.Backward(like) { // the earliest first
		isOwn := r.Reporter == by
		switch {
		case r.Stance == ledger.Spam:
			isReported, isAlone = isReported || isOwn, isAlone && isOwn
			continue
		case !isRevocation(r) || !isOwn && (r.Undone || r.Weight == 0):
			continue
		case isReported && isOwn:
			byItself++
		case isReported && isAlone:
			byOthers++
		}
		isReported, isAlone = false, true
	}
	return byOthers, byItself
}

// Revocations counts those of a message by the reporter of an entry, and by all of its origin: those that took back
// what was reported of a part that they share with it, so of several that follow each other one, and those of the same
// message. reports is true if the reporter reported a part of the message and did not take that back.
func Revocations(list []ledger.Report, e ledger.Entry) (byReporter, byOrigin int, reports bool) {
	var counted []ledger.Report
	reported := partsOf(e.Set)
	for _, r := range slices.Backward(list) { // the earliest first
		if r.Idle {
			continue
		}
		reports = reports || r.Reporter == e.Reporter && r.Stance == ledger.Spam && r.State != ledger.Withdrawn
		if r.Stance == ledger.Ham && (reported.has(r.Set, e) || identity.IsSame(r.Set, e.Set)) {
			counted = append(counted, r)
		}
		reported.say(r)
	}
	byReporter, byOrigin = OfParts(counted, e)
	return byReporter, byOrigin, reports
}

// parts are those of a message, signatures and hashes of features: true if the latest word is a report.
type parts map[any]bool

func partsOf(set signature.Set) parts {
	p := parts{}
	for _, s := range set.Signatures {
		p[s] = false
	}
	for _, s := range set.Sketches {
		for _, f := range s.Anchors {
			p[f.Hash] = false
		}
	}
	return p
}

func (p parts) say(r ledger.Report) {
	note := func(part any) {
		if _, is := p[part]; is {
			p[part] = r.Stance == ledger.Spam
		}
	}
	for _, s := range r.Set.Signatures {
		note(s)
	}
	for _, s := range r.Set.Sketches {
		for _, f := range s.Anchors {
			note(f.Hash)
		}
	}
}

// has reports whether a message shares a part with an entry of which the latest word is a report.
func (p parts) has(set signature.Set, e ledger.Entry) bool {
	for _, s := range e.Set.Sketches {
		known := map[uint64]bool{}
		for _, f := range s.Anchors {
			known[f.Hash] = p[f.Hash]
		}
		if hasHalf(set, s, known) {
			return true
		}
	}
	return slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return p[s] && slices.Contains(e.Set.Signatures, s) })
}

// OfParts counts all revocations by the reporter of an entry, and by all of its origin.
func OfParts(list []ledger.Report, e ledger.Entry) (byReporter, byOrigin int) {
	for _, r := range list {
		if !isRevocation(r) {
			continue
		}
		if r.Reporter == e.Reporter {
			byReporter++
		}
		if r.Origin == e.Origin && e.Origin != "" {
			byOrigin++
		}
	}
	return byReporter, byOrigin
}

// isRevocation reports whether a word is a revocation that counted, of a reporter.
func isRevocation(r ledger.Report) bool {
	return r.Stance == ledger.Ham && !r.Idle && r.Reporter != ledger.Settler
}
