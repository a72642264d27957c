package main

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/signature"
)

// soak is set for a long run by hand.
var soak = os.Getenv("SPAMBLOOM_SOAK") != ""

// A daemon that is killed while users report loses no report that it has
// acknowledged.
func TestKillLosesNoReport(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	rounds := 6
	if soak {
		rounds = 60
	}
	var acknowledged []reporting.Request
	for round := range rounds {
		s.start()
		expectListed(t, s, acknowledged)
		acknowledged = append(acknowledged, s.reportUntilKilled(t, 30+20*(round%6))...)
	}
	s.start()
	expectListed(t, s, acknowledged)
	t.Logf("%d kills, %d reports acknowledged and found", rounds, len(acknowledged))
	if code := s.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.log())
	}
}

// reportUntilKilled reports from four clients at once, kills the daemon in the
// middle of it, when about so many reports are acknowledged, and returns those.
func (s *site) reportUntilKilled(t *testing.T, enough int) (acknowledged []reporting.Request) {
	t.Helper()
	client := s.client()
	var mu sync.Mutex
	var reporters sync.WaitGroup
	for range 4 {
		reporters.Go(func() {
			for {
				r := request(text())
				if _, err := client.Report(t.Context(), r); err != nil {
					return // killed
				}
				mu.Lock()
				acknowledged = append(acknowledged, r)
				mu.Unlock()
			}
		})
	}
	eventually(t, "reports are acknowledged", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged) >= enough
	})
	if code := s.stop(syscall.SIGKILL); code != -1 {
		t.Errorf("the daemon ended by itself with %d:\n%s", code, s.log())
	}
	reporters.Wait()
	return acknowledged
}

// request is a message's signatures as the command would send them.
func request(body string) reporting.Request {
	return reporting.NewRequest(signature.Compute(signature.Parse([]byte(message(body)))))
}

// expectListed asks for each message.
func expectListed(t *testing.T, s *site, reported []reporting.Request) {
	t.Helper()
	client := s.client()
	lost := 0
	for _, r := range reported {
		answer, err := client.Check(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Verdict != "spam" {
			lost++
		}
	}
	if lost > 0 {
		t.Errorf("%d of %d acknowledged reports are lost", lost, len(reported))
	}
}

// Two sites go on while Redis is away, and agree after it has come back.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	key := filepath.Join(folder(t), "key")
	a, b := newSite(t, "a", key, redis.url()).start(), newSite(t, "b", key, redis.url()).start()
	pa, pb := startPostfix(t, "a", a.milter), startPostfix(t, "b", b.milter)
	away := 4 * time.Second
	if soak {
		away = time.Minute
	}
	seen := text() // by both sites, before, while and after
	traffic := func(p *postfix, s *site) (reported string) {
		p.send(message(seen))
		reported = text()
		if _, err := s.client().Report(t.Context(), request(reported)); err != nil {
			t.Fatal(err)
		}
		return reported
	}
	reports, rounds := map[string]bool{}, 0
	both := func() {
		rounds++
		reports[traffic(pa, a)] = true
		reports[traffic(pb, b)] = true
	}
	both()
	redis.stop()
	for end := time.Now().Add(away); time.Now().Before(end); {
		both()
	}
	during := rounds
	redis.start()
	back := time.Now()
	both()
	for _, s := range []*site{a, b} {
		eventually(t, "site "+s.name+" counts all sightings", func() bool { return s.check(t, seen).Count == uint64(2*rounds) })
		for body := range reports {
			eventually(t, "site "+s.name+" knows all reports", func() bool { return s.check(t, body).Verdict == "spam" })
		}
	}
	t.Logf("%d mails and reports while Redis was away for %v; agreed %v after it came back",
		2*(during-1), away, time.Since(back).Round(time.Millisecond))
	expectVerdict(t, pa.send(message(seen)), bulkFrom(2*rounds+1), 2*rounds+1, "a")
}

// bulkFrom is the verdict on an unreported message seen so often.
func bulkFrom(count int) string {
	if count >= 50 { // threshold of smallConfig
		return "bulk"
	}
	return "clean"
}
