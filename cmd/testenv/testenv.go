// Package testenv is what the tests of all packages share: what a machine must
// have for a test to run, how long a test waits, and folders and ports of its own.
// It starts no server and knows nothing of spambloom.
//
// A test asks for what it needs in its first lines:
//
//	redis := testenv.Program(t, "redis-server")   // a real server: skips in -short
//	testenv.Root(t)                               // skips where the test is not root
//
// A test whose need is not met is skipped with the line "needs NAME". The runner
// (cmd/internal/suite) counts these lines by name at the end of a run. With
// SPAMBLOOM_REQUIRE=all, as in CI, such a test fails instead.
//
// Waits have one bound, Patience. It is no assertion about speed: a test waits for
// an event (a line in a log, a file, an answer) and asks again until it comes.
// Figures belong to benchmarks.
package testenv

import (
	"cmp"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Patience bounds every wait of every test. Only a defect reaches it.
const Patience = 3 * time.Minute

// tick is the shortest pause between two questions of Eventually. A question takes at most a quarter of
// the time, so that one who waits leaves the processor to what is waited for.
const tick = 10 * time.Millisecond

// Eventually asks until the answer is yes, and fails the test after Patience. Only
// the test's own goroutine may call it.
func Eventually(t testing.TB, what string, ask func() bool) {
	t.Helper()
	if !Becomes(ask) {
		t.Fatalf("still not true after %v: %s", Patience, what)
	}
}

// Becomes is Eventually for goroutines and cleanups: it reports whether the answer
// was yes within Patience.
func Becomes(ask func() bool) bool {
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		begin := time.Now()
		if ask() {
			return true
		}
		select {
		case <-time.After(max(tick, 3*time.Since(begin))): // a question may be a program
		case <-deadline.C:
			return ask()
		}
	}
}

// Receive returns the next value of a channel, and fails the test after Patience.
// The value is zero if the channel is closed.
func Receive[T any](t testing.TB, what string, from <-chan T) T {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	select {
	case v := <-from:
		return v
	case <-deadline.C:
		t.Fatalf("still waiting after %v: %s", Patience, what)
		panic("unreachable")
	}
}

// Need skips the test unless ok, or fails it where everything is required. The
// name is short and the same for the same need, for example "root" or "IPv6".
func Need(t testing.TB, ok bool, name string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("SPAMBLOOM_REQUIRE") == "all" {
		t.Fatalf("needs %s", name)
	}
	t.Skipf("needs %s", name)
}

// Servers skips the test in -short: it runs real servers, mounts file systems, or
// takes long by nature.
func Servers(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a run without -short")
	}
}

// Program returns the path of a program beside Go, and calls Servers. Debian keeps
// some in folders that are not in a user's PATH.
func Program(t testing.TB, name string) string {
	t.Helper()
	Servers(t)
	path := find(name)
	Need(t, path != "", name)
	return path
}

func find(name string) string {
	for _, candidate := range []string{name, "/usr/sbin/" + name, "/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	return ""
}

// Root skips the test where it does not run as root.
func Root(t testing.TB) {
	t.Helper()
	Need(t, os.Geteuid() == 0, "root")
}

// Corpus returns the path of an archive in the folder shared/corpora beside the
// repository, from a package that lies as deep in the repository as dots says.
func Corpus(t testing.TB, repository, name string) string {
	t.Helper()
	path := repository + "/../shared/corpora/" + name
	_, err := os.Stat(path)
	Need(t, err == nil, "mail: shared/corpora/"+name)
	return path
}

// Unpacked returns the folder in which make tools puts a mail server that Debian does not
// install beside Postfix: SPAMBLOOM_EXIM for exim, or its place in the cache.
func Unpacked(name string) string {
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = "/nonexistent"
	}
	return cmp.Or(os.Getenv("SPAMBLOOM_"+strings.ToUpper(name)), filepath.Join(cache, "spambloom", name))
}

// longestDir leaves room for the name of a unix socket, whose path has at most 107
// bytes on Linux.
const longestDir = 60

// Dir returns a folder like that of t.TempDir, but one which other users, such as
// Postfix' own, may enter whatever the umask is, and whose path has no blanks and
// is short enough for a unix socket.
func Dir(t testing.TB) string {
	t.Helper()
	parent := os.TempDir()
	if len(parent) > longestDir || strings.ContainsAny(parent, " \t") || !isOpen(parent) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "sb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Log(err) // a process of a failed test may still write
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// isOpen reports whether everybody may enter a folder, and those above it.
func isOpen(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// HasIPv6 reports whether ::1 can be used.
func HasIPv6() bool {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		return false
	}
	ln.Close()
	return true
}
