package sketch

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// An anchor counts only if all its copies are present: otherwise a full filter would contain
// too many.
func TestAnchorNeedsAllItsCopies(t *testing.T) {
	for copies := range layout.AnchorCopies + 1 {
		b, err := filter.NewBits(filter.BitsShape{Lines: 1024, K: 4, Span: 1})
		testenv.Check(t, err)
		q := NewQuery(KindGroups{Kind: signature.KindSketch, Groups: []signature.Group{{Anchor: 7}}}, ReportedGroups)
		for i := range copies {
			b.Set(keyring.Stretch(anchorSeed(q.seeds[0], i)))
		}
		if found := len(q.anchored(b, nil)) > 0; found != (copies == layout.AnchorCopies) {
			t.Errorf("%d of %d copies: found %t", copies, layout.AnchorCopies, found)
		}
	}
}
