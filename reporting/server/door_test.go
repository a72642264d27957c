package server

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
)

// crowd is a listener at which clients wait already.
type crowd chan net.Conn

func (c crowd) Accept() (net.Conn, error) {
	if conn, ok := <-c; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}
func (c crowd) Close() error { close(c); return nil }
func (crowd) Addr() net.Addr { return &net.UnixAddr{} }

// guest is the server's end of a connection of a user; below 0, of an unknown one.
type guest struct {
	net.Conn
	uid int
}

// entrance is a server behind a door, to which users come.
type entrance struct {
	t    *testing.T
	door *Door
	log  *logBuffer
	come crowd
	stop func()
}

// newEntrance serves h; the daemon's user is 100. It is to be called in a bubble.
func newEntrance(t *testing.T, h http.Handler) *entrance {
	e := &entrance{t: t, log: &logBuffer{}, come: make(crowd)}
	e.door = NewDoor(DoorOptions{DaemonUID: 100, Log: slog.New(slog.NewTextHandler(e.log, nil))})
	e.door.peer = func(conn net.Conn) desk.Origin {
		uid := conn.(guest).uid
		return desk.Origin{UID: uid, Known: uid >= 0}
	}
	s, done := New(h, nil), make(chan error)
	go func() { done <- s.Serve(e.door.Listen(e.come)) }()
	e.stop = func() {
		s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
	return e
}

// visitor is a client's end.
type visitor struct {
	net.Conn
	answers *bufio.Reader
}

func (e *entrance) visit(uid int) *visitor {
	client, served := net.Pipe()
	e.come <- guest{served, uid}
	synctest.Wait()
	return &visitor{client, bufio.NewReader(client)}
}

// ask sends a request; the status is 0 where the connection was closed.
func (v *visitor) ask() (status int, closes bool) {
	if !v.begin("/") {
		return 0, true
	}
	return v.answer()
}

func (v *visitor) begin(path string) bool {
	v.SetDeadline(time.Now().Add(time.Second))
	_, err := fmt.Fprintf(v, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path)
	synctest.Wait()
	return err == nil
}

func (v *visitor) answer() (status int, closes bool) {
	answer, err := http.ReadResponse(v.answers, nil)
	if err != nil {
		return 0, true
	}
	answer.Body.Close()
	return answer.StatusCode, answer.Close
}

var found = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })

// The attack: one user's keep-alive connections keep out neither root, nor the daemon's
// user, nor others, and the log and the daemon's readiness say whose they are.
func TestOneUserCannotLockOthersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(t, found)
		defer e.stop()
		served, refused, closed := 0, 0, 0
		for range 256 {
			switch status, closes := e.visit(1000).ask(); {
			case status == 204 && !closes:
				served++
			case status == http.StatusTooManyRequests && closes:
				refused++
			case status == 0:
				closed++
			}
		}
		if served != maxOfUser || served+refused+closed != 256 || refused == 0 {
			t.Errorf("%d connections are served, %d told to come later, %d closed", served, refused, closed)
		}
		for _, uid := range []int{0, 100, 1001} {
			for range 3 {
				if status, _ := e.visit(uid).ask(); status != 204 {
					t.Errorf("user %d is answered %d", uid, status)
				}
			}
		}
		if text, all := e.door.Lockout(); all || !strings.Contains(text, "connections of uid:1000 are refused") {
			t.Errorf("lockout %q, of all: %v", text, all)
		}
		if n := strings.Count(e.log.String(), "\n"); n != 1 || !strings.Contains(e.log.String(), "connections are refused\" listener=control.listen user=uid:1000 reason=user open=64 ") {
			t.Errorf("%d lines in the log:\n%s", n, e.log)
		}
		time.Sleep(lockoutLasts)
		if text, _ := e.door.Lockout(); text != "" {
			t.Errorf("a minute later: %s", text)
		}
		if status, _ := e.visit(1000).ask(); status != 204 {
			t.Errorf("when its idle connections have ended, the user is answered %d", status)
		}
		if e.door.refusing != 0 {
			t.Errorf("%d are still told to come later", e.door.refusing)
		}
	})
}

// Refusals go on being logged, once a minute, with their number.
func TestLockoutIsLoggedByTheMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(t, found)
		defer e.stop()
		for range 25 {
			for range maxOfUser + 10 {
				e.visit(1000)
			}
			time.Sleep(lockoutLasts / 12) // before any of them ends: idle ones do after 10 s
		}
		if n := strings.Count(e.log.String(), "\n"); n < 2 || n > 3 {
			t.Errorf("%d lines in two minutes:\n%s", n, e.log)
		}
	})
}

