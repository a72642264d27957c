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
	Steps      = 5  // sub-windows of a window
	Kept       = 6  // sub-windows in the ring: the window, and the current one
	walk       = 64 // sightings of a key up to which a sub-window counts
	burstK     = 8  // bits a key: a full sub-window contains an unseen key with the chance 2^-8
	burstFill  = 0.5
	burstPeak  = 8   // a sub-window has room for so many times the mean rate
	burstFresh = 0.7 // planned share of sightings that are the first of their key
	Least      = time.Minute
	Most       = time.Hour
	MaxBytes   = 256 << 20 // memory limit of a counter; with the defaults it takes 2 MiB
)

// Counter counts this site's sightings over a short window, in memory only. It has an
// iterative Bloom filter (Matsumoto, Hazeyama, Kadobayashi) for each fifth of the window, six
// of them in a ring.
//
//	Add -> the current sub-window -> one bit a sighting
//	Ask <- sum over all sub-windows in the window
//	       a filter is emptied when the ring reaches it again
//
// A filter that is half full (section 5.6.3) takes no more sightings until its sub-window is
// over, and reports that it missed some. A Counter is safe for concurrent use: one lock is held
// during an Add, which takes some tens of memory accesses. A nil counter is disabled.
type Counter struct {
	window, step time.Duration
	shape        iterative.Shape

	Mu    sync.Mutex // guards all below
	since time.Time  // start of counting, by the wall clock
	ring  [Kept]step
}

// step is one sub-window.
type step struct {
	num    int64 // number of its period since 1970
	filter *iterative.Filter
	missed bool // the filter had no room for some sightings
}

// Burst is an estimate of how often this site saw a message in the last minutes. At the mean
// rate for which the counter is sized, it is within 5 %. If a filter is half full: evenly
// distributed sightings read within 10 %. Sightings while the filter was empty read up to 30 %
// too low, those at the end up to 40 % too high. One of 43 unseen messages reads as seen.
type Burst struct {
	Covers  time.Duration // the time counted: one to 1.2 windows, less after a start
	Count   uint64        // sightings in it
	AtLeast bool          // there may be more: a sub-window counts up to 64
	Missed  bool          // some sightings were not counted: there were too many messages
}

// Status describes the counter.
type Status struct {
	Window float64 `json:"window_seconds"`
	Covers float64 `json:"covers_seconds"`
	Fill   float64 `json:"fill"`             // fill of the fullest filter; at most 0.5
	Missed bool    `json:"missed,omitempty"` // some sightings of the window were not counted
	Memory int64   `json:"memory_bytes"`     // constant
}

// Shape returns the shape of one sub-window's filter.
func Shape(o *layout.Settings) iterative.Shape {
	steps := float64(o.Counts.Period) / float64(o.Counts.Burst/Steps)
	distinct := math.Max(1000, burstPeak*float64(o.Counts.Capacity)/steps)
	return iterative.Shape{
		M: iterative.Size(distinct, distinct/burstFresh, burstK, burstFill),
		K: burstK, Walk: walk, MaxFill: burstFill,
	}
}

// New returns a counter with all its memory, or nil if the window is 0.
func New(o *layout.Settings) (*Counter, error) {
	if o.Counts.Burst == 0 {
		return nil, nil
	}
	return Make(o.Counts.Burst, Shape(o), o.Now())
}

// Make returns an empty counter of the given window and shape.
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
	for range min(n, walk+1) { // the filter counts no further
		if s.filter.Full() {
			s.missed = true
			return
		}
		s.filter.Add(h.Sequence(b.shape.M))
	}
}

// turn returns the sub-window with number num. It empties a filter that the ring has reached
// again. The caller holds mu.
func (b *Counter) turn(num int64) *step {
	s := &b.ring[((num%Kept)+Kept)%Kept]
	if s.num != num { // from the ring's previous round, or from before the clock was set back
		s.filter.Reset()
		s.num, s.missed = num, false
	}
	return s
}

// Ask returns the sum over the window.
func (b *Counter) Ask(h filter.Hash, now time.Time) Burst {
	num := b.Number(now)
	sum := 0.0
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.Notice(now)
	burst := Burst{Covers: b.covers(now)}
	for i := range b.ring {
		s := &b.ring[i]
		if !s.isWithin(num) {
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

// isWithin reports whether a sub-window is in the window that ends with num.
func (s *step) isWithin(num int64) bool { return s.num > num-Kept && s.num <= num }

// Notice sets the start to now if the clock was set back before it. The caller holds mu.
func (b *Counter) Notice(now time.Time) {
	if now.Before(b.since) {
		b.since = now.Round(0)
	}
}

// covers returns how far back the window goes. The caller holds mu.
func (b *Counter) covers(now time.Time) time.Duration {
	oldest := time.Unix(0, (b.Number(now)-Kept+1)*int64(b.step))
	if oldest.Before(b.since) {
		oldest = b.since
	}
	return now.Sub(oldest)
}

// Bytes returns the memory of the counter. It is constant.
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
		if step := &b.ring[i]; step.isWithin(num) {
			s.Fill = max(s.Fill, step.filter.Fill())
			s.Missed = s.Missed || step.missed
		}
	}
	return s
}
