package federation

import (
	"fmt"
	"math"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

const noteTotals = "a record takes 152 bytes besides its body (head with a name of 8, Ed25519 signature, HMAC), and 32 for a filter's " +
	"section; Redis' protocol, TCP and IP take 250 bytes on the way in and 120 to each of 99 readers. A site's records of " +
	"counts go to all sites at once; a heartbeat every 2 s; a site that is up to date reads no snapshots"

// flow is the traffic through Redis, in bytes per second.
type flow struct{ in, out float64 }

// flowOf returns the sum of the coded counts and reports and of the snapshots.
func flowOf(seconds, counts, report, snapshots float64) flow {
	countRecords := 0.0
	for _, s := range allSites() {
		_, keys := s.expectedCounts(seconds)
		countRecords += -math.Expm1(-keys) / seconds
	}
	const beats = sites / heartbeatEvery
	deltas := countRecords + 2*reportRate
	told := counts + reportRate*report + deltas*(recordHead+sectionHead) + beats*(recordHead+heartbeatBody)
	return flow{
		in:  told + (deltas+beats)*protocolIn + snapshots,
		out: (sites - 1) * (told + (deltas+beats)*protocolOut),
	}
}

// totals are the sums over what was measured, compared with those of the equations.
func totals(rows []lab.Row) []lab.Derived {
	measured := make(map[string]float64)
	for _, row := range rows {
		measured[row.Cell] = row.Measured
	}
	var all []lab.Derived
	add := func(name string, mean, reference float64, note string) {
		all = append(all, lab.Derived{
			Cell: lab.Cell{
				Name: name, Paper: lab.None, Note: note,
				Tolerance: lab.Within(0.04 * reference), Why: "4 %: 3 % for its summands, and few rounds",
			}.Expect(reference),
			Summary: lab.Summary{Mean: mean, Rounds: 1},
		})
	}
	for _, seconds := range intervals {
		name := fmt.Sprintf("counts every %g s, ", seconds)
		snapshots := measured[name+"snapshots of all sites, bytes/s"]
		code := 0.0
		for _, s := range allSites() {
			bytes, _ := s.expectedCounts(seconds)
			code += bytes / seconds
		}
		spam, sketch := expectedReport()
		paper := flowOf(seconds, code, spam+sketch, snapshots)
		drawn := flowOf(seconds, measured[name+"all sites, bytes/s"], measured[cellSpam]+measured[cellSketch], snapshots)
		const thousands = daily / daySeconds / 1000 // of messages, a second
		add(name+"into Redis, kB/s", drawn.in/1e3, paper.in/1e3, noteTotals)
		add(name+"out of Redis, kB/s", drawn.out/1e3, paper.out/1e3, "")
		add(name+"into Redis, bytes per 1,000 messages", drawn.in/thousands, paper.in/thousands, "")
		add(name+"to one site, kB/s", drawn.out/sites/1e3, paper.out/sites/1e3, "")
		add(name+"to one site, bytes per 1,000 messages of all", drawn.out/sites/thousands, paper.out/sites/thousands, "")
	}
	return all
}
