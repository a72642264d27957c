package milter

import (
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/health"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/turns"
	"github.com/spambloom/spambloom/signature"
)

// decide returns the verdict on a message and the action. It calls progress now and then
// while the sender has to wait.
func (s *Server) decide(msg *message, progress func()) policy.Decision {
	if reason := msg.skip(); reason != "" {
		return policy.Skip(reason)
	}
	allowed, whole := msg.options.rules.Allowed(&msg.Envelope, msg.wholeHeader())
	if msg.allowed = allowed; whole != nil {
		return *whole
	}
	return s.judgeInTurn(msg, progress) // signature.Compute, DB.Count, DB.Judge, the policies
}

// judgeInTurn waits for the message's turn and its judgement, calls notify meanwhile, and
// gives up at the deadline. Judging is pure computing and cannot be interrupted. Past the
// deadline it continues with the message's memory and its result is dropped; Shutdown waits
// for it.
func (s *Server) judgeInTurn(msg *message, notify func()) policy.Decision {
	judge, probe := s.health.Admit(s.turns.HasFree())
	if !judge {
		return s.fail(msg, causeOverload, errSuspended)
	}
	o := health.SendersFault
	defer func() { s.outcome(probe, o) }() // also after a panic, or a probe would never end
	limit, asked := msg.options.JudgeTimeout, time.Now()
	content := *msg
	content.stage = new(turns.Stage)
	judged := make(chan policy.Decision, 1)
	client, sender := msg.Client, msg.Sender
	if msg.place.IsValid() {
		client, sender = msg.place, ""
	}
	turn := s.turns.Ask(turns.Request{
		Client: client, Sender: sender, Size: min(msg.kept, msg.options.MaxMessage), Limit: limit, Quantum: s.quantum, Stage: content.stage,
		Judge: func(short bool) { content.short = short; s.judgeOnce(&content, judged) },
	})

	progress, half, deadline := time.NewTicker(s.progress), time.NewTimer(limit/2), time.NewTimer(limit)
	defer progress.Stop()
	defer half.Stop()
	defer deadline.Stop()
	overtime := turn.Overtime()
	for {
		select {
		case d := <-judged:
			o = health.JudgedInTime
			return d
		case <-turn.Refused():
			o = health.TurnedAway
			return s.fail(msg, causeOverload, turn.Err())
		case <-overtime:
			overtime = nil
			s.overran(msg)
			if probe { // the next probe need not wait for this one
				s.outcome(probe, o)
				probe = false
			}
		case <-progress.C:
			notify()
		case <-half.C:
			s.turns.Hurry(turn)
		case <-deadline.C:
			var d policy.Decision
			d, o = s.late(msg, turn, asked, content.release)
			return d
		}
	}
}

// judgeOnce sends the decision about msg, unless signing was stopped: then it begins again.
func (s *Server) judgeOnce(msg *message, judged chan<- policy.Decision) {
	if d := s.guard(msg); !msg.stage.IsStopped() {
		judged <- d
	}
}

// late returns the decision about a message at its deadline, and whose fault that is. If
// the message is still being judged, its memory stays booked until abandoned is called at
// the end.
func (s *Server) late(msg *message, turn *turns.Turn, asked time.Time, abandoned func()) (policy.Decision, health.Outcome) {
	left := s.turns.Leave(turn, abandoned)
	cause, err := tooLate(asked, left.Begun, turn.Limit)
	if left.IsRunning {
		msg.disown()
	}
	if left.IsCostly && !left.IsOurFault {
		err = fmt.Errorf("%w: %w", errExpensive, err)
	}
	if left.IsOurFault {
		return s.fail(msg, cause, err), health.NotInTime
	}
	return s.fail(msg, cause, err), health.SendersFault
}

var (
	errSuspended = errors.New("judging suspended")                             // the breaker is open
	errExpensive = errors.New("message takes too long to sign or has no room") // marks failures that senders cause
)

// overran records a message that exceeded its quantum. The message's own log line reports
// the outcome.
func (s *Server) overran(msg *message) {
	s.metrics.Overtime.Inc()
	if s.setBack.Allow() {
		msg.options.Log.Warn("message takes long to sign: its sender is set back", "queue_id", msg.QueueID,
			"client", msg.clientName(), "from", msg.Sender, "size", msg.size)
	}
}

// tooLate returns the cause of a message's failure at its deadline: judging or waiting,
// whichever took most of the time. Begun is that of turns.Left.
func tooLate(asked, begun time.Time, limit time.Duration) (cause string, err error) {
	if begun.IsZero() || time.Since(begun) < limit/2 {
		return causeOverload, fmt.Errorf("no processor or unpacking slot became free within %v", limit)
	}
	waited := begun.Sub(asked).Round(time.Millisecond)
	return causeDeadline, fmt.Errorf("no judgement after %v, %v of it spent waiting", limit, waited)
}

// guard turns a panic into a failure of this one message.
func (s *Server) guard(msg *message) (d policy.Decision) {
	defer func() {
		if v := recover(); v != nil {
			d = s.fail(msg, causeError, health.NewPanic(v))
		}
	}()
	return s.judge(msg)
}

