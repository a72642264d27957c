package exchange_test

import (
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// sender is a site that publishes when called.
type sender struct {
	db     *bloomdb.DB
	stored *streams.Redis
	tail   streams.Position
}

func startSender(b *testing.B, url string) *sender {
	b.Helper()
	s := &sender{db: openDB(b, siteOptions(b.TempDir(), "a")), stored: streams.New(redistest.Dial(b, url), keyring.ID(testKey))}
	testenv.Check(b, s.db.Resume(0, 0))
	s.announce(b)
	return s
}

// announce publishes a heartbeat.
func (s *sender) announce(b *testing.B) {
	b.Helper()
	testenv.Check(b, s.stored.Heartbeat(b.Context(), "a", s.db.Heartbeat(0, 0), s.tail, nil))
}

// publishMessages publishes one delta of n counted messages.
func (s *sender) publishMessages(b *testing.B, delta, n int) {
	b.Helper()
	for i := range n {
		testenv.Check(b, s.db.Count(mail("delta %d message %d", delta, i), 1))
	}
	for more := true; more; {
		d, found, err := s.db.NextDelta(true)
		testenv.Check(b, err)
		if !found {
			return
		}
		testenv.Check(b, s.stored.Publish(b.Context(), d, s.tail, 100_000))
		s.tail, more = streams.At(d.Epoch, d.Seq), d.More
		testenv.Check(b, s.db.Published(d))
	}
}

// BenchmarkPublish: one delta of 20 counted messages made and published.
func BenchmarkPublish(b *testing.B) {
	p := startSender(b, redistest.Start(b).URL())
	delta := 0
	for b.Loop() {
		p.publishMessages(b, delta%400, 20) // the filter is for 10,000
		delta++
	}
}

// BenchmarkCatchUp: a new site reads a stream of 2,000 deltas of 20 counted
// messages each.
func BenchmarkCatchUp(b *testing.B) {
	const deltas = 2000
	url := redistest.Start(b).URL()
	p := startSender(b, url)
	for i := range deltas {
		p.publishMessages(b, i%400, 20)
	}
	p.announce(b)
	epoch, seq := p.db.Head()
	for b.Loop() {
		s := startSite(b, b.TempDir(), "b", url)
		testenv.Eventually(b, "it is level", func() bool {
			e, q := s.db.Cursor("a")
			return e == epoch && q == seq
		})
		b.StopTimer()
		s.stop()
		b.StartTimer()
	}
	b.ReportMetric(float64(deltas*b.N)/b.Elapsed().Seconds(), "deltas/s")
	b.ReportMetric(float64(20*deltas*b.N)/b.Elapsed().Seconds(), "messages/s")
}

// BenchmarkLatency measures the time from the creation of a delta until another site has
// applied it. A daemon adds up to Options.Interval before.
func BenchmarkLatency(b *testing.B) {
	url := redistest.Start(b).URL()
	p := startSender(b, url)
	s := startSite(b, b.TempDir(), "b", url)
	s.awaitConnected()
	var took []time.Duration
	delta := 0
	for b.Loop() {
		start := time.Now()
		p.publishMessages(b, delta%400, 1)
		delta++
		_, seq := p.db.Head()
		for {
			if _, q := s.db.Cursor("a"); q >= seq {
				break
			}
			time.Sleep(20 * time.Microsecond)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkNewSiteJoins: a new site reads the data that ten sites collected in days, and in
// weeks: 1,000,000 reported and 20,000,000 counted messages. The preparation takes some
// minutes.
func BenchmarkNewSiteJoins(b *testing.B) {
	for name, k := range map[string]dataset{
		"days":  {sites: 10, reports: 1000, counted: 20_000},
		"weeks": {sites: 10, reports: 100_000, counted: 2_000_000},
	} {
		b.Run(name, func(b *testing.B) {
			server := redistest.Start(b)
			for i := range k.sites {
				k.publish(b, server.URL(), i)
			}
			busy := bloomdbtest.CPUTime(b)
			for b.Loop() {
				late := k.join(b, server.URL())
				b.StopTimer()
				late.stop()
				b.StartTimer()
			}
			b.ReportMetric((bloomdbtest.CPUTime(b)-busy).Seconds()/float64(b.N), "cpu-s/op")
			b.ReportMetric(float64(usedMemory(b, redistest.Dial(b, server.URL())))/1e6, "redis-MB")
		})
	}
}