// Many users together leave a place for a further one: those with the most make room,
// first of what is idle.
func TestUsersShareThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(t, found)
		defer e.stop()
		var theirs []*visitor
		for uid := 1000; uid < 1004; uid++ {
			for range maxOfUser {
				theirs = append(theirs, e.visit(uid))
			}
		}
		var ours []*visitor
		for i := range 20 {
			v := e.visit(1004)
			if status, _ := v.ask(); status != 204 {
				t.Fatalf("connection %d of a fifth user is answered %d", i, status)
			}
			ours = append(ours, v)
		}
		if e.door.total != maxConnections {
			t.Errorf("%d places are taken, there are %d", e.door.total, maxConnections)
		}
		gone := 0
		for _, v := range theirs {
			if status, _ := v.ask(); status == 0 {
				gone++
			}
		}
		if gone != len(ours) {
			t.Errorf("%d connections have made room for %d", gone, len(ours))
		}
		if text, all := e.door.Lockout(); text == "" || all {
			t.Errorf("lockout %q, of all: %v", text, all)
		}
	})
}

// newBusyEntrance returns an entrance where requests for /work end when work is closed.
func newBusyEntrance(t *testing.T) (e *entrance, work chan bool) {
	work = make(chan bool)
	return newEntrance(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/work" {
			<-work
		}
		w.WriteHeader(http.StatusNoContent)
	})), work
}

// The attack: five users who act together take all places and ask for more. The
// waiting connection of a sixth stays open, and the daemon stays ready.
func TestCrowdBreaksNoOtherConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, work := newBusyEntrance(t)
		defer e.stop()
		ours := e.visit(2000)
		for i := range maxConnections - 1 {
			e.visit(1000 + i%5).begin("/work")
		}
		for i := range 5 {
			if status, closes := e.visit(1000 + i).ask(); status != http.StatusTooManyRequests || !closes {
				t.Errorf("one more is answered %d", status)
			}
		}
		if status, _ := ours.ask(); status != 204 {
			t.Errorf("the sixth user is answered %d", status)
		}
		if status, _ := e.visit(2001).ask(); status != 204 {
			t.Errorf("a seventh user is answered %d", status)
		}
		if text, all := e.door.Lockout(); text == "" || all {
			t.Errorf("lockout %q, of all: %v", text, all)
		}
		close(work)
	})
}

// If the kernel does not name the user, or if each user has one place, as one with many numbers
// (subuid(5)) can have, the oldest idle connection makes room. Further ones, except root's, are
// refused only while all are at work.
func TestConnectionsAreLimited(t *testing.T) {
	for name, user := range map[string]func(i int) int{
		"unknown":          func(int) int { return -1 },
		"one place a user": func(i int) int { return 1000 + i },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, work := newBusyEntrance(t)
				defer e.stop()
				var served []*visitor
				for i := range maxConnections + 40 {
					v := e.visit(user(i))
					if status, _ := v.ask(); status != 204 {
						t.Fatalf("connection %d is answered %d", i, status)
					}
					served = append(served, v)
				}
				if e.door.total != maxConnections {
					t.Errorf("%d places are taken, there are %d", e.door.total, maxConnections)
				}
				if text, _ := e.door.Lockout(); text != "" {
					t.Errorf("nobody was refused: %s", text)
				}
				served = served[40:]
				for _, v := range served {
					v.begin("/work")
				}
				if status, closes := e.visit(user(500)).ask(); status != http.StatusTooManyRequests || !closes {
					t.Errorf("one more is answered %d", status)
				}
				if _, all := e.door.Lockout(); !all {
					t.Error("it is not said that others kept it out")
				}
				if status, _ := e.visit(0).ask(); status != 204 {
					t.Errorf("root is answered %d", status)
				}
				close(work)
				if status, _ := served[7].answer(); status != 204 {
					t.Errorf("what was at work is answered %d", status)
				}
				synctest.Wait()
				if status, _ := e.visit(user(500)).ask(); status != 204 {
					t.Errorf("when one is idle, the next is answered %d", status)
				}
			})
		})
	}
}

// A connection ends when it is idle for some seconds, and after many requests.
func TestKeepAliveEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEntrance(t, found)
		defer e.stop()
		v := e.visit(1000)
		for i := 1; ; i++ {
			status, closes := v.ask()
			if status != 204 {
				t.Fatalf("request %d: %d", i, status)
			}
			if closes {
				if i != maxRequests {
					t.Errorf("it ends after %d requests, want %d", i, maxRequests)
				}
				break
			}
		}
		v = e.visit(1000)
		v.ask()
		time.Sleep(api.IdleTimeout + time.Second)
		if status, _ := v.ask(); status != 0 {
			t.Errorf("after a silence of %v it is answered %d", api.IdleTimeout, status)
		}
		if e.door.total != 0 {
			t.Errorf("%d places are taken in the end", e.door.total)
		}
	})
}
