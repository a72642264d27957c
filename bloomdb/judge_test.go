package bloomdb_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/signature"
)

// The matches of a message with more signatures than one batch of lookups are the reported ones,
// of this site or another one, in their order.
func TestJudgeManySignatures(t *testing.T) {
	a, b := bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx1")), bloomdbtest.Open(t, bloomdbtest.Options(t.TempDir(), "mx2"))
	bloomdbtest.Report(t, a, 3)
	bloomdbtest.Report(t, b, 17)
	fromA, fromB := bloomdbtest.Drain(t, a), bloomdbtest.Drain(t, b)
	bloomdbtest.Apply(t, a, fromB...)
	bloomdbtest.Apply(t, b, fromA...)
	for _, n := range []int{0, 1, 2, 16, 17, 40} {
		var set signature.Set
		want := []signature.Signature{}
		for i := range n {
			s := bloomdbtest.Message(i).Signatures
			set.Signatures = append(set.Signatures, s...)
			if i == 3 || i == 17 {
				want = append(want, s...)
			}
		}
		for site, db := range map[string]*bloomdb.DB{"mx1": a, "mx2": b} {
			e := db.Judge(set)
			if e.Listed != (len(want) > 0) || len(e.Matches) != len(want) {
				t.Fatalf("%s, %d messages: listed %v, %d matches, want %d", site, n, e.Listed, len(e.Matches), len(want))
			}
			for i, m := range e.Matches {
				if m.Signature != want[i] {
					t.Errorf("%s, %d messages: match %d is %v, want %v", site, n, i, m.Signature, want[i])
				}
			}
		}
	}
}
