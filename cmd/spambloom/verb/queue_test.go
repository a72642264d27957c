package verb

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestQueueFolder(t *testing.T) {
	me, err := user.Current()
	testenv.Check(t, err)
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
		if got, err := QueueFolder(); err != nil || got != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
	t.Setenv("SPAMBLOOM_QUEUE", "queue")
	if got, err := QueueFolder(); Code(err) != Usage {
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
		testenv.Check(t, os.Chown(own, 65534, 65534))
		if isOwnFolder(own) {
			t.Error("another user's folder is ours")
		}
	}
}

// TestTakenQueue is the attack "taken queue": a member of the group makes the folders of other users
// in the folder for queues. Each user still has a queue, and keeps it.
func TestTakenQueue(t *testing.T) {
	testenv.Root(t)
	dir := t.TempDir()
	own := filepath.Join(dir, "0")
	take := func(names ...string) {
		for _, name := range names {
			path := filepath.Join(dir, name)
			testenv.Check(t, errors.Join(os.Mkdir(path, 0o755), os.Chown(path, 65534, 65534)))
		}
	}
	take("00", "01.0")
	if got := serviceQueue(dir); got != own {
		t.Fatalf("free: %s", got)
	}
	take("0", "0.1", "0.2", "0.x")
	testenv.Check(t, os.Symlink(t.TempDir(), filepath.Join(dir, "0.3")))
	want := filepath.Join(dir, "0.4")
	if got := serviceQueue(dir); got != want {
		t.Fatalf("taken: %s, want %s", got, want)
	}
	testenv.Check(t, os.Mkdir(want, 0o700)) // as the first report does
	testenv.Check(t, os.Remove(own))        // the administrator tidies up
	if got := serviceQueue(dir); got != want {
		t.Errorf("with a queue in %s: %s", want, got)
	}
}
