package peers_test

import (
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/keyspace"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// countOfAbsent returns the count of a message that nobody has counted.
func countOfAbsent(ks *keyspace.Keyspace) (sum uint32) {
	for _, c := range ks.Store.View.Load().Counted(nil, 0, randomHash(), "a") {
		sum += c.Count
	}
	return sum
}

// TestCountsOfUnitedEpochs is the attack "counts that return": each epoch of a member continues the previous
// one, with one count for all messages. When the middle one is united with the earliest, the latest must not
// add its counts to those of the earliest.
func TestCountsOfUnitedEpochs(t *testing.T) {
	a, s := open(t, "a", nil), newSender(t)
	var cells []filter.Cell
	for i := range uint64(128) {
		cells = append(cells, filter.Cell{Pos: i, Value: 14})
	}
	for _, epoch := range []uint64{3, 37, 71} {
		testenv.Check(t, s.sendCounts(t, a.Peers, epoch, 1, nil, cells))
	}
	for i := range uint64(peers.MaxEpochs) {
		if n := countOfAbsent(a); n > 14 {
			t.Fatalf("a message that nobody has counted has count %d after %d epochs more, want at most 14", n, i)
		}
		testenv.Check(t, s.send(a, layout.Origin{Site: "b", Epoch: 72 + 2*i}, layout.SpamFilter, i, 1))
	}
}
