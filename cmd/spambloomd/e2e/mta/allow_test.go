package mta

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The fields prepended by policyd-spf in Postfix are above the fields of the mail, where
// spambloomd reads. The line of contrib/policy.md for header_checks removes every field
// that spambloomd would trust, before it reaches a milter.
func TestResultsThroughPostfix(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	path := filepath.Join(s.Dir, "spambloom.toml")
	config, err := os.ReadFile(path)
	testenv.Check(t, err)
	harness.Write(t, path, harness.Overlay(string(config), `
[milter]
authserv_id = "mx1.example.org"
[[allow]]
name = "proven"
from = ["example.net"]
`))
	s.Start()
	body := harness.Text()
	plain := harness.StartPostfix(t, "one", s.Milter)
	expectAllowed(t, plain.Send(harness.Message(body)), false)
	forged := []string{
		"Authentication-Results: mx1.example.org; dmarc=pass header.from=example.net",
		"authentication-results:   MX1.example.org 1; dmarc=pass header.from=example.net",
		"Authentication-Results:\r\n\tmx1.example.org;\r\n\tdmarc=pass header.from=example.net",
		"Authentication-Results : mx1.example.org; dmarc=pass header.from=example.net",
	}
	for _, field := range forged { // otherwise the test below shows nothing
		expectAllowed(t, plain.Send(harness.Message(body, field)), true)
	}

	checked := harness.NewPostfix(t)
	checks := filepath.Join(checked.Dir, "etc/ar_checks")
	harness.Write(t, checks, harness.PageBlock(t, "policy.md", "/^Authentication-Results"))
	checked.Extra = "header_checks = regexp:" + checks + "\n"
	checked.Start("one", "inet:"+s.Milter, "n")
	kept := "Authentication-Results: mx.elsewhere.example; dmarc=pass header.from=example.net"
	for _, field := range forged {
		d := checked.Send(harness.Message(body, field, kept))
		expectAllowed(t, d, false)
		if got := d.Header["Authentication-Results"]; len(got) != 1 || !strings.Contains(kept, got[0]) {
			t.Errorf("after %q: %q", field, got)
		}
	}

	policed := harness.NewPostfix(t)
	policed.Extra = "smtpd_recipient_restrictions = check_recipient_access static:" +
		"{PREPEND Authentication-Results: mx1.example.org; spf=pass (sender SPF authorized) smtp.mailfrom=example.net (client-ip=192.0.2.7; envelope-from=someone@example.net)}\n"
	policed.Start("one", "inet:"+s.Milter, "n")
	expectAllowed(t, policed.Send(harness.Message(body)), true)
}

func expectAllowed(t *testing.T, d *harness.Delivered, allowed bool) {
	t.Helper()
	verdict, fields := d.Verdict(t)
	if got := verdict == "allowed" && fields["reason"] == "allow:proven"; got != allowed || !allowed && fields["count"] == "" {
		t.Errorf("%s %v, allowed: want %v", verdict, fields, allowed)
	}
}
