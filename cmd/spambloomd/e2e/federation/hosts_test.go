package federation

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

// startHosts starts daemons with distinct names, one key and one Redis.
func startHosts(t *testing.T, redis *harness.Redis, names ...string) (clients []*client.Client) {
	t.Helper()
	key := filepath.Join(testenv.Dir(t), "key")
	for _, name := range names {
		clients = append(clients, harness.NewSite(t, name, key, redis.URL()).Start().Client())
	}
	return clients
}

// The mail exchangers of one site are ordinary members, each with its own name: a report on
// one of them affects all.
func TestReportActsOnAllHosts(t *testing.T) {
	t.Parallel()
	hosts := startHosts(t, harness.StartRedis(t), "mx1", "mx2", "mx3")
	var took []time.Duration
	for i := range 9 { // each host reports three times
		others := slices.Concat(hosts[:i%3], hosts[i%3+1:])
		took = append(took, harness.Spread(t, hosts[i%3], others, harness.Request(harness.Text()))...)
	}
	t.Logf("report on one host until spam on another: %s", harness.Quantiles(took))
}
