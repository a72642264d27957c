package bloomdb

import (
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// A message of many signatures, more than one batch of lookups, matches by those
// that were reported, here or elsewhere, in their order.
func TestJudgeManySignatures(t *testing.T) {
	a, b := openTest(t, testOptions(t.TempDir(), "mx1")), openTest(t, testOptions(t.TempDir(), "mx2"))
	mustReport(t, a, 3)
	mustReport(t, b, 17)
	fromA, fromB := drain(t, a), drain(t, b)
	mustApply(t, a, fromB...)
	mustApply(t, b, fromA...)
	for _, n := range []int{0, 1, 2, 16, 17, 40} {
		var set signature.Set
		want := []signature.Signature{}
		for i := range n {
			s := message(i).Signatures
			set.Signatures = append(set.Signatures, s...)
			if i == 3 || i == 17 {
				want = append(want, s...)
			}
		}
		for _, db := range []*DB{a, b} {
			e := db.Judge(set)
			if e.Listed != (len(want) > 0) || len(e.Matches) != len(want) {
				t.Fatalf("%s, %d messages: listed %v, %d matches, want %d", db.ks.Settings.Site, n, e.Listed, len(e.Matches), len(want))
			}
			for i, m := range e.Matches {
				if m.Signature != want[i] {
					t.Errorf("%s, %d messages: match %d is %v, want %v", db.ks.Settings.Site, n, i, m.Signature, want[i])
				}
			}
		}
	}
}
