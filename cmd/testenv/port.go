package testenv

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/gofrs/flock"
)

// Ports are taken from below those that Linux gives to clients
// (net.ipv4.ip_local_port_range begins at 32,768).
const (
	firstPort = 10_000
	ports     = 20_000
)

// Port returns a TCP port of this machine on which nobody listens, and keeps it for
// the test: no other test takes it, in this process or another, until this one has
// ended. The test may start, stop and restart servers on it.
func Port(t testing.TB) int {
	t.Helper()
	dir := filepath.Join(os.TempDir(), "spambloom-test-ports-"+strconv.Itoa(os.Geteuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for range ports {
		port := firstPort + rand.IntN(ports)
		// The kernel drops the lock with its process. The empty file stays: removing it
		// would let two processes lock two files of one name.
		lock := flock.New(filepath.Join(dir, strconv.Itoa(port)))
		if mine, err := lock.TryLock(); err != nil {
			t.Fatalf("lock of port %d: %v", port, err)
		} else if !mine {
			continue
		}
		if isFree(port) {
			t.Cleanup(func() { _ = lock.Unlock() }) // it can only be unlocked already
			return port
		}
		_ = lock.Unlock() // as above
	}
	t.Fatal("no free port found")
	return 0
}

// isFree reports whether a server could listen on the port, on every address.
func isFree(port int) bool {
	ln, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		return false
	}
	ln.Close()
	return true
}

// Local returns the TCP address of a port on this machine.
func Local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
