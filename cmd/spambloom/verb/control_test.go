package verb

import (
	"errors"
	"net"
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

// A daemon run by hand is found in the current folder if it belongs to the user. One of
// another user is ignored.
func TestOthersDaemonIsNotAsked(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("STATE_DIRECTORY", "")
	testenv.Check(t, os.Mkdir("spambloom-data", 0o755))
	ln, err := net.Listen("unix", "spambloom-data/spambloom.sock")
	testenv.Check(t, err)
	defer ln.Close()
	daemon, err := (&CLI{}).DialTo("")
	testenv.Check(t, err)
	daemon.Close()
	testenv.Root(t)
	testenv.Check(t, os.Chown("spambloom-data", 65534, 65534))
	if daemon, err = (&CLI{}).DialTo(""); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("another user's daemon is asked: %v", err)
		daemon.Close()
	}
}
