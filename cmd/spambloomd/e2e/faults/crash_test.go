package faults

import (
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// A daemon killed while users report loses no acknowledged report.
func TestKillLosesNoReport(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	rounds := 6
	if testenv.Soak() {
		rounds = 60
	}
	var acknowledged []api.Request
	for round := range rounds {
		s.Start()
		harness.ExpectListed(t, s, acknowledged)
		acknowledged = append(acknowledged, reportUntilKilled(s, t, 30+20*(round%6))...)
	}
	s.Start()
	harness.ExpectListed(t, s, acknowledged)
	t.Logf("%d kills, %d reports acknowledged and found", rounds, len(acknowledged))
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
}

// reportUntilKilled reports from four clients at once, kills the daemon after about that
// many acknowledged reports, and returns those.
func reportUntilKilled(s *harness.Site, t *testing.T, enough int) (acknowledged []api.Request) {
	t.Helper()
	daemon := s.Client()
	var mu sync.Mutex
	var reporters sync.WaitGroup
	for range 4 {
		reporters.Go(func() {
			for {
				r := harness.Request(harness.Text())
				if _, err := client.Post(t.Context(), daemon, v1.Report, r); err != nil {
					return // killed
				}
				mu.Lock()
				acknowledged = append(acknowledged, r)
				mu.Unlock()
			}
		})
	}
	testenv.Eventually(t, "reports are acknowledged", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(acknowledged) >= enough
	})
	if code := s.Stop(syscall.SIGKILL); code != -1 {
		t.Errorf("the daemon ended by itself with %d:\n%s", code, s.Log())
	}
	reporters.Wait()
	return acknowledged
}
