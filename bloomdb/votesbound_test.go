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
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// votersNamed returns the names of ten sites.
func votersNamed() (names []string) {
	for i := range 10 {
		names = append(names, fmt.Sprintf("voter%d", i))
	}
	return names
}

// crafted returns a record of votes that a member made by hand for a site.
func crafted(db *bloomdb.DB, site string, stamp uint64, f *generalized.Filter) []byte {
	h := wire.Head{Type: wire.RecordVotes, Site: site, Epoch: 2, Seq: stamp, Made: db.Now()}
	return sealer(db).EncodeRecord(h, wire.AppendVotes(nil, wire.VotesBody{Gen: bloomdbtest.SettingsOf(db).VotesGeneration(), Period: 604800, Filter: f}))
}

// wordsAt returns the filter with the given words of 64 bits. Position 0 is the lowest bit.
func wordsAt(t testing.TB, word func(i uint64) uint64) *generalized.Filter {
	t.Helper()
	empty, err := generalized.New(wire.VotesShape)
	testenv.Check(t, err)
	data, _ := empty.AppendBinary(nil)
	data = data[:len(data)-4]
	content := data[len(data)-int(wire.VotesShape.M/8):]
	for i := range wire.VotesShape.M / 64 {
		binary.LittleEndian.PutUint64(content[8*i:], word(i))
	}
	f, err := generalized.Decode(folder.Seal(data), wire.VotesShape)
	testenv.Check(t, err)
	return f
}

// Ten sites send any votes, and may conspire to send the same bits. The number of messages that
// they list without a report stays below the bound: less than one in 20 million, here none in
// 100,000. No site votes for more than 2 F_p of them.
func TestVotesAreBounded(t *testing.T) {
	testenv.Servers(t)
	if testenv.RanWithoutRace(t) {
		return
	}
	const seed = 17
	r := rand.New(rand.NewPCG(seed, seed))
	messages := 50_000 / stride
	busy, err := generalized.New(wire.VotesShape)
	testenv.Check(t, err)
	for range 100 * 2000 { // usually 2,000 keys, of 1,000 reports in two periods
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
			if err := here.ApplyVotes(crafted(here, site, uint64(n), f)); err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
		}
		votes, listed := 0, 0
		for range messages {
			if n := votesOf(here.Keyspace().Votes.Received.All(), randomHash(r), randomHash(r)); n > 0 {
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

// votesOf returns the number of sites that vote by one of some keys.
func votesOf[V interface{ Has(filter.Hash) bool }](voters []V, keys ...filter.Hash) (n int) {
	for _, v := range voters {
		if slices.ContainsFunc(keys, v.Has) {
			n++
		}
	}
	return n
}

// A filter of all ones cannot result from reports, and is rejected.
func TestImplausibleVotes(t *testing.T) {
	c := bloomdbtest.NewClock()
	here := listener(t, c, "a")
	ones := wordsAt(t, func(uint64) uint64 { return math.MaxUint64 })
	err := here.ApplyVotes(crafted(here, "a", 1, ones))
	if err == nil || !strings.Contains(err.Error(), "4194304 ones") || !strings.Contains(err.Error(), "votes a") {
		t.Errorf("all ones: %v", err)
	}
}

// The bound does not hold for chosen messages: a member with the federation key can make bits
// for messages of its choice. One such member lists nothing. Two list all the messages that they
// chose, and only these.
func TestVotesForChosenMessages(t *testing.T) {
	c := bloomdbtest.NewClock()
	here := listener(t, c, votersNamed()...)
	const chosen = 200
	for i, site := range votersNamed()[:2] {
		f, err := generalized.New(wire.VotesShape)
		testenv.Check(t, err)
		for n := range chosen {
			for _, s := range bloomdbtest.Message(n).Signatures {
				f.Insert(vote.Positions(vote.Seed(bloomdbtest.Ring.VotesKey(site), bloomdbtest.Ring.ReportHash(s)), nil))
			}
		}
		testenv.Check(t, here.ApplyVotes(crafted(here, site, 1, f)))
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
