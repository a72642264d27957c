package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/emersion/go-smtp"
)

// The fifth copy is put off; a real Postfix comes again with it, and then it passes and
// is not counted again. A client sees 451 once, also when it then sends a copy to each
// recipient alone. A reload switches it off.
func TestGreylistRetryPasses(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	s.configure(t, "[bulk]", "[bulk]\ngreylist = true")
	s.start()
	p := startPostfix(t, "one", s.milter)
	away := relaying(t, p)

	body := text()
	for n := range 4 {
		expectVerdict(t, p.send(message(body)), "clean", n+1, "one")
	}
	relayed := away.begin()
	relayed.write(message(body))
	relayed.p = p // where it is delivered in the end
	expectVerdict(t, relayed.end(), "clean", 5, "one")
	if log := away.log(); !strings.Contains(log, "451 4.7.1 Try again later: greylist") || !strings.Contains(log, "status=deferred") {
		t.Errorf("it was not put off:\n%s", log)
	}
	expectGreylisted(t, s, 1, 1)

	again := message(body, "X-Copy: same")
	switch err := p.offer(again, "other@example.net"); {
	case err == nil || err.Code != 451 || err.EnhancedCode != smtp.EnhancedCode{4, 7, 1}:
		t.Errorf("another sender's copy: %v, want 451 4.7.1", err)
	case p.offer(again, "other@example.net") != nil:
		t.Error("its retry is refused")
	}
	if err := p.offer(again, "third@example.net", "you@example.test", "me@example.test"); err == nil || err.Code != 451 {
		t.Errorf("a third sender's copy to two: %v, want 451", err)
	}
	for _, alone := range []string{"me@example.test", "you@example.test"} {
		if err := p.offer(again, "third@example.net", alone); err != nil {
			t.Errorf("its retry to %s alone: %v", alone, err)
		}
	}
	expectGreylisted(t, s, 3, 4)
	if r := s.cli("status"); !strings.Contains(r.stdout, "deferred messages of the last 4h0m0s") {
		t.Errorf("status does not show what is remembered:\n%s", r.stdout)
	}

	s.configure(t, "greylist = true", "greylist = false")
	s.reload(t, `"msg":"reloaded"`)
	if err := p.offer(again, "fourth@example.net"); err != nil {
		t.Errorf("put off after it was switched off: %v", err)
	}
}

// offer hands a mail over by SMTP, to you@example.test where no other is named, and
// returns the answer to its data, nil for yes.
func (p *postfix) offer(mail, sender string, recipients ...string) *smtp.SMTPError {
	p.t.Helper()
	c, err := smtp.Dial(p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	if recipients == nil {
		recipients = []string{"you@example.test"}
	}
	err = c.SendMail(sender, recipients, strings.NewReader(mail))
	var refused *smtp.SMTPError
	if err != nil && !errors.As(err, &refused) {
		p.t.Fatal(err)
	}
	return refused
}

// expectGreylisted holds the metric against what is wanted.
func expectGreylisted(t *testing.T, s *site, deferred, returned int) {
	t.Helper()
	_, metrics := s.get("/metrics")
	for result, n := range map[string]int{"deferred": deferred, "returned": returned} {
		if want := fmt.Sprintf("spambloom_greylisted_total{result=%q} %d\n", result, n); !strings.Contains(metrics, want) {
			t.Errorf("/metrics has no %q", want)
		}
	}
}
