package milter

import (
	"net"
	"sync/atomic"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// byUser lets all who connect be one ordinary user while it is true, and else the MTA.
type byUser struct{ atomic.Bool }

func (u *byUser) of(net.Conn) (user string, isOrdinary bool) {
	if u.Load() {
		return "uid:65534", true
	}
	return "uid:105", false
}

// TestUserChoosesNoNetwork is the attack "a network of his choice": a local user names a firm's network and sender
// with messages beyond their turn. They set back that user only, and his own address is no help to him.
func TestUserChoosesNoNetwork(t *testing.T) {
	oneProcessor(t)
	var user byUser
	b := start(t, Options{UserOf: user.of}, nil)
	knownSpam(t, b)
	end := spinning(b)
	defer end()
	user.Store(true)
	w := attacker(t, b, "198.51.100.1", "sender@example.org", styleSheetBomb(100_000))
	w.send('E', "")
	testenv.Eventually(t, "the message is beyond its turn", func() bool { return b.Load().Overtime == 1 })
	if n := b.Load().SetBack; n != 2 {
		t.Errorf("%d are set back, want the user and his network", n)
	}
	user.Store(false)
	expectSpam(t, b, "198.51.100.9")
	attacker(t, b, "198.51.100.9", "other@example.org", styleSheetBomb(100_001)).send('E', "")
	testenv.Eventually(t, "the firm's expensive message has its turn", func() bool { return b.Load().Overtime == 2 })
	end()
	testenv.Eventually(t, "all are answered", func() bool { return len(b.lines()) == 3 })
}
