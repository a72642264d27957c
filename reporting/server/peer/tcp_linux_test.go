package peer

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// The kernel names the user of a connection as long as its process holds it. Afterwards it says
// root, which must not be believed.
func TestUserOf(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Skip(err) // no IPv6 here
		}
		client, served := connect(t, ln)
		for _, conn := range []net.Conn{client, served} {
			if uid, ok := UserOf(conn); !ok || uid != os.Getuid() {
				t.Errorf("%s: user %d, %v, want %d", address, uid, ok, os.Getuid())
			}
		}
		testenv.Check(t, client.(*net.TCPConn).CloseWrite())
		if uid, ok := UserOf(served); !ok || uid != os.Getuid() {
			t.Errorf("%s: after the end of its sending: user %d, %v, want %d", address, uid, ok, os.Getuid())
		}
		client.Close()
		if uid, ok := UserOf(served); ok {
			t.Errorf("%s: a closed connection has user %d", address, uid)
		}
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, ok := UserOf(a); ok {
		t.Error("a pipe has a user")
	}
}

// TestUserOfBoundSocket is the attack "a device of one's own": every user may bind a socket to an interface, and the
// kernel finds it only where it is asked about that one.
func TestUserOfBoundSocket(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Skip(err) // no IPv6 here
		}
		defer ln.Close()
		bound := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
			var fault error
			err := c.Control(func(fd uintptr) { fault = unix.BindToDevice(int(fd), "lo") })
			return errors.Join(err, fault)
		}}
		client, err := bound.Dial("tcp", ln.Addr().String())
		testenv.Check(t, err)
		defer client.Close()
		served, err := ln.Accept()
		testenv.Check(t, err)
		defer served.Close()
		if uid, ok := UserOf(served); !ok || uid != os.Getuid() {
			t.Errorf("%s: user %d, %v, want %d", address, uid, ok, os.Getuid())
		}
	}
}

// connect returns both ends of a connection to a listener. They are closed when the test ends.
func connect(t *testing.T, ln net.Listener) (client, served net.Conn) {
	t.Helper()
	client, err := net.Dial("tcp", ln.Addr().String())
	testenv.Check(t, err)
	served, err = ln.Accept()
	testenv.Check(t, err)
	t.Cleanup(func() { ln.Close(); client.Close(); served.Close() })
	return client, served
}

// TestUserWhoLeaves is the attack "half a connection": a user sends a request and closes, before the
// kernel is asked. The place would be counted for nobody, so there is none.
func TestUserWhoLeaves(t *testing.T) {
	for linger, how := range map[int]string{-1: "closed", 0: "reset"} {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		testenv.Check(t, err)
		client, served := connect(t, ln)
		_, err = client.Write([]byte("PROCESS"))
		testenv.Check(t, err)
		testenv.Check(t, client.(*net.TCPConn).SetLinger(linger))
		client.Close()
		if uid, ok := UserOf(served); ok {
			t.Errorf("%s: it has user %d", how, uid)
		}
		if n, err := served.Read(make([]byte, 10)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s: the request is read: %d bytes, %v", how, n, err)
		}
	}
}

// TestUserOfOwnAddresses is the attack "own addresses": a connection between two addresses of this
// machine is one of its users, not of another machine.
func TestUserOfOwnAddresses(t *testing.T) {
	ln, err := net.Listen("tcp", ":0")
	testenv.Check(t, err)
	defer ln.Close()
	own, asked := ownAddresses(t), 0
	for _, from := range own {
		for _, to := range own {
			to.Port = ln.Addr().(*net.TCPAddr).Port
			if (from.IP.To4() == nil) != (to.IP.To4() == nil) || from.Zone != to.Zone { // a link-local address is reached from its own link
				continue
			}
			client, err := net.DialTCP("tcp", &from, &to)
			testenv.Check(t, err)
			served, err := ln.Accept()
			testenv.Check(t, err)
			if served.RemoteAddr().String() == client.LocalAddr().String() { // docker changes the address of its bridge
				asked++
				if uid, ok := UserOf(served); !ok || uid != os.Getuid() {
					t.Errorf("from %v to %v: user %d, %v, want %d", &from, &to, uid, ok, os.Getuid())
				}
			}
			served.Close()
			client.Close()
		}
	}
	if len(own) > 0 && asked == 0 {
		t.Error("every address of this machine is changed on the way to it")
	}
}

// ownAddresses returns the addresses of this machine by which others reach it.
func ownAddresses(t *testing.T) (own []net.TCPAddr) {
	t.Helper()
	interfaces, err := net.Interfaces()
	testenv.Check(t, err)
	for _, i := range interfaces {
		addresses, err := i.Addrs()
		testenv.Check(t, err)
		for _, a := range addresses {
			n, ok := a.(*net.IPNet)
			if !ok || i.Flags&net.FlagUp == 0 || n.IP.IsLoopback() {
				continue
			}
			address := net.TCPAddr{IP: n.IP}
			if n.IP.IsLinkLocalUnicast() {
				address.Zone = i.Name
			}
			own = append(own, address)
		}
	}
	return own
}
