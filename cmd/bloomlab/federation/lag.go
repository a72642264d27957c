package federation

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// When reports are published, in seconds: package bloomdb/exchange/publisher has the rule.
const (
	coalesce    = 0.1 // after the first that waits
	reportPause = 0.2 // after the last publication, at least
)

// applied is the number of cells per second that a reader joins into its parts on one
// core: the promised number, which is less than the measured one
// (contrib/benchmarks.md).
const applied = 2e6

const noteLag = "from the report to its publication, without Redis and the transfer to the reader. The first report waits 100 ms, " +
	"reports that arrive meanwhile wait less, and a report right after a publication waits at most 200 ms"

// lateReports simulates the reports of the largest site's users, at the usual rate and at
// a hundred times that rate.
func lateReports() lab.Trial {
	usual := share(1) * reportRate
	rates := []float64{usual, 100 * usual}
	names := []string{"the largest site's reports: ", "100 times as many: "}
	want := []float64{coalesce, reportPause / 2}
	t := lab.Trial{New: func(*rand.Rand) lab.Round {
		return func(r *rand.Rand, out []float64) {
			for i, rate := range rates {
				copy(out[4*i:], waits(r, rate))
			}
		}
	}}
	for i, name := range names {
		t.Cells = append(t.Cells,
			near(name+"mean wait, ms", 1000*want[i], 0.03, "4 standard errors, and 3 % for those that come together", noteLag),
			shown(name+"median wait, ms", ""),
			shown(name+"99th percentile, ms", ""),
			never(name+"waited longer than 200 ms"),
		)
	}
	return t
}

// waits draws 2,000 reports and returns mean, median and 99th percentile in milliseconds,
// and the share of reports that waited too long.
func waits(r *rand.Rand, rate float64) []float64 {
	const n = 2000
	all := make([]float64, 0, n)
	now, last, due := 0.0, -1.0, -1.0
	late, sum := 0.0, 0.0
	for range n {
		now += r.ExpFloat64() / rate
		if now >= due { // what waited is published
			if due >= 0 {
				last = due
			}
			due = max(now+coalesce, last+reportPause)
		}
		wait := due - now
		if all = append(all, wait); wait > reportPause+1e-9 {
			late += 1.0 / n
		}
		sum += wait
	}
	slices.Sort(all)
	return []float64{1000 * sum / n, 1000 * all[n/2], 1000 * all[n*99/100], late}
}

// countRate is the number of bytes of counts per second up to which a site waits longer,
// at most a minute.
const countRate = 16 << 10

const noteAdaptive = "a site waits until its counts make 16 KiB for each second that it waits, 1 s to 60 s: at this traffic, even the largest " +
	"publishes each second"

const noteApply = "a reader applies 2 million cells a second on one core, as promised; its link limits how fast it reads"

// lateCounts computes the delay of counts, and the time that a reader needs after an absence.
func lateCounts() lab.Trial {
	var cells []lab.Cell
	for _, seconds := range intervals {
		name := fmt.Sprintf("counts every %g s, ", seconds)
		cells = append(cells,
			shown(name+"mean wait until the last is applied, s", noteApply),
			shown(name+"longest wait, s", ""),
			shown(name+"cells a second to apply", ""),
			shown(name+"of one core, %", ""),
			shown(name+"catching up after an hour, s", "B/(R-r): B cells arrived meanwhile; each second R are applied and r arrive"),
			shown(name+"catching up after a day, s", "")) // a day's changes, not joined: at most
	}
	cells = append(cells, shown("a site waits longer than 1 s for its counts from so many messages a second on", noteAdaptive))
	cells = append(cells, shown("a new site applies all snapshots, s", ""), shown("a new site reads all snapshots, MB", ""))
	return lab.Trial{Fixed: true, Cells: cells, New: func(*rand.Rand) lab.Round {
		return func(_ *rand.Rand, out []float64) {
			for i, seconds := range intervals {
				cells, most := changed(seconds), largestDelta(seconds)
				copy(out[6*i:], []float64{
					seconds/2 + most/applied, seconds + most/applied, cells, 100 * cells / applied,
					3600 * cells / (applied - cells), daySeconds * cells / (applied - cells),
				})
			}
			held, bytes := heldCells()
			bytes1, keys1 := allSites()[0].expectedCounts(1)
			out[len(out)-3] = countRate / (bytes1 / keys1)
			out[len(out)-2], out[len(out)-1] = held/applied, bytes/mega
		}
	}}
}

// changed returns the cells in all sites' deltas of a second.
func changed(seconds float64) float64 {
	cells := reportRate * (meanSignatures*8 + sketchEntries*4)
	for _, s := range allSites() {
		_, keys := s.expectedCounts(seconds)
		cells += 4 * keys / seconds
	}
	return cells
}

// largestDelta are the cells of the largest site's.
func largestDelta(seconds float64) float64 {
	_, keys := allSites()[0].expectedCounts(seconds)
	return 4 * keys
}

// heldCells are those of all sites' snapshots at the end of a day and a week, and
// their bytes.
func heldCells() (cells, bytes float64) {
	const end = 7*daySeconds - 1
	for _, s := range allSites() {
		used := func(size, put float64) float64 { return size * (1 - exp(-put/size)) }
		size := float64(s.shape.Size())
		cells += countKeep * used(size, 4*daysKeys(daily, s.share))
		for _, f := range []struct{ size, put float64 }{
			{float64(weekSpam.Size()), meanSignatures * 8},
			{float64(weekSketch.Size()), sketchEntries * 4},
		} {
			cells += keptWeeks * used(f.size, weekly*s.share*f.put)
		}
		bytes += s.snapshot(end)
	}
	return cells, bytes
}
