package uploads_test

import (
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/reporting/page/uploads"
)

// request is a request whose body never ends, and whose answer nobody reads, until one of them is broken off.
type request struct {
	*httptest.ResponseRecorder
	ended chan struct{}
}

func (r request) SetWriteDeadline(at time.Time) error { return r.SetReadDeadline(at) }

func (r request) SetReadDeadline(at time.Time) error {
	if !at.After(time.Now()) {
		close(r.ended)
	}
	return nil
}

// TestSlowUploads is the attack "slow uploads": two users send a few bytes of a message and wait, so that
// no other user has a place. They lose theirs after five seconds, and then for a minute at once. A
// message that has arrived keeps its place.
func TestSlowUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var places uploads.Places
		slow := func(name string) {
			r := request{httptest.NewRecorder(), make(chan struct{})}
			if p := places.Enter(r, name, false); p != nil {
				go func() {
					<-r.ended
					if p.Read() {
						t.Errorf("%s kept the place", name)
					}
					p.Leave()
				}()
			} else {
				t.Errorf("%s has no place", name)
			}
		}
		enter := func(when, name string, want bool) *uploads.Place {
			t.Helper()
			p := places.Enter(request{httptest.NewRecorder(), make(chan struct{})}, name, false)
			if (p != nil) != want {
				t.Fatalf("%s: %s has a place: %v", when, name, p != nil)
			}
			return p
		}
		slow("mallory")
		time.Sleep(time.Millisecond) // the oldest one is given up
		slow("eve")
		time.Sleep(4 * time.Second)
		enter("after four seconds", "anna", false)
		time.Sleep(2 * time.Second)
		enter("after six seconds", "mallory", false)
		enter("after six seconds", "anna", true).Leave()
		slow("mallory") // has been slow or is slow: both give way at once
		arrived := []*uploads.Place{enter("at once", "anna", true), enter("at once", "bert", true)}
		enter("in the minute after", "mallory", false)
		for _, p := range arrived {
			if !p.Read() {
				t.Error("a message that has arrived lost its place")
			}
		}
		time.Sleep(time.Hour)
		enter("while others are signed", "cora", false)
		for _, p := range arrived {
			p.Leave()
		}
		slow("mallory")
		time.Sleep(4 * time.Second)
		slow("eve")
		enter("a new minute", "cora", false)
		time.Sleep(2 * time.Second)
		enter("a new minute", "cora", true).Leave()
		time.Sleep(5 * time.Second)
		enter("at the end", "cora", true) // the free place
		enter("at the end", "dora", true)
	})
}

// TestQuickUploads is the attack "quick uploads": two users send a message within four seconds, and then
// the next one. They lose their places as if it were one message, so that another user waits for the
// second one at most. One who sends messages at times is not slow.
func TestQuickUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var places uploads.Places
		send := func(name string, takes time.Duration) bool {
			r := request{httptest.NewRecorder(), make(chan struct{})}
			p := places.Enter(r, name, false)
			if p == nil {
				return false
			}
			defer p.Leave()
			select {
			case <-r.ended:
			case <-time.After(takes):
			}
			return p.Read()
		}
		end := time.Now().Add(time.Minute)
		for _, name := range []string{"mallory", "eve"} {
			go func() {
				for time.Now().Before(end) {
					if !send(name, 4*time.Second) {
						time.Sleep(10 * time.Millisecond)
					}
				}
			}()
		}
		time.Sleep(6 * time.Second)
		for range 10 {
			if !send("anna", 200*time.Millisecond) {
				t.Error("two users who send one message after another keep another one out")
			}
			time.Sleep(5 * time.Second)
		}
		time.Sleep(time.Minute)
	})
}

// TestUnreadAnswers is the attack "unread answers": two users send a message at once and do not read the
// answer, which the kernel has no room for. They lose their places like those who send slowly.
func TestUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var places uploads.Places
		send := func(name string) (hasPlace bool) {
			a := request{httptest.NewRecorder(), make(chan struct{})}
			p := places.Enter(a, name, false)
			if p == nil {
				return false
			}
			if !p.Read() {
				t.Errorf("the message of %s has not arrived", name)
			}
			go func() {
				time.Sleep(2 * time.Second) // while it is signed, nobody can have the place
				p.Answer(a)
				select {
				case <-a.ended:
				case <-time.After(2 * time.Minute):
				}
				p.Leave()
			}()
			return true
		}
		send("mallory")
		time.Sleep(time.Millisecond) // the oldest one is given up
		send("eve")
		anna := func(when string, want bool) {
			t.Helper()
			p := places.Enter(request{httptest.NewRecorder(), make(chan struct{})}, "anna", false)
			if (p != nil) != want {
				t.Errorf("%s: a place: %v", when, !want)
			}
			if p != nil {
				p.Leave()
			}
		}
		time.Sleep(time.Second)
		anna("while the messages are signed", false)
		time.Sleep(3 * time.Second)
		anna("after two seconds of the answers", false)
		time.Sleep(2 * time.Second)
		anna("after four", true)
		if !send("mallory") {
			t.Error("the free place is refused")
		}
		time.Sleep(4 * time.Minute)
	})
}

// TestBusyUploads is the attack "busy uploads": two users send messages whose signing takes nearly a second, and
// the next one as soon as they have a place again. Signing is not broken off, but another user has the
// next place.
func TestBusyUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var places uploads.Places
		end := time.Now().Add(time.Minute)
		work := func(name string, takes time.Duration) bool {
			p := places.Enter(request{httptest.NewRecorder(), make(chan struct{})}, name, false)
			if p == nil {
				return false
			}
			defer p.Leave()
			if !p.Read() {
				t.Errorf("a message of %s that has arrived lost its place", name)
			}
			time.Sleep(takes)
			return true
		}
		for _, name := range []string{"mallory", "eve"} {
			go func() {
				for time.Now().Before(end) {
					if !work(name, 900*time.Millisecond) {
						time.Sleep(time.Millisecond)
					}
				}
			}()
		}
		time.Sleep(10500 * time.Millisecond)
		for range 10 {
			if !work("anna", 100*time.Millisecond) {
				t.Error("two users whose messages are signed for long keep another one out")
			}
			time.Sleep(2 * time.Second)
		}
		time.Sleep(time.Minute)
	})
}

// A user who was slow once, and then sends a small message every half a minute, is not slow for ever: beside two users who
// send slowly, it has a place like others. A client that sends one message after another stays slow.
func TestSlowOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var places uploads.Places
		send := func(name string, takes time.Duration) bool {
			r := request{httptest.NewRecorder(), make(chan struct{})}
			p := places.Enter(r, name, false)
			if p == nil {
				return false
			}
			defer p.Leave()
			select {
			case <-r.ended:
			case <-time.After(takes):
			}
			return p.Read()
		}
		begin := func(names ...string) {
			for _, name := range names {
				go send(name, 20*time.Second)
				time.Sleep(time.Millisecond)
			}
			time.Sleep(6 * time.Second)
		}
		send("anna", 8*time.Second)
		for range 10 {
			time.Sleep(30 * time.Second)
			send("anna", 100*time.Millisecond)
		}
		begin("mallory", "eve")
		if !send("anna", 100*time.Millisecond) {
			t.Error("slow five minutes ago: no place")
		}
		time.Sleep(2 * time.Minute)
		for range 20 {
			send("anna", 8*time.Second)
		}
		begin("bert", "cora")
		if send("anna", 100*time.Millisecond) {
			t.Error("always slow: a place of another user")
		}
		time.Sleep(time.Minute)
	})
}
