package coded

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A part has the same error as the filter with its bits.
func TestPartError(t *testing.T) {
	for _, s := range []filter.BitsShape{{Lines: 700, K: 8, Span: 1}, {Lines: 700, K: 8}, {Lines: 3, K: 4, Span: 1}, {Lines: 700, K: 16}} {
		b, err := filter.NewBits(s)
		testenv.Check(t, err)
		p := NewPart(s.Size(), false)
		if got := p.Error(s); got != 0 {
			t.Errorf("%v: an empty part has error %g", s, got)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 40 * s.Lines {
			b.Set(filtertest.Hash(r))
		}
		for i := range filter.Blocks(s.Size(), false) {
			testenv.Check(t, p.Merge(b.Block(i, nil)))
		}
		if got, want := p.Error(s), b.Error(); want == 0 || math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%v: part %g, filter %g", s, got, want)
		}
	}
}
