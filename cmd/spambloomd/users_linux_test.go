package main

import (
	"net"
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// The user of a TCP connection is ordinary from number 1000 on, so nobody is, too. Mail servers connect as root or a
// daemon's user.
func TestOrdinaryUsers(t *testing.T) {
	testenv.Root(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	defer ln.Close()
	for uid, want := range map[int]bool{0: false, 105: false, 999: false, 1000: true, 65534: true, 100_000: true} {
		dialled, release := make(chan error), make(chan struct{})
		go asUser(uid, func() {
			conn, err := net.Dial("tcp", ln.Addr().String())
			dialled <- err
			<-release
			if err == nil {
				conn.Close()
			}
		})
		testenv.Check(t, <-dialled)
		conn, err := ln.Accept()
		testenv.Check(t, err)
		name, inMilter := tcpUser(conn)
		spamdName, inSpamd := peerName(conn)
		if name == "" || spamdName == "" || inMilter != want || inSpamd != want {
			t.Errorf("user %d: %q is ordinary: %v, %q: %v, want %v", uid, name, inMilter, spamdName, inSpamd, want)
		}
		conn.Close()
		close(release)
	}
	if isOrdinary(os.Geteuid()) {
		t.Error("the daemon's own user is ordinary")
	}
}
