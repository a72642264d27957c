package recent

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/filter/iterative"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

const (
	Steps      = 5  // sub-windows that make a window
	Kept       = 6  // those that are kept: the window, and the one that has begun
	walk       = 64 // sightings of a key that a sub-window tells apart
	burstK     = 8  // an unseen key is found in a sub-window with the chance 2^-8, when that is full
	burstFill  = 0.5
	burstPeak  = 8   // how many times its mean rate a sub-window has room for
	burstFresh = 0.7 // share of sightings that are the first of their key
	Least      = time.Minute
	Most       = time.Hour
	MaxBytes   = 256 << 20 // that the counter may take; with the defaults it is 2 MiB
)

// Counter counts this site's sightings over a short window, in memory only:
// an iterative Bloom filter (Matsumoto, Hazeyama, Kadobayashi) for each fifth of
// the window, six of them in a ring.
//
//	add -> the sub-window of now -> one bit a sighting
//	ask <- all that are in the window, summed
//	      a sub-window's filter is emptied when its place in the ring comes again
//
// A filter takes no more once it is half full (section 5.6.3), and says so until
// its sub-window is over. It is safe for concurrent use: one lock is held for an
// add, which is some tens of memory accesses. A nil counter is off.
type Counter struct {
	window, step time.Duration
	shape        iterative.Shape

	Mu    sync.Mutex // guards all below
	since time.Time  // by the wall clock; what was before is not known
	ring  [Kept]step
}

// step is one sub-window.
type step struct {
	num    int64 // of its period since 1970
	filter *iterative.Filter
	missed bool // sightings came that the filter had no room for
}

// Burst is how often a message was seen here in the last minutes. It is an
// estimate: at the mean rate for which the counter is made it is within 5 %. In a
// filter that is half full, a message that came evenly reads within 10 %, one of
// which all copies came while it was empty up to 30 % too low, and at the end up
// to 40 % too high; and one of 43 messages never seen reads as seen.
type Burst struct {
	Covers  time.Duration // the time counted: one to 1.2 windows, less after a start
	Count   uint64        // sightings in it
	AtLeast bool          // it may have been more: a fifth of the window tells 64 apart
	Missed  bool          // some were not counted: too many messages came
}

// Status describes the counter.
type Status struct {
	Window float64 `json:"window_seconds"`
	Covers float64 `json:"covers_seconds"`
	Fill   float64 `json:"fill"`             // of the fullest filter; at most 0.5
	Missed bool    `json:"missed,omitempty"` // some sightings of the window were not counted
	Memory int64   `json:"memory_bytes"`     // all that it ever takes
}

// Shape is that of one sub-window's filter.
func Shape(o *layout.Settings) iterative.Shape {
	steps := float64(o.Counts.Period) / float64(o.Counts.Burst/Steps)
	distinct := math.Max(1000, burstPeak*float64(o.Counts.Capacity)/steps)
	return iterative.Shape{
		M: iterative.Size(distinct, distinct/burstFresh, burstK, burstFill),
		K: burstK, Walk: walk, MaxFill: burstFill,
	}
}

// New takes its memory at once. It is nil where the window is 0.
func New(o *layout.Settings) (*Counter, error) {
	if o.Counts.Burst == 0 {
		return nil, nil
	}
	return Make(o.Counts.Burst, Shape(o), o.Now())
}

// Make makes an empty counter of any window and shape.
func Make(window time.Duration, shape iterative.Shape, now time.Time) (*Counter, error) {
	b := &Counter{window: window, step: window / Steps, shape: shape, since: now.Round(0)}
	var errs error
	for i := range b.ring {
		f, err := iterative.New(b.shape)
		errs = errors.Join(errs, err)
		b.ring[i] = step{num: math.MinInt64, filter: f}
	}
	return b, errs
}

func (b *Counter) Number(now time.Time) int64 { return now.UnixNano() / int64(b.step) }

// Add counts n sightings of a key.
func (b *Counter) Add(h filter.Hash, n uint32, now time.Time) {
	if b == nil {
		return
	}
	num := b.Number(now)
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Notice(now)
	s := b.turn(num)
	for range min(n, walk+1) { // more would fall off the walk
		if s.filter.Full() {
			s.missed = true
			return
		}
		s.filter.Add(h.Sequence(b.shape.M))
	}
}

// turn is the sub-window of that number, emptied if its place in the ring has come
// again. The caller holds mu.
func (b *Counter) turn(num int64) *step {
	s := &b.ring[((num%Kept)+Kept)%Kept]
	if s.num != num { // of the turn before, or of a clock that was set back
		s.filter.Reset()
		s.num, s.missed = num, false
	}
	return s
}

// Ask sums up what is in the window.
func (b *Counter) Ask(h filter.Hash, now time.Time) Burst {
	num := b.Number(now)
	sum := 0.0
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Notice(now)
	burst := Burst{Covers: b.covers(now)}
	for i := range b.ring {
		s := &b.ring[i]
		if !s.within(num) {
			continue
		}
		e := s.filter.Estimate(h.Sequence(b.shape.M))
		sum += e.Count
		burst.AtLeast = burst.AtLeast || e.AtLeast
		burst.Missed = burst.Missed || s.missed
	}
	burst.Count = uint64(math.Round(sum))
	return burst
}

// within reports whether a sub-window is in the window that ends with another one.
func (s *step) within(num int64) bool { return s.num > num-Kept && s.num <= num }

// Notice makes now the start where the clock was set back to before it. The caller holds mu.
func (b *Counter) Notice(now time.Time) {
	if now.Before(b.since) {
		b.since = now.Round(0)
	}
}

// covers is how far back the window goes. The caller holds mu.
func (b *Counter) covers(now time.Time) time.Duration {
	oldest := time.Unix(0, (b.Number(now)-Kept+1)*int64(b.step))
	if oldest.Before(b.since) {
		oldest = b.since
	}
	return now.Sub(oldest)
}

// Bytes is what the counter takes, from the start on.
func (b *Counter) Bytes() int64 { return Kept * b.shape.Bytes() }

func (b *Counter) Status(now time.Time) *Status {
	if b == nil {
		return nil
	}
	num := b.Number(now)
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Notice(now)
	s := &Status{Window: b.window.Seconds(), Covers: math.Round(b.covers(now).Seconds()), Memory: b.Bytes()}
	for i := range b.ring {
		if step := &b.ring[i]; step.within(num) {
			s.Fill = max(s.Fill, step.filter.Fill())
			s.Missed = s.Missed || step.missed
		}
	}
	return s
}
