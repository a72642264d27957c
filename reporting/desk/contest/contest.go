// Package contest counts what was said of a message in a period, for the bounds that package desk sets. It reads
// nothing: the desk gives it what the ledger has found.
//
//	words of a message, the latest first -> Revocations: by a reporter, and by an origin
//	words of all that share a part       -> OfParts
//	all words                            -> TakenBack: reports like it by a reporter
package contest

import (
	"slices"

	"github.com/spambloom/spambloom/reporting/desk/identity"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// AnyPart returns anchors of which one in common is enough.
func AnyPart(anchors []ledger.Anchors) []ledger.Anchors {
	shared := slices.Clone(anchors)
	for i := range shared {
		shared[i].Need = min(shared[i].Need, 1)
	}
	return shared
}

// TakenBack counts how often the reporter of an entry has reported a message like it, and others have revoked one
// after that, or only the reporter. It goes by the order and not by what was refuted, because near-duplicates of one
// newsletter are revoked in part only.
func TakenBack(list []ledger.Report, e ledger.Entry) (byOthers, byItself int) {
	isReported := false
	for _, r := range slices.Backward(list) { // the earliest first
		isOwn := r.Reporter == e.Reporter && r.Stance == ledger.Spam
		isEnd := isReported && isRevocation(r)
		switch {
		case !isOwn && !isEnd || !isLike(r.Set, e.Set):
			continue
		case isOwn:
		case r.Reporter == e.Reporter:
			byItself++
		default:
			byOthers++
		}
		isReported = isOwn
	}
	return byOthers, byItself
}

// isLike reports whether two messages share a signature, or half of a sketch's anchors: copies of a newsletter do,
// and not two mails with the same footer.
func isLike(a, b signature.Set) bool {
	if slices.ContainsFunc(a.Signatures, func(s signature.Signature) bool { return slices.Contains(b.Signatures, s) }) {
		return true
	}
	for _, x := range a.Sketches {
		for _, y := range b.Sketches {
			if x.Kind == y.Kind && len(y.Anchors) > 0 && 2*common(x.Anchors, y.Anchors) >= len(y.Anchors) {
				return true
			}
		}
	}
	return false
}

// common counts the features that two sketches share.
func common(a, b []signature.Feature) (n int) {
	known := map[uint64]bool{}
	for _, f := range a {
		known[f.Hash] = true
	}
	for _, f := range b {
		if known[f.Hash] {
			n++
		}
	}
	return n
}

// Revocations counts those of a message by the reporter of an entry, and by all of its origin: of several that follow
// each other, one, or those of the same message. reports is true if the reporter reported a part of the message and
// did not take that back.
func Revocations(list []ledger.Report, e ledger.Entry) (byReporter, byOrigin int, reports bool) {
	reports = slices.ContainsFunc(list, func(r ledger.Report) bool {
		return r.Reporter == e.Reporter && r.Stance == ledger.Spam && r.State != ledger.Withdrawn
	})
	for i, r := range list { // the latest first
		follows := i+1 < len(list) && list[i+1].Stance == ledger.Spam
		if isRevocation(r) && (follows || identity.IsSame(r.Set, e.Set)) {
			byReporter, byOrigin = count(r, e, byReporter, byOrigin)
		}
	}
	return byReporter, byOrigin, reports
}

// OfParts counts all revocations by the reporter of an entry, and by all of its origin.
func OfParts(list []ledger.Report, e ledger.Entry) (byReporter, byOrigin int) {
	for _, r := range list {
		if isRevocation(r) {
			byReporter, byOrigin = count(r, e, byReporter, byOrigin)
		}
	}
	return byReporter, byOrigin
}

// isRevocation reports whether a word is a revocation that counted, of a reporter.
func isRevocation(r ledger.Report) bool {
	return r.Stance == ledger.Ham && !r.Idle && r.Reporter != ledger.Settler
}

func count(r ledger.Report, e ledger.Entry, byReporter, byOrigin int) (int, int) {
	if r.Reporter == e.Reporter {
		byReporter++
	}
	if r.Origin == e.Origin && e.Origin != "" {
		byOrigin++
	}
	return byReporter, byOrigin
}
