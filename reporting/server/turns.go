package server

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
)

const (
	maxAtOnce = 8               // requests of one user that are served at once
	turnWait  = 5 * time.Second // a further request waits so long

	// A larger request takes some 4 MiB while it arrives, and some 15 while it is read; a list of reports takes
	// as much until it is sent.
	smallRequest   = 64 << 10 // bytes
	maxLarge       = 8        // larger ones of all users that are served at once, and lists
	maxLargeOfUser = 2
)

// turns bounds the requests of each user, and of all users, that are served at once. Further
// requests wait. The zero value is ready for use. It is safe for concurrent use.
type turns struct {
	ofUser int           // 0: maxAtOnce
	all    chan struct{} // a place for each request of all users; nil: as many as they send

	mu sync.Mutex
	of map[string]*userTurns
}

type userTurns struct {
	places  chan struct{}
	present int // requests that have a place or wait; guarded by turns.mu
}

// take waits for a turn of the caller, which leave ends. Administrators do not wait.
func (t *turns) take(ctx context.Context, c caller) (leave func(), problem *api.Problem) {
	if c.may(adminRight) {
		return func() {}, nil
	}
	u := t.enter(c.name)
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	enter := func(places chan struct{}) bool {
		select {
		case places <- struct{}{}:
			return true
		case <-timer.C:
		case <-ctx.Done(): // the client is gone
		}
		return false
	}
	switch {
	case !enter(u.places):
		t.leave(c.name, u)
		return nil, api.NewProblem(http.StatusTooManyRequests, "%s has %d requests at work, the most at once", c.called(), cap(u.places))
	case t.all != nil && !enter(t.all):
		<-u.places
		t.leave(c.name, u)
		return nil, api.NewProblem(http.StatusTooManyRequests, "all have %d such requests at work, the most at once", cap(t.all))
	}
	return func() {
		if t.all != nil {
			<-t.all
		}
		<-u.places
		t.leave(c.name, u)
	}, nil
}

func (t *turns) enter(name string) *userTurns {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.of[name]
	if u == nil {
		if t.of == nil {
			t.of = map[string]*userTurns{}
		}
		u = &userTurns{places: make(chan struct{}, cmp.Or(t.ofUser, maxAtOnce))}
		t.of[name] = u
	}
	u.present++
	return u
}

func (t *turns) leave(name string, u *userTurns) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if u.present--; u.present == 0 {
		delete(t.of, name)
	}
}
