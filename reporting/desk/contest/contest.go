// Package contest counts what was said of a message in a period, for the bounds that package desk sets. It reads
// nothing: the desk gives it what the ledger has found.
//
//	words of a message, the latest first -> Revocations: by a reporter, and by an origin
//	words of all that share a part       -> OfParts, TakenBack
package contest

import (
	"slices"

	"github.com/spambloom/spambloom/reporting/desk/identity"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// AnyPart returns anchors of which one in common is enough.
func AnyPart(anchors []ledger.Anchors) []ledger.Anchors {
	shared := slices.Clone(anchors)
	for i := range shared {
		shared[i].Need = min(shared[i].Need, 1)
	}
	return shared
}

// HalfLike returns anchors of which half of those that near-duplicates need are enough: copies of a newsletter that the
// filters take for one have those, and not two mails with the same footer.
func HalfLike(anchors []ledger.Anchors) []ledger.Anchors {
	half := slices.Clone(anchors)
	for i := range half {
		half[i].Need = (half[i].Need + 1) / 2
	}
	return half
}

// TakenBack counts how often a reporter has reported, and anybody has revoked after that. It goes by the order and not
// by what was refuted, because near-duplicates of one newsletter are revoked in part only.
func TakenBack(list []ledger.Report, by string) (n int) {
	isReported := false
	for _, r := range slices.Backward(list) { // the earliest first
		switch {
		case r.Reporter == by && r.Stance == ledger.Spam:
			isReported = true
		case isReported && isRevocation(r):
			n, isReported = n+1, false
		}
	}
	return n
}

// Revocations counts those of a message by the reporter of an entry, and by all of its origin: of several that follow
// each other, one, or those of the same message. reports is true if the reporter reported a part of the message and did not take that
// back.
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
