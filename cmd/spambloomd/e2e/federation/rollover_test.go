package federation

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// Real daemons and a real Redis in the middle of a roll-over: a has the old key, b both, c
// the new one. Reports by a and c affect b, and reports by b affect both. The earlier data
// of b is kept.
func TestRolloverOfDaemons(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	old, fresh := harness.KeyFile(t, [32]byte{1}), harness.KeyFile(t, [32]byte{2})
	a, b, c := harness.NewSite(t, "a", old, redis.URL()), harness.NewSite(t, "b", old, redis.URL()), harness.NewSite(t, "c", fresh, redis.URL())
	a.Start()
	b.Start()
	c.Start()
	before := harness.Request(harness.Text())
	b.MustReport(t, before)
	b.Stop(syscall.SIGTERM)
	oldLine, previousLine := fmt.Sprintf("federation_key = %q", old), fmt.Sprintf("previous_federation_key = %q", old)
	b.Configure(t, oldLine, fmt.Sprintf("federation_key = %q\n%s", fresh, previousLine))
	b.Start()
	harness.ExpectListed(t, b, []api.Request{before})

	byA, byB, byC := harness.Request(harness.Text()), harness.Request(harness.Text()), harness.Request(harness.Text())
	a.MustReport(t, byA)
	b.MustReport(t, byB)
	c.MustReport(t, byC)
	for _, s := range []struct {
		*harness.Site
		knows []api.Request
	}{{a, []api.Request{before, byA, byB}}, {b, []api.Request{before, byA, byB, byC}}, {c, []api.Request{byB, byC}}} {
		for _, r := range s.knows {
			testenv.Eventually(t, s.Name+" receives a report", func() bool { return s.Lists(t, r) })
		}
	}
	if _, err := client.Post(t.Context(), b.Client(), v1.Revoke, byB); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*harness.Site{a, b, c} {
		testenv.Eventually(t, s.Name+" receives a revocation", func() bool { return !s.Lists(t, byB) })
	}

	b.Stop(syscall.SIGTERM)
	b.Configure(t, previousLine, "")
	b.Start()
	harness.ExpectListed(t, b, []api.Request{byC})
	if !strings.Contains(b.Log(), "may be removed") {
		t.Error("no site reports that the old state may be removed")
	}
	for _, s := range []*harness.Site{a, b, c} {
		if code := s.Stop(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d\n%s", code, s.Log())
		}
	}
}

// Another daemon uses b's name under the previous key only, so sites that have only that key do not
// receive b's reports. b says so, and exchanges under the new key.
func TestIntruderUnderPreviousKeyIsShown(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	old, fresh := harness.KeyFile(t, [32]byte{1}), harness.KeyFile(t, [32]byte{2})
	intruder, b, c := harness.NewSite(t, "b", old, redis.URL()), harness.NewSite(t, "b", fresh, redis.URL()), harness.NewSite(t, "c", fresh, redis.URL())
	freshLine := fmt.Sprintf("federation_key = %q", fresh)
	b.Configure(t, freshLine, fmt.Sprintf("%s\nprevious_federation_key = %q", freshLine, old))
	b.Start()
	c.Start()
	byB := harness.Request(harness.Text())
	b.MustReport(t, byB)
	testenv.Eventually(t, "b has published", func() bool { return c.Lists(t, byB) && b.Ready() })
	intruder.Start()
	intruder.MustReport(t, harness.Request(harness.Text()))
	const want = "exchange: Redis: other: under the previous federation key: "
	testenv.Eventually(t, "b names the intruder", func() bool {
		b.MustReport(t, harness.Request(harness.Text()))
		_, state := b.Get("/readyz")
		return strings.Contains(state, want) && strings.Contains(state, "another daemon publishes under this site's name")
	})
	last := harness.Request(harness.Text())
	b.MustReport(t, last)
	testenv.Eventually(t, "the new key's exchange goes on", func() bool { return c.Lists(t, last) })
}
