package bloomdb_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/vote"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// votersWith returns a number of sites that vote, each with a filter of a number of reports.
func votersWith(b *testing.B, sites, reports int) *bloomdb.DB {
	b.Helper()
	db := listener(b, bloomdbtest.NewClock(), votersNamed()...)
	r := rand.New(rand.NewPCG(7, 7))
	for _, site := range votersNamed()[:sites] {
		f, err := generalized.New(wire.VotesShape)
		testenv.Check(b, err)
		for range 2 * reports {
			f.Insert(vote.Positions(r.Uint64(), nil))
		}
		testenv.Check(b, db.ApplyVotes(crafted(db, site, 1, f)))
	}
	return db
}

// BenchmarkJudgeVotes measures the cost of votes for a message that no site has reported.
func BenchmarkJudgeVotes(b *testing.B) {
	for _, tc := range []struct{ sites, reports int }{{0, 0}, {2, 1000}, {10, 1000}, {10, 100_000}} {
		b.Run(fmt.Sprintf("sites=%d/reports=%d", tc.sites, tc.reports), func(b *testing.B) {
			db := votersWith(b, tc.sites, tc.reports)
			n := 0
			for b.Loop() {
				n++
				if db.Judge(bloomdbtest.Message(n)).Listed {
					b.Fatal("listed")
				}
			}
		})
	}
}

// BenchmarkVotesRecord encodes and applies a record, and reports its length: for a site with
// few reports, and for one with so many that bits are shorter.
func BenchmarkVotesRecord(b *testing.B) {
	for _, reports := range []int{100, 1000, 4200, 100_000} {
		b.Run(fmt.Sprintf("reports=%d", reports), func(b *testing.B) {
			f, err := generalized.New(wire.VotesShape)
			testenv.Check(b, err)
			r := rand.New(rand.NewPCG(7, 7))
			for range 2 * reports {
				f.Insert(vote.Positions(r.Uint64(), nil))
			}
			var data []byte
			for b.Loop() {
				data = wire.AppendVotes(data[:0], wire.VotesBody{Gen: 2930, Period: 604800, Filter: f})
				if _, err := wire.DecodeVotes(data); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(data)), "bytes")
		})
	}
}
