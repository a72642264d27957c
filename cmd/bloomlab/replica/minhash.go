package replica

import (
	"hash/fnv"
	"math"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// minHashes is how many minima the reference keeps; a match is more than half.
const minHashes = 32

// minHash is the method behind most of the peers' figures, applied to the same copies. It
// shows whether a row is as hard as the copies of the peers' figures. It takes the minimum,
// under each of 32 hashes, over all runs of three words (Broder 1997; rspamd does the same,
// and requires more than 16 equal minima).
func minHash(m signature.Message) (minima [minHashes]uint64, ok bool) {
	words := strings.Fields(signature.Text(m))
	for i := range minima {
		minima[i] = math.MaxUint64
	}
	for i := 0; i+3 <= len(words); i++ {
		h := fnv.New64a()
		h.Write([]byte(strings.Join(words[i:i+3], " ")))
		x := h.Sum64()
		for j := range minima {
			x += 0x9e3779b97f4a7c15 // SplitMix64 gives each run its 32 hashes
			minima[j] = min(minima[j], filter.Mix(x))
		}
	}
	return minima, len(words) >= 3
}

// minHashMatch reports whether more than half of the minima are equal.
func minHashMatch(original, copied []byte) bool {
	a, okA := minHash(signature.Parse(original))
	b, okB := minHash(signature.Parse(copied))
	equal := 0
	for i := range a {
		if a[i] == b[i] {
			equal++
		}
	}
	return okA && okB && equal > minHashes/2
}
