package federation

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// Two sites continue while Redis is down, and agree after it has returned.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	key := filepath.Join(testenv.Dir(t), "key")
	a, b := harness.NewSite(t, "a", key, redis.URL()).Start(), harness.NewSite(t, "b", key, redis.URL()).Start()
	pa, pb := harness.StartPostfix(t, "a", a.Milter), harness.StartPostfix(t, "b", b.Milter)
	away := 4 * time.Second
	if testenv.Soak() {
		away = time.Minute
	}
	seen := harness.Text() // by both sites, before, during and after
	traffic := func(p *harness.Postfix, s *harness.Site) (reported string) {
		p.Send(harness.Message(seen))
		reported = harness.Text()
		if _, err := client.Post(t.Context(), s.Client(), v1.Report, harness.Request(reported)); err != nil {
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
	redis.Stop()
	for end := time.Now().Add(away); time.Now().Before(end); {
		both()
	}
	during := rounds
	redis.Start()
	back := time.Now()
	both()
	for _, s := range []*harness.Site{a, b} {
		testenv.Eventually(t, "site "+s.Name+" counts all sightings", func() bool { return s.Check(t, seen).Count == uint64(2*rounds) })
		for body := range reports {
			testenv.Eventually(t, "site "+s.Name+" lists all reports", func() bool { return s.Check(t, body).Verdict == "spam" })
		}
	}
	t.Logf("%d mails and reports while Redis was away for %v; agreed %v after it came back",
		2*(during-1), away, time.Since(back).Round(time.Millisecond))
	harness.ExpectVerdict(t, pa.Send(harness.Message(seen)), bulkFrom(2*rounds+1), 2*rounds+1, "a")
}

// bulkFrom returns the verdict on an unreported message with that count.
func bulkFrom(count int) string {
	if count >= 50 { // threshold of the sites
		return "bulk"
	}
	return "clean"
}
