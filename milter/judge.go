package milter

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"
)

// judge waits for the message's turn and its judgement, tells the MTA meanwhile that
// work goes on, and gives up at the deadline. Judging is pure computing and cannot be
// interrupted: past the deadline it goes on unheard, with the message's memory, and
// Shutdown waits for it.
func (x *session) judge(msg *message) Decision {
	s := x.server
	judge, probe := s.admitted()
	if !judge {
		return s.fail(msg, causeOverload, errSuspended)
	}
	o := sendersFault
	defer func() { s.outcome(probe, o) }() // also after a panic, or a probe would never end
	limit := msg.options.JudgeTimeout
	asked := time.Now()
	content := *msg
	content.stage = new(stage)
	judged := make(chan Decision, 1)
	turn := s.turns.ask(request{
		client: msg.client, sender: msg.sender, size: msg.kept, limit: limit, stage: content.stage,
		judge: func(short bool) { content.short = short; judged <- s.guard(&content) },
	})

	progress, half, deadline := time.NewTicker(s.progress), time.NewTimer(limit/2), time.NewTimer(limit)
	defer progress.Stop()
	defer half.Stop()
	defer deadline.Stop()
	overtime := turn.overtime
	for {
		select {
		case d := <-judged:
			o = judgedInTime
			return d
		case <-turn.refused:
			o = turnedAway
			return s.fail(msg, causeOverload, turn.err)
		case <-overtime:
			overtime = nil
			s.overran(msg)
			if probe { // the next one need not wait for it
				s.outcome(probe, o)
				probe = false
			}
		case <-progress.C:
			x.conn.progress()
		case <-half.C:
			s.turns.hurry(turn)
		case <-deadline.C:
			var d Decision
			d, o = s.late(msg, turn, asked, content.release)
			return d
		}
	}
}

// late is the decision about a message whose deadline has come, and whose fault that is.
// If it is still judged, its memory stays booked until that ends, when abandoned is called.
func (s *Server) late(msg *message, turn *turn, asked time.Time, abandoned func()) (Decision, outcome) {
	begun, running, ourFault := s.turns.leave(turn, abandoned)
	cause, err := tooLate(asked, begun, turn.limit)
	if running {
		msg.disown()
		if !ourFault {
			err = fmt.Errorf("%w: %w", errExpensive, err)
		}
	}
	if ourFault {
		return s.fail(msg, cause, err), notInTime
	}
	return s.fail(msg, cause, err), sendersFault
}

// errExpensive marks failures that the message itself caused.
var errExpensive = errors.New("the message takes too long to sign")

// overran notes a message that is beyond its quantum. Its line in the log says what came
// of it.
func (s *Server) overran(msg *message) {
	s.metrics.overtime.Inc()
	if s.setBack.allow() {
		msg.options.Log.Warn("a message takes long to sign: its sender is set back", "queue_id", msg.queueID,
			"client", msg.client.String(), "from", msg.sender, "size", msg.size)
	}
}

// tooLate is the cause of a message's failure whose deadline has come: where most of
// the time went, into judging, or into waiting. Begun is as turns.leave returns it.
func tooLate(asked, begun time.Time, limit time.Duration) (cause string, err error) {
	if begun.IsZero() || time.Since(begun) < limit/2 {
		return causeOverload, fmt.Errorf("no processor, or place to unpack the message, came free in time, within %v", limit)
	}
	waited := begun.Sub(asked).Round(time.Millisecond)
	return causeDeadline, fmt.Errorf("no judgement after %v, %v of them waiting", limit, waited)
}

// guard makes a panic a failure of this one message.
func (s *Server) guard(msg *message) (d Decision) {
	defer func() {
		if v := recover(); v != nil {
			d = s.fail(msg, causeError, &panicked{v, debug.Stack()})
		}
	}()
	return s.judge(msg)
}

// judgeMessage counts the message, then asks both questions about it: the copy
// that reaches the bulk threshold is bulk itself. The retry of one that was deferred
// was counted then.
func (s *Server) judgeMessage(msg *message) Decision {
	msg.stage.enterSigning()
	content := msg.content()
	if msg.short {
		s.metrics.truncated.WithLabelValues(overTurn).Inc()
	}
	set := s.sign(content, msg.stage.unpack)
	msg.stage.enterOurs()
	if len(set.Signatures) == 0 {
		d := unsigned(content.Truncated)
		d.Limits, d.Short = set.Limits, msg.short
		return d
	}
	sightings := msg.sightings()
	if s.returned(msg, set) {
		sightings = 0
	}
	if err := s.db.Count(set, sightings); err != nil {
		s.metrics.failure("count")
		if s.countFailed.allow() {
			msg.options.Log.Error("count is not on disk", "error", err)
		}
	}
	evidence := s.db.Judge(set)
	if err := s.db.CountDomains(set, evidence, sightings); err != nil {
		s.metrics.failure("count")
	}
	d := msg.options.rules.decide(evidence, true, &msg.envelope, msg.allowed)
	s.greylist(&d, msg, set, evidence)
	if len(d.Signatures) == 0 {
		d.Signatures = set.Counting
	}
	d.Limits, d.Short = set.Limits|evidence.Limits, msg.short
	return d
}

// Causes of failures of ours, as header, log and metric name them.
const (
	causeOverload = "overload" // no processor or slot came free for it, or judging is suspended
	causeError    = "error"    // a panic, or an answer that could not be given
	causeDeadline = "deadline" // judging took longer than Options.JudgeTimeout
)

// panicked is what a recovered panic was about.
type panicked struct {
	value any
	stack []byte
}

// Error shows the value only where the runtime made it: others may quote the message,
// of which the log holds nothing. Where it came from is in the stack.
func (p *panicked) Error() string {
	if err, ok := p.value.(runtime.Error); ok {
		return "panic: " + err.Error()
	}
	return fmt.Sprintf("panic: a value of type %T", p.value)
}

// failure is the decision about a message that cannot be judged.
func (o *Options) failure(cause string) Decision {
	d := Decision{Verdict: failed, Action: Tag, Reason: cause}
	tempfail := map[string]bool{
		causeOverload: o.Tempfail.Overload, causeError: o.Tempfail.Error, causeDeadline: o.Tempfail.Deadline,
	}
	if tempfail[cause] {
		d.Action = Tempfail
	}
	return d
}

// fail logs and counts a failure of ours. Overload comes by the hundred and takes one
// line a minute; the line of each such message says it too. What one recipient is
// allowed is not deferred.
func (s *Server) fail(msg *message, cause string, err error) Decision {
	s.metrics.failure(cause)
	if !errors.Is(err, errExpensive) { // or a sender could make us look unready
		s.failed(msg.options.Log, cause)
	}
	d := msg.options.failure(cause)
	if msg.allowed != nil {
		d.Action = d.Action.atMostTag()
	}
	if cause == causeOverload && !s.overloaded.allow() {
		return d
	}
	attrs := []any{"queue_id", msg.queueID, "cause", cause, "error", err}
	var p *panicked
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.stack))
	}
	msg.options.Log.Error("message not judged", attrs...)
	return d
}
