package page

import (
	"sync"
	"time"
)

// cache keeps an answer for a short time, so that a thousand open pages cost as much as one. The time
// begins when the answer is there: those who waited for it do not each ask again.
type cache[T any] struct {
	life time.Duration
	now  func() time.Time
	get  func() (T, error)

	mu    sync.Mutex
	at    time.Time     // of the answer; zero: none
	rest  time.Duration // until the next one
	value T
	err   error
}

func (c *cache[T]) ask() (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.now(); c.at.IsZero() || now.Sub(c.at) >= c.rest || now.Before(c.at) {
		c.value, c.err = c.get()
		c.at = c.now()
		// A costly answer takes at most a quarter of a processor, however many ask, also visitors.
		c.rest = max(c.life, min(time.Minute, 3*c.at.Sub(now)))
	}
	return c.value, c.err
}

// forget makes the next answer a fresh one: something was changed.
func (c *cache[T]) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = time.Time{}
}
