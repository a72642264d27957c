package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
)

const (
	maxAtOnce = 8               // requests of one user that are served at once
	turnWait  = 5 * time.Second // a further request waits so long
)

// turns bounds the requests of each user that are served at once. Further requests of the
// user wait. The zero value is ready for use. It is safe for concurrent use.
type turns struct {
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
	select {
	case u.places <- struct{}{}:
		return func() { <-u.places; t.leave(c.name, u) }, nil
	case <-timer.C:
	case <-ctx.Done(): // the client is gone
	}
	t.leave(c.name, u)
	return nil, api.NewProblem(http.StatusTooManyRequests, "%s has %d requests at work, the most at once", c.called(), maxAtOnce)
}

func (t *turns) enter(name string) *userTurns {
	t.mu.Lock()
	defer t.mu.Unlock()
	u := t.of[name]
	if u == nil {
		if t.of == nil {
			t.of = map[string]*userTurns{}
		}
		u = &userTurns{places: make(chan struct{}, maxAtOnce)}
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
