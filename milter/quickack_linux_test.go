package milter

import (
	"net"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/protocol"
)

// Sendmail writes a packet in two pieces. Without quick acknowledgement the second waits
// some 40 ms for that of the first.
func TestQuickAck(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer ln.Close()
	client, err := net.Dial("tcp", ln.Addr().String())
	testenv.Check(t, err)
	defer client.Close()
	nc, err := ln.Accept()
	testenv.Check(t, err)
	defer nc.Close()
	raw, err := nc.(*net.TCPConn).SyscallConn()
	testenv.Check(t, err)
	quick := func() (on int) {
		raw.Control(func(fd uintptr) { on, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK) })
		testenv.Check(t, err)
		return on
	}
	off := func() { // like the kernel when it detects request and response traffic
		raw.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_QUICKACK, 0) })
	}
	c := newConn(&door.Conn{Conn: nc}, NewServer(nil, Options{}))
	if off(); err != nil || quick() != 0 {
		t.Skipf("TCP_QUICKACK cannot be turned off here: %v", err)
	}
	client.Write(packet('Q', ""))
	if c.await(stageIdle, (*Options).idle, protocol.Head); quick() != 1 {
		t.Error("no quick acknowledgement before a read that waits")
	}
}
