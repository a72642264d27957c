package turns

import (
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// work is the processor time used for judging. Judgements that run at the same time get
// equal shares, so a message does not cost its sender more because others run beside it.
type work struct {
	running int           // judgements
	at      time.Time     // when done was last updated
	done    time.Duration // processor time of a judgement that has run since the start
}

func (w *work) advance(now time.Time, processors int) {
	if w.running > 0 {
		w.done += now.Sub(w.at) * time.Duration(min(processors, w.running)) / time.Duration(w.running)
	}
	w.at = now
}

func (w *work) begin(now time.Time, processors int) { w.advance(now, processors); w.running++ }
func (w *work) end(now time.Time, processors int)   { w.advance(now, processors); w.running-- }

// Stage is the state of a judgement: signing, whose time depends on the message, or our own
// part (the database and the policies), whose time does not.
//
// Signing may be stopped. The judgement then ends without a result, and begins again later.
type Stage struct {
	ours   atomic.Pointer[time.Time] // when it entered our part; nil while signing; &stopped
	unpack signature.Unpacking       // set when the message asks for its turn
	stop   chan struct{}             // closed when signing is stopped; made at each begin
}

// stopped marks the stage of a judgement whose signing was stopped.
var stopped time.Time

// begin resets s for the begin of a judgement, before anything is signed.
func (s *Stage) begin() {
	now := time.Now()
	s.stop = make(chan struct{})
	s.ours.Store(&now)
}

// EnterSigning enters the signing of the message, which then may be stopped.
func (s *Stage) EnterSigning() { s.ours.Store(nil) }

// EnterOurs enters our part. It reports false if signing was stopped.
func (s *Stage) EnterOurs() bool {
	now := time.Now()
	return s.ours.CompareAndSwap(nil, &now) || !s.IsStopped()
}

// Unpack is the signature.Unpacking of the message: it waits for a slot.
func (s *Stage) Unpack() (stop <-chan struct{}, done func()) { return s.unpack() }

// Stop is closed when signing is stopped.
func (s *Stage) Stop() <-chan struct{} { return s.stop }

// stopSigning stops the judgement if it signs. It is called once after each begin.
func (s *Stage) stopSigning() {
	if s.ours.CompareAndSwap(nil, &stopped) {
		close(s.stop)
	}
}

// IsStopped reports whether signing was stopped.
func (s *Stage) IsStopped() bool { return s.ours.Load() == &stopped }

// inOurs returns how long the judgement has been in our part, or 0 while it signs.
func (s *Stage) inOurs() time.Duration {
	since := s.ours.Load()
	if since == nil || since == &stopped {
		return 0
	}
	return max(1, time.Since(*since))
}
