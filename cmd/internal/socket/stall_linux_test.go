package socket

import (
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// connect connects a client to a listener of this package. The connections are closed with the test.
func connect(t *testing.T) (conn *net.TCPConn, client net.Conn) {
	t.Helper()
	ln, err := Listen("127.0.0.1:0", 0, "")
	testenv.Check(t, err)
	t.Cleanup(func() { ln.Close() })
	client, err = net.Dial("tcp", ln.Addr().String())
	testenv.Check(t, err)
	t.Cleanup(func() { client.Close() })
	accepted, err := ln.Accept()
	testenv.Check(t, err)
	t.Cleanup(func() { accepted.Close() })
	return accepted.(*net.TCPConn), client
}

// The kernel ends connections whose other end reads nothing, and drops what was sent.
func TestConnectionsEndThatAreNotRead(t *testing.T) {
	conn, _ := connect(t)
	raw, err := conn.SyscallConn()
	testenv.Check(t, err)
	testenv.Check(t, raw.Control(func(fd uintptr) {
		if got, err := unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); err != nil || got != 10_000 {
			t.Errorf("the timeout of a connection: %d ms, %v", got, err)
		}
	}))
	if is, err := conn.MultipathTCP(); is || err != nil {
		t.Errorf("Multipath TCP: %v, %v", is, err)
	}
}

// A client sends more than is read. The kernel keeps only a bounded part of the rest, also after much
// was read.
func TestUnreadBytesAreBounded(t *testing.T) {
	conn, client := connect(t)
	const read = 8 << 20
	sent := make(chan error, 1)
	go func() {
		_, err := client.Write(make([]byte, 5*read))
		sent <- err
	}()
	_, err := io.CopyN(io.Discard, conn, read)
	testenv.Check(t, err)
	raw, err := conn.SyscallConn()
	testenv.Check(t, err)
	testenv.Check(t, raw.Control(func(fd uintptr) {
		if got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF); err != nil || got > 2*maxReceived {
			t.Errorf("the kernel keeps up to %d bytes, want %d: %v", got, 2*maxReceived, err)
		}
		if got, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil || got > 2*maxSent {
			t.Errorf("the kernel keeps up to %d bytes of an answer, want %d: %v", got, 2*maxSent, err)
		}
	}))
	conn.Close()
	if err := <-sent; err == nil {
		t.Error("all was sent, and not read")
	}
}
