package spamd_test

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/spamd"
)

// An ordinary user proves no sender over TCP, except from the address of an MTA. On a unix socket its mode decides.
func TestUserProvesNothing(t *testing.T) {
	const proved = "Authentication-Results: mx1; dkim=pass header.d=example.org\n" + mail
	for _, test := range []struct {
		network, mta string
		want         bool
	}{{"tcp", "192.0.2.1/32", true}, {"tcp", "127.0.0.0/8", false}, {"unix", "192.0.2.1/32", false}} {
		judged := make(chan milter.Judgement, 1)
		s := start(t, milter.Options{
			AuthservID: "mx1", CountNetworks: []netip.Prefix{netip.MustParsePrefix(test.mta)}, Judged: func(j milter.Judgement) { judged <- j },
		}, spamd.Options{UserOf: func(net.Conn) (string, bool) { return "nobody", true }})
		address := s.path
		if test.network == "tcp" {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			testenv.Check(t, err)
			go func() { _ = s.spamd.Serve("tcp", ln) }() // it ends with that of start
			address = ln.Addr().String()
		}
		c, err := net.Dial(test.network, address)
		testenv.Check(t, err)
		_, err = fmt.Fprint(c, command("CHECK SPAMC/1.5", proved))
		testenv.Check(t, err)
		_, err = io.ReadAll(c)
		testenv.Check(t, err)
		c.Close()
		if j := <-judged; j.IsUsers != test.want || (j.From == "") != test.want {
			t.Errorf("%s, MTA at %s: judgement of %q, a user's %v, want %v", test.network, test.mta, j.From, j.IsUsers, test.want)
		}
	}
}
