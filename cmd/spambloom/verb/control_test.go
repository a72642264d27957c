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
	if err := os.Mkdir("spambloom-data", 0o755); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", "spambloom-data/spambloom.sock")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	daemon, err := (&CLI{}).DialTo("")
	if err != nil {
		t.Fatal(err)
	}
	daemon.Close()
	testenv.Root(t)
	if err := os.Chown("spambloom-data", 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if daemon, err = (&CLI{}).DialTo(""); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("another user's daemon is asked: %v", err)
		daemon.Close()
	}
}
