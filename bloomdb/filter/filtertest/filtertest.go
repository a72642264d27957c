// Package filtertest draws random keys for tests of filters.
package filtertest

import (
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Seeded returns a random stream, and logs its seed.
func Seeded(t testing.TB, seed uint64) *rand.Rand {
	t.Helper()
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 1))
}

// Hash draws a key.
func Hash(r *rand.Rand) filter.Hash {
	return filter.Hash{r.Uint64(), r.Uint64(), r.Uint64(), r.Uint64()}
}
