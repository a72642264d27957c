package testenv

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every port is another one while its test runs, and free for a server that is
// started twice.
func TestPort(t *testing.T) {
	seen := map[int]bool{}
	for range 50 {
		port := Port(t)
		if seen[port] {
			t.Fatalf("port %d twice", port)
		}
		seen[port] = true
		for range 2 {
			ln, err := net.Listen("tcp", Local(port))
			if err != nil {
				t.Fatal(err)
			}
			ln.Close()
		}
	}
}

// A port is given again when its test has ended, and one that somebody uses is not
// free.
func TestPortIsGivenBack(t *testing.T) {
	for range 200 { // of 20,000: some would stay locked
		t.Run("", func(t *testing.T) { Port(t) })
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if isFree(ln.Addr().(*net.TCPAddr).Port) {
		t.Error("a port that is in use is free")
	}
}

// A folder is open to other users and fits a socket, wherever TMPDIR points.
func TestDir(t *testing.T) {
	for _, parent := range []string{t.TempDir(), filepath.Join(t.TempDir(), "with a blank"), filepath.Join(t.TempDir(), strings.Repeat("long", 20))} {
		if err := os.MkdirAll(parent, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("TMPDIR", parent)
		dir := Dir(t)
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o755 || strings.Contains(dir, " ") {
			t.Errorf("%s has mode %v", dir, info.Mode())
		}
		ln, err := net.Listen("unix", filepath.Join(dir, strings.Repeat("s", 30)))
		if err != nil {
			t.Fatal(err)
		}
		ln.Close()
	}
}

// Debian's folders for servers are searched whatever PATH has.
func TestFind(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	if path := find("no-such-program"); path != "" {
		t.Errorf("found %s", path)
	}
	entries, err := os.ReadDir("/usr/sbin")
	Need(t, err == nil && len(entries) > 0, "/usr/sbin")
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			if want := "/usr/sbin/" + e.Name(); find(e.Name()) != want {
				t.Errorf("found %q, want %s", find(e.Name()), want)
			}
			return
		}
	}
}

func TestBecomes(t *testing.T) {
	asked := 0
	if !Becomes(func() bool { asked++; return asked == 3 }) || asked != 3 {
		t.Errorf("asked %d times", asked)
	}
}