// judgeMessage counts the message before judging it, so that the copy that reaches the bulk
// threshold is bulk itself. The retry of a deferred message was already counted.
func (s *Server) judgeMessage(msg *message) policy.Decision {
	msg.stage.EnterSigning()
	content := msg.content()
	if msg.short {
		s.metrics.Truncated.WithLabelValues(overTurn).Inc()
	}
	set := s.sign(content, msg.stage.Unpack, msg.stage.Stop())
	if !msg.stage.EnterOurs() {
		return policy.Decision{} // signing was stopped; it begins again
	}
	if msg.signed != nil {
		msg.signed <- set
		return policy.Decision{Short: msg.short || content.Truncated && !msg.isLong}
	}
	sender := msg.from()
	isCut := msg.oversize || content.Truncated && !msg.short
	lacksRoom := msg.options.Tempfail.Overload && isCut && !msg.isLong
	isListed := (lacksRoom || len(set.Signatures) == 0 && len(set.Sketches) > 0) && s.db.JudgeFrom(set, sender).Listed
	if lacksRoom && !isListed {
		return s.fail(msg, causeOverload, errExpensive) // its end may be what was reported
	}
	if len(set.Signatures) == 0 && !isListed {
		d := policy.Unsigned(content.Truncated)
		d.Limits, d.Short = set.Limits, msg.short
		return d
	}
	sightings := s.count(msg, set)
	evidence := s.db.JudgeFrom(set, sender)
	if err := s.db.CountDomains(set, evidence, sightings); err != nil {
		s.metrics.Failure("count")
	}
	if msg.isUsers { // the proof is his own, and decides his verdict only
		sender = bloomdb.Sender{}
	}
	s.db.Learn(set, sender, evidence, s.db.Now())
	d := msg.options.rules.Decide(evidence, true, &msg.Envelope, msg.allowed)
	s.greylist(&d, msg, set, evidence)
	if len(d.Signatures) == 0 {
		d.Signatures = set.Counting
	}
	d.Limits, d.Short = set.Limits|evidence.Limits, msg.short
	if judged := msg.options.Judged; judged != nil {
		judged(Judgement{
			QueueID: msg.QueueID, Sender: msg.Source(), From: sender.From, Copies: sightings, IsUsers: msg.isUsers,
			Verdict: d.Verdict, Listed: evidence.Listed, Shown: d.Signatures, Set: set, Spared: d.Spared,
		})
	}
	return d
}

// count adds the sightings of a message to those of this site, and returns their number. A second
// try of a message that was deferred is none.
func (s *Server) count(msg *message, set signature.Set) (sightings uint32) {
	if !s.isRetry(msg, set) {
		sightings = msg.sightings()
	}
	if err := s.db.Count(set, sightings); err != nil {
		s.metrics.Failure("count")
		if s.countFailed.Allow() {
			msg.options.Log.Error("count not written to disk", "error", err)
		}
	}
	return sightings
}

// Judgement is the verdict on one message, with its signatures.
type Judgement struct {
	QueueID string // of the MTA; empty: the MTA sent none
	Sender  string // domain of the envelope's sender; of a bounce, the network of its client
	From    string // proven From domain; empty: none
	Copies  uint32 // that were counted; 0: it is the retry of a deferred message
	Verdict policy.Verdict
	Listed  bool                  // the message matches a report, whatever the verdict
	Shown   []signature.Signature // those that the header names
	Set     signature.Set
	Spared  string // proven From domain without which near matches would list it; empty: none

	IsUsers bool // an ordinary user of this machine sent it, who chose QueueID, Sender and Spared
}

// Causes of our own failures, as in header, log and metric.
const (
	causeOverload = "overload" // no processor or slot became free, or judging is suspended
	causeError    = "error"    // a panic, or the answer could not be sent
	causeDeadline = "deadline" // judging took longer than Options.JudgeTimeout
)

// failure returns the decision about a message that cannot be judged.
func (o *Options) failure(cause string) policy.Decision {
	d := policy.Decision{Verdict: policy.Failed, Action: policy.Tag, Reason: cause}
	tempfail := map[string]bool{
		causeOverload: o.Tempfail.Overload, causeError: o.Tempfail.Error, causeDeadline: o.Tempfail.Deadline,
	}
	if tempfail[cause] {
		d.Action = policy.Tempfail
	}
	return d
}

// fail logs and counts a failure of our own. Overload gets one line a minute. A message with
// an allowed recipient is not deferred.
func (s *Server) fail(msg *message, cause string, err error) policy.Decision {
	s.metrics.Failure(cause)
	if !errors.Is(err, errExpensive) && (!msg.isUsers || cause != causeOverload) { // or a sender, or a user, could make this site look unready
		s.failed(msg.options.Log, cause)
	}
	d := msg.options.failure(cause)
	if msg.allowed != nil {
		d.Action = d.Action.AtMostTag()
	}
	if cause == causeOverload && !s.overloaded.Allow() {
		return d
	}
	attrs := []any{"queue_id", msg.QueueID, "cause", cause, "error", err}
	var p *health.Panic
	if errors.As(err, &p) {
		attrs = append(attrs, "stack", string(p.Stack))
	}
	msg.options.Log.Error("message not judged", attrs...)
	return d
}
