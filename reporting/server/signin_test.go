package server

import (
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/credential"
	"github.com/spambloom/spambloom/reporting/server/guesses"
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

// After ten wrong tokens an address waits, whatever it sends; others do not.
func TestSignInGuesses(t *testing.T) {
	token, line, err := credential.NewToken("helpdesk")
	if err != nil {
		t.Fatal(err)
	}
	f := serveRemote(t, func(f *remoteServer) { f.tokensFile(t, line) })
	for range guesses.Most {
		if _, _, err := f.remote.SignIn("guess", addressOf("2001:db8::1")); statusOf(err) != http.StatusForbidden {
			t.Errorf("a guess: %v", err)
		}
	}
	if _, _, err := f.remote.SignIn(token, addressOf("2001:db8::2")); statusOf(err) != http.StatusTooManyRequests {
		t.Errorf("the right token from the same network: %v", err)
	}
	if _, _, err := f.remote.SignIn(token, addressOf("2001:db8:1::2")); err != nil {
		t.Errorf("the right token from elsewhere: %v", err)
	}
}
