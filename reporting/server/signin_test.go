package server

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/credential"
)

func addressOf(host string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(host), Port: 1000} }

func statusOf(err error) int {
	var problem *api.Problem
	if errors.As(err, &problem) {
		return problem.Status
	}
	return 0
}

// A token signs its client in at the page, until it is removed from the file. The log names no
// token.
func TestSignIn(t *testing.T) {
	token, line, err := credential.NewToken("helpdesk")
	if err != nil {
		t.Fatal(err)
	}
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, line) })
	from := addressOf("127.0.0.1")
	name, holds, err := f.remote.SignIn(token, from)
	if err != nil || name != "helpdesk" || !holds() || !f.remote.HasTokens() {
		t.Fatalf("%q, %v", name, err)
	}
	for _, wrong := range []string{"", token + "x", token[:len(token)-1], line} {
		if name, _, err := f.remote.SignIn(wrong, from); statusOf(err) != http.StatusForbidden || name != "" {
			t.Errorf("a wrong token signs in %q: %v", name, err)
		}
	}
	if log := f.log.String(); !strings.Contains(log, "remote client refused") || strings.Contains(log, token[:len(token)-1]) {
		t.Errorf("log %q", log)
	}
	f.tokensFile(t, "# none")
	if err := f.remote.Reload(f.options); err != nil {
		t.Fatal(err)
	}
	if holds() || f.remote.HasTokens() {
		t.Error("a removed token still holds")
	}
	if name, _, err := f.remote.SignIn(token, from); err == nil {
		t.Errorf("a removed token signs in %q", name)
	}
}

// Wrong tokens lock nobody out: all browsers of this machine, of a proxy and of a tunnel have one
// address, so any user of the machine would keep all clients from signing in.
func TestWrongTokensLockNobodyOut(t *testing.T) {
	token, line, err := credential.NewToken("helpdesk")
	if err != nil {
		t.Fatal(err)
	}
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, line) })
	for range 100 {
		if _, _, err := f.remote.SignIn("guess", addressOf("127.0.0.1")); statusOf(err) != http.StatusForbidden {
			t.Fatalf("a guess: %v", err)
		}
	}
	if name, _, err := f.remote.SignIn(token, addressOf("127.0.0.1")); err != nil || name != "helpdesk" {
		t.Errorf("the right token after the guesses of another user: %q, %v", name, err)
	}
	if n := strings.Count(f.log.String(), "remote client refused"); n != 1 {
		t.Errorf("%d lines in the log, want one a minute", n)
	}
}
