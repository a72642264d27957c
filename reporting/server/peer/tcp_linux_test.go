package peer

import (
	"net"
	"os"
	"testing"

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
		defer ln.Close()
		client, err := net.Dial("tcp", ln.Addr().String())
		testenv.Check(t, err)
		served, err := ln.Accept()
		testenv.Check(t, err)
		defer served.Close()
		for _, conn := range []net.Conn{client, served} {
			if uid, ok := UserOf(conn); !ok || uid != os.Getuid() {
				t.Errorf("%s: user %d, %v, want %d", address, uid, ok, os.Getuid())
			}
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
