package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What policyd-spf prepends in Postfix stands above the fields of the mail, where
// spambloomd looks; and the line of contrib/policy.md for header_checks takes every
// field off that spambloomd would believe, before it comes to a milter.
func TestResultsThroughPostfix(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	path := filepath.Join(s.dir, "spambloom.toml")
	config, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, overlay(string(config), `
[milter]
authserv_id = "mx1.example.org"
[[allow]]
name = "proven"
from = ["example.net"]
`))
	s.start()
	body := text()
	plain := startPostfix(t, "one", s.milter)
	expectAllowed(t, plain.send(message(body)), false)
	forged := []string{
		"Authentication-Results: mx1.example.org; dmarc=pass header.from=example.net",
		"authentication-results:   MX1.example.org 1; dmarc=pass header.from=example.net",
		"Authentication-Results:\r\n\tmx1.example.org;\r\n\tdmarc=pass header.from=example.net",
		"Authentication-Results : mx1.example.org; dmarc=pass header.from=example.net",
	}
	for _, field := range forged { // else the test below shows nothing
		expectAllowed(t, plain.send(message(body, field)), true)
	}

	checked := newPostfix(t)
	checks := filepath.Join(checked.dir, "etc/ar_checks")
	write(t, checks, pageBlock(t, "policy.md", "/^Authentication-Results"))
	checked.extra = "header_checks = regexp:" + checks + "\n"
	checked.start("one", "inet:"+s.milter, "n")
	kept := "Authentication-Results: mx.elsewhere.example; dmarc=pass header.from=example.net"
	for _, field := range forged {
		d := checked.send(message(body, field, kept))
		expectAllowed(t, d, false)
		if got := d.header["Authentication-Results"]; len(got) != 1 || !strings.Contains(kept, got[0]) {
			t.Errorf("after %q: %q", field, got)
		}
	}

	policed := newPostfix(t)
	policed.extra = "smtpd_recipient_restrictions = check_recipient_access static:" +
		"{PREPEND Authentication-Results: mx1.example.org; spf=pass (sender SPF authorized) smtp.mailfrom=example.net (client-ip=192.0.2.7; envelope-from=someone@example.net)}\n"
	policed.start("one", "inet:"+s.milter, "n")
	expectAllowed(t, policed.send(message(body)), true)
}

func expectAllowed(t *testing.T, d *delivered, allowed bool) {
	t.Helper()
	verdict, fields := d.verdict(t)
	if got := verdict == "allowed" && fields["reason"] == "allow:proven"; got != allowed || !allowed && fields["count"] == "" {
		t.Errorf("%s %v, allowed: want %v", verdict, fields, allowed)
	}
}
