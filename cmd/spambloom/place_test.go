package main

import (
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/client"
)

func TestQueueFolder(t *testing.T) {
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir()
	state := func(home string) string { return filepath.Join(home, ".local", "state", "spambloom", "queue") }
	byAccount := state(me.HomeDir)
	if !isOwnFolder(me.HomeDir) {
		byAccount = state(own)
	}
	for _, c := range []struct{ name, queue, xdg, home, want string }{
		{"named", "/srv/queue", "/srv/state", own, "/srv/queue"},
		{"state folder", "", "/srv/state", own, "/srv/state/spambloom/queue"},
		{"relative state folder", "", "state", own, byAccount},
		{"home", "", "", own, byAccount}, // Dovecot sets HOME to that of a virtual user
	} {
		t.Setenv("SPAMBLOOM_QUEUE", c.queue)
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("HOME", c.home)
		if got, err := queueFolder(); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	t.Setenv("SPAMBLOOM_QUEUE", "queue")
	if got, err := queueFolder(); verb.Code(err) != verb.Usage {
		t.Errorf("a relative path: %s, %v", got, err)
	}

	// Users without a home folder, such as services.
	for _, home := range []string{"", "relative", "/nonexistent"} {
		if isOwnFolder(home) {
			t.Errorf("%q is a folder of ours", home)
		}
	}
	if got := folderIn("", "/nonexistent"); got != "/var/spool/spambloom/"+strconv.Itoa(os.Geteuid()) {
		t.Errorf("without a home: %s", got)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(own, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if isOwnFolder(own) {
			t.Error("another user's folder is ours")
		}
	}
}

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
	daemon, err := (&cli{}).dialTo("")
	if err != nil {
		t.Fatal(err)
	}
	daemon.Close()
	testenv.Root(t)
	if err := os.Chown("spambloom-data", 65534, 65534); err != nil {
		t.Fatal(err)
	}
	if daemon, err = (&cli{}).dialTo(""); !errors.Is(err, client.ErrUnavailable) {
		t.Errorf("another user's daemon is asked: %v", err)
		daemon.Close()
	}
}
