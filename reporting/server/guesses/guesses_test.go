package guesses

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// After ten wrong tokens an address waits for a minute; others do not. The table of addresses is
// bounded.
func TestGuesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &Guesses{}
		for range Most {
			if !g.Allow("192.0.2.1") {
				t.Error("refused before the tenth wrong token")
			}
			g.Add("192.0.2.1")
			time.Sleep(time.Second)
		}
		if g.Allow("192.0.2.1") || !g.Allow("192.0.2.2") {
			t.Error("after ten wrong tokens the address may go on, or another one may not")
		}
		time.Sleep(Period - Most*time.Second)
		if !g.Allow("192.0.2.1") {
			t.Error("refused after a minute")
		}
		g.Add("192.0.2.1")
		if !g.Allow("192.0.2.1") {
			t.Error("a new minute begins with the old wrong tokens")
		}
		time.Sleep(time.Second) // of addresses that are equally old, any is replaced
		for i := range 3 * maxAddresses {
			g.Add(net.IPv4(10, 0, byte(i>>8), byte(i)).String())
		}
		if len(g.of) != maxAddresses || g.of["192.0.2.1"].n != 0 {
			t.Errorf("%d addresses are kept", len(g.of))
		}
	})
}
