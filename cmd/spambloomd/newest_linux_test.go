package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

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
	go func() { served <- s.Serve(&newest{Listener: ln, most: maxHTTP}) }()
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
