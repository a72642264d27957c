package mta

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The fifth copy is deferred. A real Postfix retries it; then it passes and is not counted
// again. A client gets 451 only once, even if it then sends a copy to each recipient
// separately. A reload switches greylisting off.
func TestGreylistRetryPasses(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, "[bulk]", "[bulk]\ngreylist = true")
	s.Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	away := harness.Relaying(t, p)

	body := harness.Text()
	for n := range 4 {
		harness.ExpectVerdict(t, p.Send(harness.Message(body)), "clean", n+1, "one")
	}
	relayed := away.Begin()
	relayed.Write(harness.Message(body))
	relayed.Close()
	var returned *harness.Delivered
	away.Drive("the mail is delivered by a retry", func() bool {
		returned = p.Find(relayed.Token)
		return returned != nil
	})
	harness.ExpectVerdict(t, returned, "clean", 5, "one")
	if log := away.Log(); !strings.Contains(log, "451 4.7.1 Try again later: greylist") || !strings.Contains(log, "status=deferred") {
		t.Errorf("it was not deferred:\n%s", log)
	}
	expectGreylisted(t, s, 1, 1)

	again := harness.Message(body, "X-Copy: same")
	switch err := p.Offer(again, "other@example.net"); {
	case err == nil || err.Code != 451 || err.EnhancedCode != smtp.EnhancedCode{4, 7, 1}:
		t.Errorf("another sender's copy: %v, want 451 4.7.1", err)
	case p.Offer(again, "other@example.net") != nil:
		t.Error("its retry is refused")
	}
	if err := p.Offer(again, "third@example.net", "you@example.test", "me@example.test"); err == nil || err.Code != 451 {
		t.Errorf("a third sender's copy to two: %v, want 451", err)
	}
	for _, alone := range []string{"me@example.test", "you@example.test"} {
		if err := p.Offer(again, "third@example.net", alone); err != nil {
			t.Errorf("its retry to %s alone: %v", alone, err)
		}
	}
	expectGreylisted(t, s, 3, 4)
	if r := s.CLI("status", "--all"); !strings.Contains(r.Stdout, "deferred messages of the last 4h0m0s") {
		t.Errorf("status does not show what is remembered:\n%s", r.Stdout)
	}

	s.Configure(t, "greylist = true", "greylist = false")
	s.Reload(t, `"msg":"reloaded"`)
	if err := p.Offer(again, "fourth@example.net"); err != nil {
		t.Errorf("deferred after greylisting was switched off: %v", err)
	}
}

// expectGreylisted compares the metric with the expected value.
func expectGreylisted(t *testing.T, s *harness.Site, deferred, returned int) {
	t.Helper()
	_, metrics := s.Get("/metrics")
	for result, n := range map[string]int{"deferred": deferred, "returned": returned} {
		if want := fmt.Sprintf("spambloom_greylisted_total{result=%q} %d\n", result, n); !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no %q", want)
		}
	}
}
