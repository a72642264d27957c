package federation

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

// When a site publishes a snapshot: package bloomdb/exchange/publisher has the rule.
const (
	snapshotBytes  = 4 << 20 // of deltas, or as many as the last snapshot had
	snapshotDeltas = 50_000
	snapshotPause  = daySeconds
)

const noteSnapshots = "a snapshot is due when the deltas since the last one have more than max(4 MiB, its size) bytes, at 50,000 deltas, or " +
	"after a day; a site's stream contains the deltas since the previous snapshot. Snapshots are encoded like parts: Rice's " +
	"code of the gaps in a block"

const mega = 1e6

// snapshots follows all sites for five weeks of full filters, by equation.
func snapshots() lab.Trial {
	var cells []lab.Cell
	for _, seconds := range intervals {
		name := fmt.Sprintf("counts every %g s, ", seconds)
		cells = append(cells,
			shown(name+"snapshots of all sites, bytes/s", noteSnapshots),
			shown(name+"snapshots a day, of all sites", ""),
			shown(name+"snapshots a day, of the largest site", ""),
			shown(name+"largest snapshot, MB", ""),
			shown(name+"Redis holds at most, MB", "each site's largest snapshot, and its stream since the previous one; also one site's next snapshot, while it is being written"),
		)
	}
	return lab.Trial{Fixed: true, Cells: cells, New: func(*rand.Rand) lab.Round {
		return func(_ *rand.Rand, out []float64) {
			for i, seconds := range intervals {
				f := followSnapshots(seconds)
				copy(out[5*i:], []float64{f.rate, f.daily, f.ofLargest, f.most / mega, f.held / mega})
			}
		}
	}}
}

// followed is the result for all sites' snapshots.
type followed struct {
	rate      float64 // bytes a second
	daily     float64
	ofLargest float64 // a day
	most      float64 // bytes of the largest
	held      float64 // bytes in Redis
}

func followSnapshots(seconds float64) (f followed) {
	const end = keptWeeks * 7 * daySeconds
	for rank, s := range allSites() {
		p := s.publishes(seconds)
		last, wait, number, largest, stream := s.snapshot(0), 0.0, 0.0, 0.0, 0.0
		for at := 0.0; at < end; number++ {
			wait = min(max(snapshotBytes, last)/p.bytes, snapshotDeltas/p.records, snapshotPause)
			at += wait
			last = s.snapshot(at)
			f.rate += last / end
			largest, stream = max(largest, last), max(stream, 2*wait*p.bytes)
		}
		f.daily += number / end * daySeconds
		if rank == 0 {
			f.ofLargest = f.daily
		}
		f.most = max(f.most, largest)
		f.held += largest + stream
	}
	return f
}

// published returns a site's bytes per second, without snapshots and heartbeats.
type published struct{ bytes, records float64 }

// publishes is by the equations. A report is two records, each of one section.
func (s site) publishes(seconds float64) published {
	code, keys := s.expectedCounts(seconds)
	counts := -math.Expm1(-keys) / seconds
	reports := s.share * reportRate
	spam, sketch := expectedReport()
	return published{
		bytes:   code/seconds + reports*(spam+sketch) + (counts+2*reports)*(recordHead+sectionHead),
		records: counts + 2*reports,
	}
}

// reportRate is the federation's, in a second.
const reportRate = daily * reportsPerThousand / 1000 / daySeconds

// snapshot is the size of a site's at a time, in seconds from the beginning of a day
// and of a week on: yesterday's counts and those of today, four weeks of reports and
// those of this one.
func (s site) snapshot(at float64) float64 {
	_, day := math.Modf(at / daySeconds)
	_, week := math.Modf(at / daySeconds / 7)
	return s.countsHeld(1) + s.countsHeld(day) + (keptWeeks-1)*s.reportsHeld(1) + s.reportsHeld(week)
}

// reportsHeld is the code of a site's filters of reports after a part of the week.
func (s site) reportsHeld(part float64) float64 {
	reports := weekly * s.share * part
	return heldBytes(float64(weekSpam.Size()), reports*meanSignatures*float64(weekSpam.K), 0) +
		heldBytes(float64(weekSketch.Size()), reports*sketchEntries*float64(weekSketch.K), 0)
}

// countsHeld is the code of a site's counting filter after a part of the day. H1
// gives a cell the count of the key that it has most of; the values are those of keys.
func (s site) countsHeld(part float64) float64 {
	if part == 0 {
		return 0
	}
	own, common := distinct(daily, s.share, part)
	keys := own + common
	values := (own*totalBits(part) + common*totalBits(s.share*part)) / keys
	return heldBytes(float64(s.shape.Size()), keys*4, values)
}

// totalBits are the mean bits of gamma codes of what comes of messages in a part of
// their sightings, of those of which something does.
func totalBits(part float64) float64 {
	sum, total := 0.0, 0.0
	for _, g := range groups {
		p := g.chance * g.seen(part)
		mean := g.count * part / g.seen(part) // of those seen
		sum, total = sum+p*gammaBits(mean), total+p
	}
	return sum / total
}

// heldBytes is the code of a filter of size cells into which so many were put, by
// Rice's code of gaps, with so many bits of each value.
func heldBytes(size, put, values float64) float64 {
	if put == 0 {
		return 0
	}
	p := -math.Expm1(-put / size)
	return size * p * (riceBits(p) + values) / 8
}
