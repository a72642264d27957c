//go:build figures

package figures

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

// The figures of contrib/benchmarks.md for the exchange between two daemons.
func TestExchangeFigures(t *testing.T) {
	redis := harness.StartRedis(t)
	key := filepath.Join(testenv.Dir(t), "key")
	a, b := harness.NewSite(t, "a", key, redis.URL()).Start(), harness.NewSite(t, "b", key, redis.URL()).Start()
	hosts := []*client.Client{a.Client(), b.Client()}
	t.Run("latency", func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		var took []time.Duration
		for i := range 200 {
			took = append(took, harness.Spread(t, hosts[i%2], hosts[1-i%2:2-i%2], harness.Request(harness.Text()))...)
			time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond) // reports come at random times
		}
		t.Logf("report at one site until spam at another: %s", harness.Quantiles(took))
	})
	t.Run("idle", func(t *testing.T) {
		in, out := traffic(redis, t)
		const long = 20 * time.Second
		time.Sleep(long)
		in2, out2 := traffic(redis, t)
		t.Logf("two idle sites: Redis reads %.0f bytes/s and writes %.0f", float64(in2-in)/long.Seconds(), float64(out2-out)/long.Seconds())
	})
	for _, rate := range []int{10, 100} {
		t.Run(fmt.Sprintf("%d messages a second", rate), func(t *testing.T) {
			const messages = 1000
			in, out := traffic(redis, t)
			begin := time.Now()
			tick := time.NewTicker(time.Second / time.Duration(rate))
			defer tick.Stop()
			var last string
			for range messages {
				last = harness.Text()
				testenv.Check(t, harness.Deliver(a.Milter, harness.Message(last)))
				<-tick.C
			}
			testenv.Eventually(t, "the other site receives the counts", func() bool { return b.Check(t, last).Count == 1 })
			in2, out2 := traffic(redis, t)
			t.Logf("%d different messages in %v: Redis reads %d bytes and writes %d, heartbeats and all",
				messages, time.Since(begin).Round(time.Second), in2-in, out2-out)
		})
	}
}

// traffic returns how many bytes Redis has read and written since its start.
func traffic(r *harness.Redis, t *testing.T) (in, out int64) {
	t.Helper()
	info := harness.Execute(t, "", testenv.Program(t, "redis-cli"), "-p", strconv.Itoa(r.Port), "info", "stats").Stdout
	value := func(name string) int64 {
		found := regexp.MustCompile(name + `:(\d+)`).FindStringSubmatch(info)
		if found == nil {
			t.Fatalf("no %s in %s", name, info)
		}
		n, err := strconv.ParseInt(found[1], 10, 64)
		testenv.Check(t, err)
		return n
	}
	return value("total_net_input_bytes"), value("total_net_output_bytes")
}
