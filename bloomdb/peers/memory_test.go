package peers

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// For any requests, all sites together stay within the limit, and a site within its share is
// never rejected.
func TestMemoryIsShared(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const limit = 1 << 20
		use := make(memoryUse)
		sites := rapid.IntRange(1, 12).Draw(rt, "sites")
		for i := range sites {
			use[fmt.Sprint(i)] = 0
		}
		share := int64(limit / 2 / sites)
		for range rapid.IntRange(1, 200).Draw(rt, "records") {
			site := fmt.Sprint(rapid.IntRange(0, sites-1).Draw(rt, "site"))
			need := rapid.Int64Range(1, limit/4).Draw(rt, "need")
			err := use.room(limit, site, need)
			if err == nil {
				use[site] += need
			} else if use[site]+need <= share {
				rt.Fatalf("site %s has %d, its share is %d: %v", site, use[site], share, err)
			}
			total := int64(0)
			for name, n := range use {
				if total += n; sites > 1 && n > limit/2 {
					rt.Fatalf("site %s has %d of %d", name, n, limit)
				}
			}
			if total > limit {
				rt.Fatalf("all have %d of %d", total, limit)
			}
		}
	})
}
