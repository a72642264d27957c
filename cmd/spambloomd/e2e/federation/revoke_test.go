package federation

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// varied returns a text with some words replaced: another copy of a campaign.
func varied(text string) string {
	lines := strings.SplitAfter(text, "\r\n")
	for i := range lines {
		if i%3 == 1 {
			lines[i] = strings.Replace(lines[i], " ", " unforeseen ", 1)
		}
	}
	return strings.Join(lines, "")
}

// A revocation at one site makes a message clean on all of them, including its
// near-duplicates that were neither reported nor revoked.
func TestRevocationActsOnAllSites(t *testing.T) {
	t.Parallel()
	sites := startHosts(t, harness.StartRedis(t), "mx1", "mx2", "mx3")
	var took []time.Duration
	for i := range 9 { // each site reports three times
		reported := harness.Text()
		copies := []api.Request{harness.Request(reported), harness.Request(varied(reported))}
		reporter, revoker := sites[i%3], sites[(i+1)%3]
		if _, err := client.Post(t.Context(), reporter, v1.Report, copies[0]); err != nil {
			t.Fatal(err)
		}
		for _, site := range sites {
			for _, copy := range copies {
				testenv.Eventually(t, "the message and its near-duplicate are spam", func() bool { return harness.Verdict(t, site, copy) == "spam" })
			}
		}
		begin := time.Now()
		if _, err := client.Post(t.Context(), revoker, v1.Revoke, copies[0]); err != nil {
			t.Fatal(err)
		}
		var asking sync.WaitGroup
		times := make([]time.Duration, len(sites)*len(copies))
		for s, site := range sites {
			for c, copy := range copies {
				asking.Go(func() {
					for time.Since(begin) < testenv.Patience && harness.Verdict(t, site, copy) != "clean" {
						time.Sleep(2 * time.Millisecond) // between two checks
					}
					times[s*len(copies)+c] = time.Since(begin)
				})
			}
		}
		asking.Wait()
		took = append(took, times...)
	}
	t.Logf("revocation at one site until clean at each: %s", harness.Quantiles(took))
	bound := testenv.Patience
	if harness.Figures { // without the race detector and other load
		bound = 2 * time.Second
	}
	for _, d := range took {
		if d >= bound {
			t.Errorf("a message was still spam after %v", d)
		}
	}
}
