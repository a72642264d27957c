package door_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/milter/door"
)

// remoteConn is a connection with a given remote address, and that of a unix socket here.
type remoteConn struct {
	net.Conn
	addr net.Addr
}

func (c remoteConn) RemoteAddr() net.Addr { return c.addr }
func (c remoteConn) LocalAddr() net.Addr  { return &net.UnixAddr{Name: "/run/milter"} }

// A listener for both families reports an IPv4 address as an IPv6 one.
func TestClient(t *testing.T) {
	for remote, want := range map[string]string{
		"192.0.2.1:25": "192.0.2.1", "[::ffff:192.0.2.1]:26": "192.0.2.1", "[2001:db8::1]:25": "2001:db8::/64", "[2001:db8::2:1]:25": "2001:db8::/64", "[fe80::1%eth0]:25": "fe80::/64",
		"127.0.0.1:1": "loopback", "127.3.2.1:2": "loopback", "[::1]:3": "loopback", "[::ffff:127.0.0.2]:4": "loopback",
	} {
		conn := remoteConn{addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(remote))}
		if got, isUser := door.Client(conn, func(net.Conn) (string, bool) { return "", false }, nil); got != want || isUser {
			t.Errorf("%s is %s, want %s, a user: %v", remote, got, want, isUser)
		}
	}
	if got, isUser := door.Client(remoteConn{addr: &net.UnixAddr{Name: "@"}}, nil, nil); got != "/run/milter" || isUser {
		t.Errorf("a unix socket is %q, a user: %v", got, isUser)
	}
}

// An ordinary user of this machine is no MTA on a TCP port, unless its address is one.
func TestUserIsNoMTA(t *testing.T) {
	tcp := net.TCPAddrFromAddrPort(netip.MustParseAddrPort("[::ffff:127.0.0.1]:4"))
	isMTA := func(addr netip.Addr) bool { return addr == netip.MustParseAddr("127.0.0.1") }
	for _, test := range []struct {
		name       string
		remote     net.Addr
		isOrdinary bool
		isMTA      func(netip.Addr) bool
		want       bool
	}{
		{"an ordinary user", tcp, true, nil, true},
		{"a daemon's user", tcp, false, nil, false},
		{"at the address of an MTA", tcp, true, isMTA, false},
		{"on a unix socket", &net.UnixAddr{Name: "@"}, true, nil, false},
	} {
		userOf := func(net.Conn) (string, bool) { return "uid:7", test.isOrdinary }
		if got, isUser := door.Client(remoteConn{addr: test.remote}, userOf, test.isMTA); got != "uid:7" || isUser != test.want {
			t.Errorf("%s is %s, no MTA: %v", test.name, got, isUser)
		}
	}
}

// Connections are bounded in all and for each client. A released one makes room for another.
func TestAdmit(t *testing.T) {
	d := door.New()
	limits := door.Limits{Connections: 3, PerClient: 2}
	admit := func(client, refused string) *door.Conn {
		t.Helper()
		c, r := d.Admit(remoteConn{}, client, limits)
		if (c == nil) != (refused != "") || r != nil && r.Reason != refused {
			t.Errorf("client %s: admitted %v, refused %+v, want %q", client, c != nil, r, refused)
		}
		return c
	}
	first := admit("a", "")
	admit("a", "")
	admit("a", door.ReasonClient)
	other := admit("b", "")
	admit("c", door.ReasonConnections)
	first.Release()
	admit("a", "")
	other.Release()
	limits.PerClient = 0
	admit("a", "")
	if n := d.Connections(); n != 3 {
		t.Errorf("%d connections, want 3", n)
	}
}

// Two clients, who may be one person, leave places for a third, whichever came first. A limit above
// half of all places is the administrator's word.
func TestClientsLeavePlaces(t *testing.T) {
	d := door.New()
	fill := func(client string, l door.Limits) (n int) {
		for {
			if _, refused := d.Admit(remoteConn{}, client, l); refused != nil {
				return n
			}
			n++
		}
	}
	l := door.Limits{Connections: 200, PerClient: 100}
	for i, want := range []int{100, 50, 25, 12} {
		if n := fill(string(rune('a'+i)), l); n != want {
			t.Errorf("client %d has %d places, want %d", i, n, want)
		}
	}
	l.PerClient = 150
	if n := fill("e", l); n != 13 {
		t.Errorf("%d places, want all 13", n)
	}
}

// Shutdown closes listeners at once, idle connections after the grace, and busy ones that are silent after
// three seconds more. It waits for other busy ones and for work until its context ends, and then cuts the connections.
func TestShutdown(t *testing.T) {
	for _, c := range []struct {
		name     string
		patience time.Duration
		// after which the connection is closed
		idle, busy, silent time.Duration
		work, waiting      time.Duration // how long the work lasts, and Shutdown
		want               error
	}{
		{"all in time", time.Minute, 2 * time.Second, 0, 5 * time.Second, 10 * time.Second, 10 * time.Second, nil},
		{"nothing to wait for", time.Minute, 2 * time.Second, 0, 5 * time.Second, 0, 5 * time.Second, nil},
		{"cut", 3 * time.Second, 2 * time.Second, 3 * time.Second, 3 * time.Second, 0, 3 * time.Second, context.DeadlineExceeded},
		{"cut before the grace ends", time.Second, time.Second, time.Second, time.Second, 0, time.Second, context.DeadlineExceeded},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, begun := door.New(), time.Now()
				// open returns when the connection was closed, or 0 if it ended by itself after ends.
				open := func(isBusy, hasBegun bool, ends time.Duration) (closed *time.Duration) {
					near, _ := net.Pipe()
					conn, refused := d.Admit(near, "", door.Limits{Connections: 9})
					if refused != nil {
						t.Fatalf("refused %+v", refused)
					}
					conn.Busy.Store(isBusy)
					conn.Begun.Store(hasBegun)
					conn.SetReadDeadline(begun.Add(ends))
					closed = new(time.Duration)
					go func() {
						defer conn.Release()
						if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
							*closed = time.Since(begun)
						}
					}()
					return closed
				}
				idle, busy, silent := open(false, false, time.Hour), open(true, true, 5*time.Second), open(true, false, time.Hour)
				if c.work > 0 {
					if !d.Begin() {
						t.Fatal("no work before Shutdown")
					}
					d.Go(func() { time.Sleep(c.work); d.End() })
				}
				synctest.Wait()
				ctx, cancel := context.WithTimeout(t.Context(), c.patience)
				defer cancel()
				if err := d.Shutdown(ctx, 2*time.Second); !errors.Is(err, c.want) {
					t.Errorf("error %v, want %v", err, c.want)
				}
				if took := time.Since(begun); took != c.waiting {
					t.Errorf("took %v, want %v", took, c.waiting)
				}
				if *idle != c.idle || *busy != c.busy || *silent != c.silent {
					t.Errorf("closed after %v, %v and %v, want idle %v, busy %v, silent %v", *idle, *busy, *silent, c.idle, c.busy, c.silent)
				}
				if _, refused := d.Admit(remoteConn{}, "", door.Limits{Connections: 9}); d.Begin() || d.Enter(nil) || d.Connections() != 0 || refused != nil {
					t.Error("something begins after Shutdown")
				}
			})
		})
	}
}
