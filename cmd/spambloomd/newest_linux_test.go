package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/spambloomd/newest"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestPageFlood is the attack "page flood": a user opens 3,000 connections to the page's port as
// fast as it is served, and keeps them open. No health check of root fails, and none of another
// user, who has one connection at a time.
func TestPageFlood(t *testing.T) {
	testenv.Root(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	_, handler := monitored(t)
	s := &http.Server{Handler: handler}
	served := make(chan error, 1)
	go func() { served <- s.Serve(newest.Listen(ln, maxHTTP)) }()
	defer func() { s.Close(); <-served }()

	const checks = 50
	checked := make(chan string, 2)
	flooding := make(chan struct{})
	for _, uid := range []int{0, 64020} {
		go asUser(uid, func() {
			<-flooding
			for i := range checks {
				if err := healthCheck(ln.Addr().String()); err != nil {
					checked <- fmt.Sprintf("user %d: check %d: %v", uid, i, err)
					return
				}
			}
			checked <- ""
		})
	}
	ended := make(chan struct{})
	go asUser(64021, func() {
		defer close(ended)
		for i := range 3000 {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			if i == 2*maxHTTP {
				close(flooding)
			}
		}
	})
	for range 2 {
		if fault := <-checked; fault != "" {
			t.Error(fault)
		}
	}
	<-ended
}

// TestRequestsOfClosedConnections is the attack "pile": a user sends requests that take long, each on
// a connection of its own, faster than they are answered. The listener closes all but the newest of
// the connections, and few requests are at work at a time. Another user is served meanwhile.
func TestRequestsOfClosedConnections(t *testing.T) {
	testenv.Root(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	const most = 4
	var atWork atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/healthz" {
			return
		}
		atWork.Add(1)
		begun <- struct{}{}
		<-release
	})}
	served := make(chan error, 1)
	go func() { served <- s.Serve(newest.Listen(ln, most)) }()
	defer func() { s.Close(); <-served }()

	sent := make(chan struct{})
	go asUser(64021, func() {
		defer close(sent)
		for range 25 * most {
			conn, err := net.Dial("tcp", ln.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n") // it may be refused
			closed := make(chan struct{})
			go func() { defer close(closed); conn.Read(make([]byte, 1)) }()
			select {
			case <-begun:
			case <-closed:
			}
		}
	})
	<-sent
	checked := make(chan error, 1)
	go asUser(64020, func() { checked <- healthCheck(ln.Addr().String()) })
	if err := <-checked; err != nil {
		t.Errorf("another user: %v", err)
	}
	if n := atWork.Load(); n != 2*most {
		t.Errorf("%d requests are at work, want %d", n, 2*most)
	}
	close(release)
}

// TestUnreadAnswer: the kernel keeps nothing for a visitor whose connection was closed for a newer one.
func TestUnreadAnswer(t *testing.T) {
	testenv.Root(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	s := &http.Server{Handler: http.NotFoundHandler()}
	served := make(chan error, 1)
	go func() { served <- s.Serve(newest.Listen(ln, 1)) }()
	defer func() { s.Close(); <-served }()
	ended := make(chan error, 1)
	go asUser(64021, func() {
		var conns [2]net.Conn
		for i := range conns {
			if conns[i], err = net.Dial("tcp", ln.Addr().String()); err != nil {
				ended <- err
				return
			}
			defer conns[i].Close()
			fmt.Fprint(conns[i], "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		_, err := io.ReadAll(conns[0])
		ended <- err
	})
	if err := <-ended; !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the older connection ends with %v", err)
	}
}

// healthCheck asks for /healthz on a connection of its own.
func healthCheck(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET /healthz HTTP/1.0\r\nHost: 127.0.0.1:8898\r\n\r\n"); err != nil {
		return err
	}
	answer, err := io.ReadAll(conn)
	if err == nil && string(answer[:min(len(answer), 15)]) != "HTTP/1.0 200 OK" {
		err = fmt.Errorf("answer %q", answer)
	}
	return err
}

// asUser calls f as another user. Linux keeps credentials by thread: ours takes them on, and ends
// with the goroutine.
func asUser(uid int, f func()) {
	runtime.LockOSThread() // and never unlocked
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
		panic(os.NewSyscallError("setresuid", errno))
	}
	f()
}
