package doctor

import (
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloom/mta"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A user may connect if every folder may be entered, and the socket may be written.
func TestMayConnect(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to look with another user's eyes")
	const name = "nobody"
	if _, err := user.Lookup(name); err != nil {
		t.Skip(err)
	}
	dir := testenv.Dir(t)
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	for _, c := range []struct {
		folder, socket os.FileMode
		state, want    string
	}{
		{0o755, 0o666, ok, "may connect"},
		{0o755, 0o660, warning, "may not connect"},
		{0o700, 0o666, warning, "may not enter"},
	} {
		if err := os.Chmod(path, c.socket); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, c.folder); err != nil {
			t.Fatal(err)
		}
		if r := mayConnect(name, path); r.State != c.state || !strings.Contains(r.Text, c.want) {
			t.Errorf("%o %o: %+v", c.folder, c.socket, r)
		}
	}
	os.Chmod(dir, 0o755)
	if r := mayConnect(name, filepath.Join(dir, "none")); r.State != warning {
		t.Errorf("no socket: %+v", r)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if r := mayConnect(name, file); r.State != warning || !strings.Contains(r.Text, "is no socket") {
		t.Errorf("a file: %+v", r)
	}
}

// The daemon is found among the milters by its socket, also from within a chroot.
func TestOurMilter(t *testing.T) {
	p := &patient{config: config.Default()}
	p.facts.Milter = []string{"unix:/q/x/m.sock", "inet:8899@127.0.0.1"}
	for spec, want := range map[mta.Milter]bool{
		{Spec: "unix:x/m.sock", Path: "/q/x/m.sock"}:                           true,
		{Spec: "inet:localhost:8899"}:                                          true,
		{Spec: "inet:localhost:8891"}:                                          false,
		{Spec: "unix:other", Path: "/q/other"}:                                 false,
		{Spec: "unix:spambloom/milter.sock", Path: "/q/spambloom/milter.sock"}: true, // systemd's
	} {
		if p.isOurs(spec) != want {
			t.Errorf("%+v: %v", spec, !want)
		}
	}
}

// The output of INFO shows a Redis that would lose records.
func TestPersistence(t *testing.T) {
	results := persistence("# Persistence\r\naof_enabled:0\r\n# Memory\r\nmaxmemory_policy:allkeys-lru\r\n")
	if len(results) != 3 {
		t.Fatalf("%+v", results)
	}
	if results = persistence("aof_enabled:1\r\nmaxmemory_policy:noeviction\r\n"); len(results) != 1 || !strings.Contains(results[0].Text, "more rights") {
		t.Errorf("%+v", results)
	}
	if total := totalMemory("MemFree: 1 kB\nMemTotal:       16333764 kB\n"); total != 16333764<<10 {
		t.Error(total)
	}
}
