package server

import (
	"fmt"
	"net"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
	"github.com/spambloom/spambloom/signature"
)

// BenchmarkReport: durable reports a second of 16 clients, each of another message with
// a text of 160 words and its sketch, and the time that each waits: in the ledger and in
// the journal, each with its fsync, which clients share. At the desk, and through the
// API on a unix socket, where the clients take their part of the processors.
func BenchmarkReport(b *testing.B) {
	o := desktest.Options(b.TempDir())
	o.Reports.Capacity = 1_000_000
	db, err := bloomdb.Open(o)
	testenv.Check(b, err)
	defer db.Close()
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(b.TempDir(), "reports.db"), Model: trust.Default()})
	testenv.Check(b, err)
	defer l.Close()
	d := desk.New(db, l, desk.Options{})
	server := httptest.NewUnstartedServer(NewHandler(d, HandlerOptions{Decide: desktest.Decide}))
	socket := filepath.Join(b.TempDir(), "s")
	if server.Listener, err = net.Listen("unix", socket); err != nil {
		b.Fatal(err)
	}
	server.Start()
	defer server.Close()
	daemon, err := client.Dial("unix:" + socket)
	testenv.Check(b, err)
	defer daemon.Close()
	campaign := 0
	for name, report := range map[string]func(set signature.Set, who string) error{
		"desk": func(set signature.Set, who string) error {
			_, err := d.Report(desk.Report{Set: set, Reporter: who})
			return err
		},
		"api": func(set signature.Set, who string) error {
			r := api.NewRequest(set)
			r.Reporter = who
			_, err := client.Post(b.Context(), daemon, v1.Report, r)
			return err
		},
	} {
		b.Run(name, func(b *testing.B) {
			sets := make([]signature.Set, b.N)
			for i := range sets {
				campaign++
				sets[i] = desktest.Letter(campaign, 0)
			}
			b.ResetTimer()
			b.ReportMetric(waits(b, sets, report))
		})
	}
}

// waits reports all sets from 16 goroutines, and returns the rate.
func waits(b *testing.B, sets []signature.Set, report func(signature.Set, string) error) (perSecond float64, unit string) {
	const clients = 16
	took := make([][]time.Duration, clients)
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			for i := c; i < len(sets); i += clients {
				start := time.Now()
				if err := report(sets[i], fmt.Sprint("user", i%500)); err != nil {
					b.Error(err)
					return
				}
				took[c] = append(took[c], time.Since(start))
			}
		})
	}
	all.Wait()
	list := slices.Concat(took...)
	slices.Sort(list)
	b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(list[len(list)*99/100].Microseconds())/1000, "p99-ms")
	return float64(len(list)) / b.Elapsed().Seconds(), "reports/s"
}
