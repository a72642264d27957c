package reporting

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
)

// BenchmarkReport: durable reports a second of 16 clients at the desk, each of another
// message with a text of 160 words and its sketch, and the time that each waits: in the
// ledger and in the journal, each with its fsync, which clients share.
func BenchmarkReport(b *testing.B) {
	o := smallOptions(b.TempDir())
	o.Reports.Capacity = 1_000_000
	db, err := bloomdb.Open(o)
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(b.TempDir(), "reports.db"), Model: trust.Default()})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	desk := NewDesk(db, l, DeskOptions{})
	reports := make([]Report, b.N)
	for i := range reports {
		reports[i] = Report{Set: letter(i, 0), Reporter: fmt.Sprint("user", i%500)}
	}
	b.ResetTimer()
	const clients = 16
	waits := make([][]time.Duration, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := c; i < len(reports); i += clients {
				start := time.Now()
				if _, err := desk.Report(reports[i]); err != nil {
					b.Error(err)
					return
				}
				waits[c] = append(waits[c], time.Since(start))
			}
		})
	}
	all.Wait()
	list := slices.Concat(waits...)
	slices.Sort(list)
	b.ReportMetric(float64(len(list))/b.Elapsed().Seconds(), "reports/s")
	b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(list[len(list)*99/100].Microseconds())/1000, "p99-ms")
}
