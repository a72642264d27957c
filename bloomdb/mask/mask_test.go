package mask

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

func FuzzMask(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		keys, _, err := decode(data, [8]byte{1}, 2930)
		if err != nil {
			return
		}
		m := New(filter.BitsShape{Lines: 4, K: 8})
		m.Set(keys)
		if m.Set(keys); m.Check() != nil || len(m.All()) > len(keys) {
			t.Fatalf("%d keys make a mask of %d: %v", len(keys), len(m.All()), m.Check())
		}
	})
}
