package settings

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// The protocol has no passwords, so only this machine may be listened on.
func TestSpamdAddresses(t *testing.T) {
	for _, test := range []struct{ listen, fault string }{
		{`"unix:/run/spambloom/spamd.sock"`, ""},
		{`"inet:783@127.0.0.1", "inet6:783@[::1]", "inet:784@localhost"`, ""},
		{`"inet:783@192.0.2.1"`, `address "inet:783@192.0.2.1": want unix:PATH, or a loopback address`},
		{`"inet:783@0.0.0.0"`, "want unix:PATH, or a loopback address"},
		{`"spamd.sock"`, "want inet:PORT@HOST"},
		{`"inet:8899@127.0.0.1"`, "is already an address of milter.listen"},
	} {
		_, err := configured(t, "[spamd]\nlisten = ["+test.listen+"]\n")
		if (err == nil) != (test.fault == "") || err != nil && (!strings.Contains(err.Error(), test.fault) || !strings.Contains(err.Error(), "spamd.listen")) {
			t.Errorf("%s: %v, want %q", test.listen, err, test.fault)
		}
	}
}

// A policy may name a listener of this protocol, and its connections are part of the
// memory and threads that -t prints.
func TestSpamdIsPartOfTheSite(t *testing.T) {
	const on = "[spamd]\nlisten = [\"unix:/run/spambloom/spamd.sock\"]\nmax_connections = 100\n"
	without, err := configured(t, "")
	testenv.Check(t, err)
	with, err := configured(t, on+"[[policy]]\nname = \"door\"\nlisteners = [\"unix:/run/spambloom/spamd.sock\"]\nbulk_threshold = 100\n")
	testenv.Check(t, err)
	before, err := without.MostMemory()
	testenv.Check(t, err)
	after, err := with.MostMemory()
	testenv.Check(t, err)
	if more := after - before; more < 100*160<<10 || more > 100*320<<10 {
		t.Errorf("%d bytes more for 100 connections", more)
	}
	if more := with.MostTasks() - without.MostTasks(); more != 100 {
		t.Errorf("%d threads more for 100 connections", more)
	}
}
