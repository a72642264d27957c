package vote_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/filtertest"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// rounds is the number of random messages divided by n under the race detector.
func rounds(n int) int {
	if testenv.Race {
		return n / 8
	}
	return n
}

// filterOf returns the filter with the given words of 64 bits. Position 0 is the lowest bit.
func filterOf(t *testing.T, word func() uint64) *generalized.Filter {
	t.Helper()
	empty, err := generalized.New(wire.VotesShape)
	testenv.Check(t, err)
	data, err := empty.AppendBinary(nil)
	testenv.Check(t, err)
	data = data[:len(data)-4]
	content := data[len(data)-int(wire.VotesShape.M/8):]
	for i := range wire.VotesShape.M / 64 {
		binary.LittleEndian.PutUint64(content[8*i:], word())
	}
	f, err := generalized.Decode(folder.Seal(data), wire.VotesShape)
	testenv.Check(t, err)
	return f
}

// A site whose bits are all ones votes for no message.
func TestAllOnesDoNotVote(t *testing.T) {
	v := vote.NewSiteVotes(keyring.Sip{1, 2}, filterOf(t, func() uint64 { return math.MaxUint64 }))
	r := rand.New(rand.NewPCG(3, 3))
	for range 1000 {
		if v.Has(filtertest.Hash(r)) {
			t.Fatal("all ones vote for a message")
		}
	}
}

// A key has different positions at each site. With equal positions, sites with the same bits would
// agree on one message in 33,000 that neither of them reported.
func TestEqualPositionsWouldAgree(t *testing.T) {
	const seed = 18
	r := rand.New(rand.NewPCG(seed, seed))
	f := filterOf(t, r.Uint64)
	one, two := vote.NewSiteVotes(keyring.Sip{1, 2}, f), vote.NewSiteVotes(keyring.Sip{3, 4}, f)
	votes := func(v interface{ Has(filter.Hash) bool }, x, y filter.Hash) bool { return v.Has(x) || v.Has(y) }
	equal, different := 0, 0
	messages := rounds(500_000)
	for range messages {
		x, y := filtertest.Hash(r), filtertest.Hash(r)
		if !votes(one, x, y) {
			continue
		}
		equal++ // a second site with the key of the first one has the same positions
		if votes(two, x, y) {
			different++
		}
	}
	if equal < 1 || equal > 35 || different > 0 {
		t.Errorf("seed %d: %d of %d messages with equal positions, expected %d; %d with different ones, expected none", seed, equal, messages, messages>>15, different)
	}
}

// The bound by hand: F_p = 2^-16, so two of ten sites agree with a chance of at most
// C(10,2) (2^-15)^2.
func TestError(t *testing.T) {
	for _, tc := range []struct {
		sites, needed int
		want          float64
	}{
		{0, 2, 0}, {1, 2, 0}, {2, 2, 9.31e-10}, {10, 2, 4.19e-8}, {100, 2, 4.61e-6}, {100, 3, 4.6e-9}, {10, 1, 3.05e-4},
	} {
		if got := vote.Error(tc.sites, tc.needed); math.Abs(got-tc.want) > 0.01*tc.want {
			t.Errorf("%d sites, %d needed: %.3g, want %.3g", tc.sites, tc.needed, got, tc.want)
		}
	}
}

// A filter forgets as many reports as wire.VotesShape states.
func TestForgottenReports(t *testing.T) {
	const seed = 19
	r := rand.New(rand.NewPCG(seed, seed))
	f, err := generalized.New(wire.VotesShape)
	testenv.Check(t, err)
	reports := make([][2]uint64, 21_700)
	for i := range reports {
		reports[i] = [2]uint64{r.Uint64(), r.Uint64()}
		f.Insert(vote.Positions(reports[i][0], nil))
		f.Insert(vote.Positions(reports[i][1], nil))
	}
	for _, tc := range []struct {
		after int
		want  float64
	}{{1_750, 0.01}, {4_200, 0.05}, {20_700, 0.5}} {
		lost := 0
		const window = 500 // reports around that age
		for i := range window {
			p := reports[len(reports)-1-tc.after+window/2-i]
			if !f.Has(vote.Positions(p[0], nil)) && !f.Has(vote.Positions(p[1], nil)) {
				lost++
			}
		}
		if want := tc.want * window; math.Abs(float64(lost)-want) > 4*math.Sqrt(want) {
			t.Errorf("%d of %d lost after %d other reports, expected %.0f", lost, window, tc.after, want)
		}
	}
}
