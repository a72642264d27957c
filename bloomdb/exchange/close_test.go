package exchange_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"

	"github.com/spambloom/spambloom/bloomdb/exchange/linkfault"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The ways in which Redis can be unreachable. Each returns an address.
var absences = map[string]func(t *testing.T) string{
	// Nothing listens.
	"refuses": func(t *testing.T) string { return testenv.Local(testenv.Port(t)) },
	// The connection is established, and nothing is received.
	"hangs": func(t *testing.T) string { return startFaulty(t, linkfault.Fault{Stall: true}) },
	// The connection is established, and closed at once.
	"hangs up": func(t *testing.T) string { return startFaulty(t, linkfault.Fault{Refuse: true}) },
	// The connection is not even established.
	"swallows": startBlackHole,
}

func startFaulty(t *testing.T, fault linkfault.Fault) string {
	link, _ := startLinkTo(t, miniredis.RunT(t), "")
	link.Set(fault)
	return link.Addr()
}

// startBlackHole returns an address whose packets are dropped. The kernel does so if a
// listener does not accept and its queue is full.
func startBlackHole(t *testing.T) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	testenv.Check(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	testenv.Check(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	testenv.Check(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	testenv.Check(t, err)
	address := testenv.Local(name.(*syscall.SockaddrInet4).Port)
	for range 8 {
		c, err := net.DialTimeout("tcp", address, 100*time.Millisecond)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the queue is never full")
	return ""
}

// brief makes the pool dial by itself after the first failure. Its timeout for answers is short,
// because Run returns no earlier.
const brief = "pool_size=1&read_timeout=500ms&write_timeout=500ms"

// A daemon stopped while Redis is unreachable leaves no goroutine of the client, for every
// kind of client and at any time.
func TestCloseWhileRedisIsAway(t *testing.T) {
	testenv.Servers(t)
	var urls []string
	for _, start := range absences {
		address := start(t)
		for _, format := range []string{"redis://%[1]s?", "redis://%[1]s,%[1]s?", "redis://%[1]s,%[1]s?master_name=m&", "rediss://%[1]s?"} {
			urls = append(urls, fmt.Sprintf(format, address)+brief+"&min_idle_conns=1")
		}
	}
	rounds := 1
	if testenv.Soak() {
		rounds = 100
	}
	for range rounds {
		var stopped sync.WaitGroup
		for i, url := range urls {
			s := startSite(t, t.TempDir(), fmt.Sprintf("site%d", i), url)
			stopped.Go(func() {
				time.Sleep(rand.N(400 * time.Millisecond)) // in the middle of any work
				s.stop()
			})
		}
		stopped.Wait()
		expectNoClient(t)
	}
}

// The same holds if Redis was reachable and is killed or hangs: goroutines then serve a
// pool, the nodes of a cluster and a sentinel.
func TestCloseWhenRedisIsGone(t *testing.T) {
	testenv.Servers(t)
	var stopped sync.WaitGroup
	for _, format := range []string{"redis://%[1]s?", "redis://%[1]s,%[1]s?", "redis://%[1]s,%[1]s?master_name=m&"} {
		for _, fault := range []linkfault.Fault{{}, {Refuse: true}, {Stall: true}, {StallDown: true}} {
			m := miniredis.RunT(t)
			link, url := startLinkTo(t, m, format)
			s := startSite(t, t.TempDir(), "a", url+brief)
			stopped.Go(func() {
				if !testenv.Becomes(func() bool { return s.x.Status().Connected }) {
					t.Errorf("%s is never connected: %s", url, s.x.Status().LastError)
				}
				link.Set(fault)
				if fault.Refuse {
					m.Close()
					link.Reset()
				}
				time.Sleep(rand.N(400 * time.Millisecond)) // in the middle of any work
				s.stop()
			})
		}
	}
	stopped.Wait()
	expectNoClient(t)
}

// startLinkTo puts a proxy before a server, which also answers as a sentinel that monitors
// it.
func startLinkTo(t *testing.T, m *miniredis.Miniredis, format string) (link *linkfault.Proxy, url string) {
	t.Helper()
	link, err := linkfault.Start("tcp", m.Addr())
	testenv.Check(t, err)
	t.Cleanup(link.Close)
	err = m.Server().Register("SENTINEL", func(peer *miniserver.Peer, _ string, args []string) {
		if !strings.EqualFold(args[0], "get-master-addr-by-name") {
			peer.WriteLen(0) // no other sentinels
			return
		}
		host, port, _ := net.SplitHostPort(link.Addr())
		peer.WriteStrings([]string{host, port})
	})
	testenv.Check(t, err)
	return link, fmt.Sprintf(format, link.Addr())
}

// expectNoClient fails if a goroutine of the library is left. It must run alone.
func expectNoClient(t *testing.T) {
	t.Helper()
	buf := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "github.com/redis/go-redis/") {
			t.Errorf("goroutine left:\n%s", stack)
		}
	}
}
