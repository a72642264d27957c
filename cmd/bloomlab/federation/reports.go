package federation

import (
	"math/rand/v2"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/coded"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
	"github.com/spambloom/spambloom/cmd/bloomlab/papers"
)

// The filters of reports have the sizes that package bloomdb gives them by default, for the
// federation's reports of the five weeks that are kept.
const (
	keptWeeks = 5
	weekly    = daily * 7 * reportsPerThousand / 1000
	capacity  = weekly * keptWeeks // reported messages
)

const meanSignatures = (fewestSignatures + mostSignatures) / 2.0

// sized are the settings of a federation with so many reports in a week.
func sized(week float64) *layout.Settings {
	s := &layout.Settings{Reports: layout.ReportOptions{Keep: keptWeeks, Capacity: int64(week * keptWeeks)}}
	layout.SetDefaults(&s.Reports, &s.Counts, &s.Domains)
	return s
}

// spamShape is that of the spam filter of one week, sketchShape that of the near-duplicates'.
func spamShape(week float64) filter.BitsShape   { return sized(week).SpamShape() }
func sketchShape(week float64) filter.BitsShape { return sized(week).SketchShape() }

// weekSpam and weekSketch are the filters of one week, at full size.
var weekSpam, weekSketch = spamShape(weekly), sketchShape(weekly)

const noteReports = "one report in 1,000 messages, each of a message that nobody else reports, of 1 to 3 signatures of 8 bits and 108 sketch " +
	"entries of 4, published alone in a record of each filter. A line costs Rice's code of a gap, a flag, and 8x6 or 4x7 bits"

// reportTraffic draws single reports at full size.
func reportTraffic() lab.Trial {
	spamBytes, sketchBytes := expectedReport()
	return lab.Trial{
		Cells: []lab.Cell{
			near(cellSpam, spamBytes, 0.03, whyReports, noteReports),
			near(cellSketch, sketchBytes, 0.03, whyReports, ""),
		},
		New: func(*rand.Rand) lab.Round {
			const reports = 100
			var code []byte
			return func(r *rand.Rand, out []float64) {
				out[0], out[1] = 0, 0
				for range reports {
					n := fewestSignatures + r.IntN(mostSignatures-fewestSignatures+1)
					code = coded.AppendLines(code[:0], weekSpam, keysOf(r, weekSpam, n))
					out[0] += float64(len(code)) / reports
					code = coded.AppendLines(code[:0], weekSketch, keysOf(r, weekSketch, sketchEntries))
					out[1] += float64(len(code)) / reports
				}
			}
		},
	}
}

const (
	cellSpam   = "a report's signatures, bytes"
	cellSketch = "a report's sketch, bytes"
	whyReports = "4 standard errors, and 3 % for the gaps' parameter, which is chosen by the last line, and rounding to bytes"
)

// expectedReport are the bytes of a report's codes, by the equation.
func expectedReport() (spam, sketch float64) {
	for n := fewestSignatures; n <= mostSignatures; n++ {
		spam += codeBytesOf(n, weekSpam) / (mostSignatures - fewestSignatures + 1)
	}
	return spam, codeBytesOf(sketchEntries, weekSketch)
}

// codeBytesOf is codeBytes of a number of keys.
func codeBytesOf(keys int, s filter.BitsShape) float64 {
	n, section := float64(keys), 6.0
	if s.K == 4 {
		section = 7
	}
	return 1 + 1 + 0.5 + n*(riceBits(n/float64(s.Lines))+1+float64(s.K)*section)/8
}

// keysOf are the bits of so many new keys.
func keysOf(r *rand.Rand, s filter.BitsShape, keys int) []filter.Cell {
	cells := make([]filter.Cell, 0, keys*s.K)
	var buf [16]uint64
	for range keys {
		for _, pos := range s.Positions(papers.DrawHash(r), buf[:0]) {
			cells = append(cells, filter.Cell{Pos: pos, Value: 1})
		}
	}
	return sorted(cells)
}
