package reporting

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	maxAtOnce = 8               // requests of one user that are worked on
	turnWait  = 5 * time.Second // that one waits for its turn
)

// turns bounds the requests of each user that are worked on at once; further ones of the
// user wait. The zero value is ready for use, and safe for concurrent use.
type turns struct {
	mu sync.Mutex
	of map[string]*userTurns
}

type userTurns struct {
	places  chan struct{}
	present int // requests that have a place or wait; guarded by turns.mu
}

// take waits for a turn of the caller, which leave ends. A caller who administrates
// does not wait.
func (t *turns) take(ctx context.Context, c Caller) (leave func(), problem *Problem) {
	if c.Administrates() {
		return func() {}, nil
	}
	u := t.enter(c.Name())
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case u.places <- struct{}{}:
		return func() { <-u.places; t.leave(c.Name(), u) }, nil
	case <-timer.C:
	case <-ctx.Done(): // nobody waits for an answer
	}
	t.leave(c.Name(), u)
	return nil, newProblem(http.StatusTooManyRequests, "%s has %d requests at work, the most at once", c.called(), maxAtOnce)
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
