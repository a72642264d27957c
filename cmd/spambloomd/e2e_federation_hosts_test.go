package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting"
)

// figures is set for a run that measures: the programs are built as they are used,
// without the race detector.
var figures = os.Getenv("SPAMBLOOM_FIGURES") != ""

// spread reports one message at a site and returns how long it took until each of
// the others called it spam.
func spread(t *testing.T, from *reporting.Client, others []*reporting.Client, r reporting.Request) (took []time.Duration) {
	t.Helper()
	begin := time.Now()
	if _, err := from.Report(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	took = make([]time.Duration, len(others))
	var asking sync.WaitGroup
	for i, other := range others {
		asking.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			for {
				answer, err := other.Check(ctx, r)
				if err != nil {
					t.Errorf("the report did not arrive: %v", err)
					return
				}
				if answer.Verdict == "spam" {
					took[i] = time.Since(begin)
					return
				}
				time.Sleep(2 * time.Millisecond) // between two questions
			}
		})
	}
	asking.Wait()
	return took
}

// quantiles names the middle and the worst of what was measured.
func quantiles(took []time.Duration) string {
	slices.Sort(took)
	at := func(q float64) time.Duration {
		return took[min(len(took)-1, int(q*float64(len(took))))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %v, p99 %v, at most %v of %d", at(0.5), at(0.99), at(1), len(took))
}

// startHosts starts daemons with names of their own on one key and one Redis.
func startHosts(t *testing.T, redis *redisServer, names ...string) (clients []*reporting.Client) {
	t.Helper()
	key := filepath.Join(folder(t), "key")
	for _, name := range names {
		clients = append(clients, newSite(t, name, key, redis.url()).start().client())
	}
	return clients
}

// The mail exchangers of one site are members like others, each with its own name:
// what a user reports on one of them acts on all.
func TestReportActsOnAllHosts(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, startRedis(t), "mx1", "mx2", "mx3")
	var took []time.Duration
	for i := range 20 {
		others := slices.Concat(hosts[:i%3], hosts[i%3+1:])
		took = append(took, spread(t, hosts[i%3], others, request(text()))...)
	}
	t.Logf("report on one host until spam on another: %s", quantiles(took))
}

// What contrib/benchmarks.md says of the way between two daemons.
func TestExchangeFigures(t *testing.T) {
	if !figures {
		t.Skip("SPAMBLOOM_FIGURES is not set: this measures and shows nothing else")
	}
	redis := startRedis(t)
	key := filepath.Join(folder(t), "key")
	a, b := newSite(t, "a", key, redis.url()).start(), newSite(t, "b", key, redis.url()).start()
	hosts := []*reporting.Client{a.client(), b.client()}
	t.Run("latency", func(t *testing.T) {
		random := rand.New(rand.NewPCG(1, 2))
		var took []time.Duration
		for i := range 200 {
			took = append(took, spread(t, hosts[i%2], hosts[1-i%2:2-i%2], request(text()))...)
			time.Sleep(time.Duration(random.IntN(400)) * time.Millisecond) // reports come when they come
		}
		t.Logf("report at one site until spam at another: %s", quantiles(took))
	})
	t.Run("idle", func(t *testing.T) {
		in, out := redis.traffic(t)
		const long = 20 * time.Second
		time.Sleep(long)
		in2, out2 := redis.traffic(t)
		t.Logf("two idle sites: Redis reads %.0f bytes/s and writes %.0f", float64(in2-in)/long.Seconds(), float64(out2-out)/long.Seconds())
	})
	for _, rate := range []int{10, 100} {
		t.Run(fmt.Sprintf("%d messages a second", rate), func(t *testing.T) {
			const messages = 1000
			in, out := redis.traffic(t)
			begin := time.Now()
			tick := time.NewTicker(time.Second / time.Duration(rate))
			defer tick.Stop()
			var last string
			for range messages {
				last = text()
				if err := deliver(a.milter, message(last)); err != nil {
					t.Fatal(err)
				}
				<-tick.C
			}
			eventually(t, "the other site counts them", func() bool { return b.check(t, last).Count == 1 })
			in2, out2 := redis.traffic(t)
			t.Logf("%d different messages in %v: Redis reads %d bytes and writes %d, heartbeats and all",
				messages, time.Since(begin).Round(time.Second), in2-in, out2-out)
		})
	}
}

// traffic is how many bytes Redis has read, and written, since its start.
func (r *redisServer) traffic(t *testing.T) (in, out int64) {
	t.Helper()
	info := execute(t, "", find(t, "redis-cli"), "-p", strconv.Itoa(r.port), "info", "stats").stdout
	value := func(name string) int64 {
		found := regexp.MustCompile(name + `:(\d+)`).FindStringSubmatch(info)
		if found == nil {
			t.Fatalf("no %s in %s", name, info)
		}
		n, err := strconv.ParseInt(found[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return value("total_net_input_bytes"), value("total_net_output_bytes")
}
