package bloomdb_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// votersNamed are names of ten sites.
func votersNamed() (names []string) {
	for i := range 10 {
		names = append(names, fmt.Sprintf("voter%d", i))
	}
	return names
}

// crafted is a record of votes that a member made by hand for some site.
func crafted(db *bloomdb.DB, site string, stamp uint64, f *generalized.Filter) []byte {
	h := wire.Head{Type: wire.RecordVotes, Site: site, Epoch: 2, Seq: stamp, Made: db.Keyspace().Settings.Now()}
	return db.Keyspace().Sealer.EncodeRecord(h, wire.AppendVotes(nil, wire.VotesBody{Gen: db.Keyspace().Settings.VotesGeneration(), Period: 604800, Filter: f}))
}

// wordsAt makes a filter of words of 64 bits, of which position 0 is the lowest.
func wordsAt(t testing.TB, word func(i uint64) uint64) *generalized.Filter {
	t.Helper()
	empty, err := generalized.New(wire.VotesShape)
	if err != nil {
		t.Fatal(err)
	}
	data, _ := empty.AppendBinary(nil)
	data = data[:len(data)-4]
	content := data[len(data)-int(wire.VotesShape.M/8):]
	for i := range wire.VotesShape.M / 64 {
		binary.LittleEndian.PutUint64(content[8*i:], word(i))
	}
	f, err := generalized.Decode(folder.Seal(data), wire.VotesShape)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Whatever ten sites send, also when all of them conspire to send the same bits, the
// messages that they list and nobody reported stay below the bound: less than one in
// 20 million, here none in 100,000; and no site votes for more than 2 F_p of them.
func TestVotesAreBounded(t *testing.T) {
	const seed = 17
	r := rand.New(rand.NewPCG(seed, seed))
	messages := 50_000 / stride
	busy, err := generalized.New(wire.VotesShape)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 * 2000 { // usual are 2,000 keys, of 1,000 reports in two periods
		busy.Insert(vote.Positions(r.Uint64(), nil))
	}
	draw := func() *generalized.Filter { return wordsAt(t, func(uint64) uint64 { return r.Uint64() }) }
	same := draw()
	c := bloomdbtest.NewClock()
	here := listener(t, c, votersNamed()...)
	for n, tc := range []struct {
		name string
		bits *generalized.Filter // nil: each site draws its own
	}{
		{"all zeros", wordsAt(t, func(uint64) uint64 { return 0 })},
		{"half and half, each its own", nil},
		{"half and half, all the same", same},
		{"each second bit", wordsAt(t, func(uint64) uint64 { return 0xaaaaaaaaaaaaaaaa })},
		{"the first half", wordsAt(t, func(i uint64) uint64 {
			if i < wire.VotesShape.M/128 {
				return math.MaxUint64
			}
			return 0
		})},
		{"100 times the usual traffic", busy},
	} {
		for _, site := range votersNamed() {
			f := tc.bits
			if f == nil {
				f = draw()
			}
			if err := here.HearVotes(crafted(here, site, uint64(n), f)); err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
		}
		votes, listed := 0, 0
		for range messages {
			if n := votesOf(here.Keyspace().Votes.Voters.All(), randomHash(r), randomHash(r)); n > 0 {
				votes += n
				if n >= vote.Needed {
					listed++
				}
			}
		}
		most := 10 * float64(messages) * journal.VotesPerMessage * wire.VotesShape.FalsePositiveBound()
		if t.Logf("%s: %d votes, at most %.0f expected; %d listed of %d", tc.name, votes, most, listed, messages); listed > 0 || float64(votes) > most+5*math.Sqrt(most) {
			t.Errorf("%s: above the bound", tc.name)
		}
	}
}

// votesOf counts the sites that vote by one of some keys.
func votesOf(voters []*vote.Voter, keys ...filter.Hash) (n int) {
	for _, v := range voters {
		if slices.ContainsFunc(keys, v.Has) {
			n++
		}
	}
	return n
}

// All ones are no history of reports, and are refused: they would not be found by
// any key, and say that something is wrong.
func TestImplausibleVotes(t *testing.T) {
	c := bloomdbtest.NewClock()
	here := listener(t, c, "a")
	ones := wordsAt(t, func(uint64) uint64 { return math.MaxUint64 })
	err := here.HearVotes(crafted(here, "a", 1, ones))
	if err == nil || !strings.Contains(err.Error(), "4194304 ones") || !strings.Contains(err.Error(), "votes a") {
		t.Errorf("all ones: %v", err)
	}
	v := vote.Voter{Key: here.Keyspace().Ring.VotesKey("a"), Filter: ones}
	r := rand.New(rand.NewPCG(3, 3))
	for range 1000 {
		if v.Has(randomHash(r)) {
			t.Fatal("found in all ones")
		}
	}
}

// Why a key has other positions at each site: were they the same, sites with the same
// bits would agree on what each of them finds, one message in 33,000.
func TestVotesAtTheSamePositions(t *testing.T) {
	const seed = 18
	r := rand.New(rand.NewPCG(seed, seed))
	f := wordsAt(t, func(uint64) uint64 { return r.Uint64() })
	same := []*vote.Voter{{Filter: f, Key: keyring.Sip{1, 2}}, {Filter: f, Key: keyring.Sip{1, 2}}}
	other := []*vote.Voter{{Filter: f, Key: keyring.Sip{1, 2}}, {Filter: f, Key: keyring.Sip{3, 4}}}
	agreed, apart := 0, 0
	messages := 500_000 / stride
	for range messages {
		x, y := randomHash(r), randomHash(r)
		if votesOf(same, x, y) == 2 {
			agreed++
		}
		if votesOf(other, x, y) == 2 {
			apart++
		}
	}
	if agreed < 1 || agreed > 35 || apart > 0 {
		t.Errorf("seed %d: %d of %d at the same positions, expected %d; %d at own ones, expected none", seed, agreed, messages, messages>>15, apart)
	}
}

// The limit of all this: who has the federation key makes bits for messages of his
// choice. One such member lists nothing, two list all they chose, and only that.
func TestVotesForChosenMessages(t *testing.T) {
	c := bloomdbtest.NewClock()
	here := listener(t, c, votersNamed()...)
	const chosen = 200
	for i, site := range votersNamed()[:2] {
		f, err := generalized.New(wire.VotesShape)
		if err != nil {
			t.Fatal(err)
		}
		for n := range chosen {
			for _, s := range bloomdbtest.Message(n).Signatures {
				f.Insert(vote.Positions(vote.Seed(here.Keyspace().Ring.VotesKey(site), here.Keyspace().Ring.ReportHash(s)), nil))
			}
		}
		if err := here.HearVotes(crafted(here, site, 1, f)); err != nil {
			t.Fatal(err)
		}
		for n := range 2 * chosen {
			want := 0
			if n < chosen {
				want = i + 1
			}
			if e := here.Judge(bloomdbtest.Message(n)); e.Votes != want || e.Listed != (want == 2) {
				t.Errorf("%d members: message %d has %d votes, listed %v", i+1, n, e.Votes, e.Listed)
			}
		}
	}
}

// The bound by hand: F_p = 2^-16, so two of ten agree with C(10,2) (2^-15)^2 at most.
func TestVotesError(t *testing.T) {
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

// The share of reports that a filter has lost is what the package says.
func TestVotesForget(t *testing.T) {
	const seed = 19
	r := rand.New(rand.NewPCG(seed, seed))
	f, err := generalized.New(wire.VotesShape)
	if err != nil {
		t.Fatal(err)
	}
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
			t.Errorf("%d of %d lost after %d others, expected %.0f", lost, window, tc.after, want)
		}
	}
}
