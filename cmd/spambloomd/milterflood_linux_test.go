package main

import (
	"fmt"
	"net"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter"
)

// offer is the first packet of an MTA: version 6, and every action.
const offer = "\x00\x00\x00\x0dO\x00\x00\x00\x06\x00\x00\x01\xff\x00\x00\x00\x00"

// TestMilterFlood is the attack "milter flood": a local user opens connections to the milter's
// TCP port until it is refused, and keeps them open. The MTA, which is another user, is served.
func TestMilterFlood(t *testing.T) {
	testenv.Root(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	const perClient = 20
	s := milter.NewServer(nil, milter.Options{Site: "mx1", MaxConnections: 4 * perClient, MaxConnectionsPerClient: perClient, UserOf: tcpUser})
	served := make(chan error, 1)
	go func() { served <- s.Serve("listener", ln) }()
	defer func() {
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		<-served
	}()
	accepted := make(chan int)
	release := make(chan struct{})
	go asUser(64022, func() {
		n := 0
		for range 6 * perClient {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				continue
			}
			defer conn.Close()
			if offered(conn) == nil {
				n++
			}
		}
		accepted <- n
		<-release
	})
	if n := <-accepted; n != perClient {
		t.Errorf("%d connections of one user, limit %d", n, perClient)
	}
	mta := make(chan error)
	go asUser(64023, func() {
		for i := range perClient {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err == nil {
				defer conn.Close()
				err = offered(conn)
			}
			if err != nil {
				mta <- fmt.Errorf("connection %d of the MTA: %w", i, err)
				return
			}
		}
		mta <- nil
	})
	if err := <-mta; err != nil {
		t.Error(err)
	}
	close(release)
}

// offered begins a session, and waits for the milter's answer.
func offered(conn net.Conn) error {
	if _, err := conn.Write([]byte(offer)); err != nil {
		return err
	}
	_, err := conn.Read(make([]byte, 64))
	return err
}
