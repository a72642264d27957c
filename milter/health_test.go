package milter

import (
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/health"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/turns"
)

// Bounds of package health.
const (
	tripRow    = 5
	tripWindow = 20
	closeRow   = 3
	many       = 10
	quiet      = 5 * time.Minute
)

// verdictOf returns the message's header without the site.
func verdictOf(t *testing.T, m *mta, msg mail) string {
	t.Helper()
	changes, answer := m.send(msg)
	if answer.Code != 'c' || len(changes) != 1 {
		return string(rune(answer.Code))
	}
	value, _, _ := strings.Cut(changes[0].HeaderValue, "; site=")
	return value
}

// Judging hangs: the first messages pass at their deadlines, the others at once. When
// judging works again, three probes pass and it resumes.
func TestJudgingIsSuspended(t *testing.T) { synctest.Test(t, judgingIsSuspended) }

func judgingIsSuspended(t *testing.T) {
	release, ln := make(chan struct{}), newMemoryListener()
	b := startOn(t, ln, Options{}, func(j judged) policy.Decision { <-release; return clean(j) })
	m := dialBy(t, ln, "", "", "192.0.2.1")
	for i := range tripRow {
		if b.Fault() != nil {
			t.Fatalf("fault %v after %d messages", b.Fault(), i)
		}
		want := "failed; reason=overload"
		if i < runtime.GOMAXPROCS(0) {
			want = "failed; reason=deadline"
		}
		if got := verdictOf(t, m, mail{body: "x"}); got != want {
			t.Errorf("message %d: %q, want %q", i, got, want)
		}
	}
	fault := b.Fault()
	if fault == nil || !strings.Contains(fault.Error(), "5 messages in a row were not judged in time") {
		t.Errorf("fault %v", fault)
	}
	if n := b.metric("spambloom_milter_breaker", ""); n != 1 {
		t.Errorf("breaker metric %v", n)
	}
	o := *b.options.Load()
	o.JudgeTimeout = time.Hour // a message that waits now fails the test
	b.Reload(o)
	for range 3 {
		if got := verdictOf(t, m, mail{body: "x"}); got != "failed; reason=overload" {
			t.Errorf("while judging is suspended: %q", got)
		}
	}
	if lines := b.log.lines(t, "judging suspended: mail passes unchecked, except for one probe message at a time"); len(lines) != 1 {
		t.Errorf("%d log lines of the trip", len(lines))
	}
	close(release)
	testenv.Eventually(t, "free processors", func() bool { return b.Load().Judging == 0 })
	for i := range closeRow {
		if b.Fault() == nil {
			t.Errorf("no fault any more after %d probes", i)
		}
		if got := verdictOf(t, m, mail{body: "x"}); got != "clean; count=0; sites=0" {
			t.Errorf("probe %d: %q", i, got)
		}
	}
	if b.Fault() != nil || b.metric("spambloom_milter_breaker", "") != 0 {
		t.Errorf("fault %v afterwards", b.Fault())
	}
	if lines := b.log.lines(t, "judging resumed"); len(lines) != 1 || lines[0]["passed"] != 3. {
		t.Errorf("log of the close: %v", lines)
	}
}

// A site that gets no mail because it is not ready must become ready without mail: the next
// messages are probes. While all processors are busy no probe is possible.
func TestSuspendedWithoutMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, Options{})
		for range tripRow {
			s.health.Admit(s.turns.HasFree())
			s.outcome(false, health.NotInTime)
		}
		fault := func(want bool) {
			t.Helper()
			if got := s.Fault(); (got != nil) != want {
				t.Errorf("fault %v, want one: %v", got, want)
			}
		}
		time.Sleep(quiet - time.Second)
		fault(true)
		time.Sleep(time.Second)
		fault(false)
		if !s.Load().Suspended {
			t.Error("judging is no longer suspended")
		}
		release := make(chan struct{})
		for range runtime.GOMAXPROCS(0) {
			s.turns.Ask(turns.Request{Limit: time.Hour, Judge: func(bool) { <-release }})
		}
		fault(true)
		close(release)
		synctest.Wait()
		fault(false)
		if judge, probe := s.health.Admit(s.turns.HasFree()); !judge || !probe {
			t.Error("the next message is not a probe")
		}
		fault(true)
		s.outcome(true, health.NotInTime)
		fault(true)
	})
}

// client is a session at the end of its message, from an SMTP client of its own.
func client(s *Server, last byte) (*session, *message) {
	x, msg := waiting(s, 1)
	msg.Client = netip.AddrFrom4([4]byte{192, 0, 2, last})
	return x, msg
}

// tally counts decisions by their verdict and reason.
type tally struct {
	mu    sync.Mutex
	count map[string]int
	slow  time.Duration // the longest wait of a judged message
}

func (c *tally) add(d policy.Decision, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count == nil {
		c.count = make(map[string]int)
	}
	c.count[string(d.Verdict)+d.Reason]++
	if d.Verdict == policy.Clean {
		c.slow = max(c.slow, took)
	}
}

// Waiting messages are refused when judging is suspended.
func TestSuspensionEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, Options{})
		release := make(chan struct{})
		s.judge = func(*message) policy.Decision { <-release; return clean(judged{}) }
		var all sync.WaitGroup
		begun := time.Now()
		for i := range 25 { // one a second; the fifth is late after 34 s
			x, msg := client(s, byte(i))
			all.Go(func() { x.server.judgeInTurn(msg, x.conn.progress) })
			time.Sleep(time.Second)
		}
		all.Wait()
		if took := time.Since(begun); took > 30*time.Second+max(tripRow, time.Duration(runtime.GOMAXPROCS(0)))*time.Second {
			t.Errorf("the last message was answered after %v", took)
		}
		close(release)
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// One client sends hundreds of costly messages and waits for itself. Other clients' mail is
// judged soon, and judging is not suspended.
func TestFloodOfOneClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, Options{})
		s.judge = func(m *message) policy.Decision {
			if m.Client.As4()[3] == 1 {
				time.Sleep(2 * time.Second)
			}
			return clean(judged{})
		}
		var all sync.WaitGroup
		var flood, others tally
		send := func(from byte, to *tally) {
			all.Go(func() {
				x, msg := client(s, from)
				begun := time.Now()
				to.add(x.server.judgeInTurn(msg, x.conn.progress), time.Since(begun))
			})
			synctest.Wait()
		}
		for range 5 * 60 * runtime.GOMAXPROCS(0) {
			send(1, &flood)
		}
		for i := range 60 {
			send(byte(2+i%5), &others)
			time.Sleep(time.Second)
		}
		all.Wait()
		most := 3 * time.Second
		if runtime.GOMAXPROCS(0) == 1 { // a message that arrives during one turn of the flood also waits for its next turn
			most = 4 * time.Second
		}
		if others.count["clean"] != 60 || others.slow > most {
			t.Errorf("others: %v, waited up to %v", others.count, others.slow)
		}
		if flood.count["clean"] == 0 || flood.count["failedoverload"] == 0 || flood.count["faileddeadline"] > 0 {
			t.Errorf("the flood: %v", flood.count)
		}
		if s.health.IsSuspended() {
			t.Error("one client suspended judging")
		}
	})
}

// Costly mail arrives from more clients than can be judged. The excess passes at once, the
// rest is judged in time, and judging is not suspended.
func TestFloodOfManyClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, Options{})
		s.judge = func(*message) policy.Decision { time.Sleep(time.Second); return clean(judged{}) }
		var all sync.WaitGroup
		var flood tally
		for i := range 120 { // twice as many as can be judged
			for j := range 2 * runtime.GOMAXPROCS(0) {
				all.Go(func() {
					x, msg := client(s, byte(i*7+j))
					begun := time.Now()
					flood.add(x.server.judgeInTurn(msg, x.conn.progress), time.Since(begun))
				})
			}
			time.Sleep(time.Second)
		}
		all.Wait()
		total := 240 * runtime.GOMAXPROCS(0)
		if n := flood.count["clean"]; n < total*2/5 || n+flood.count["failedoverload"] != total {
			t.Errorf("of %d messages: %v", total, flood.count)
		}
		if s.health.IsSuspended() || s.Fault() == nil {
			t.Errorf("suspended %v, fault %v", s.health.IsSuspended(), s.Fault())
		}
		time.Sleep(2 * time.Minute)
		if fault := s.Fault(); fault != nil {
			t.Errorf("long after: %v", fault)
		}
	})
}

// Dozens of panics are reported, but a sender cannot switch the filter off with them.
func TestPanicsDoNotSuspendJudging(t *testing.T) {
	b := start(t, Options{}, decideBySubject)
	m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	for range 2 * many {
		if got := verdictOf(t, m, mail{header: []string{"Subject: panic"}}); got != "failed; reason=error" {
			t.Fatalf("a message with a panic: %q", got)
		}
	}
	if fault := b.Fault(); fault == nil || !strings.Contains(fault.Error(), "cause: error") {
		t.Errorf("fault %v", fault)
	}
	if lines := b.log.lines(t, "many messages were not judged"); len(lines) != 1 || lines[0]["cause"] != "error" {
		t.Errorf("log %v", lines)
	}
	changes, _ := m.send(mail{header: []string{"Subject: tag"}})
	if got := changed(changes); len(got) != 1 {
		t.Errorf("the next message: %q", got)
	}
}

// Each cause of a failure has an action of its own.
func TestFailuresByCause(t *testing.T) {
	all := []string{causeOverload, causeError, causeDeadline}
	for _, cause := range all {
		var o Options
		switch cause {
		case causeOverload:
			o.Tempfail.Overload = true
		case causeError:
			o.Tempfail.Error = true
		case causeDeadline:
			o.Tempfail.Deadline = true
		}
		for _, other := range all {
			want := policy.Tag
			if other == cause {
				want = policy.Tempfail
			}
			if d := o.failure(other); d.Action != want || d.Verdict != policy.Failed || d.Reason != other {
				t.Errorf("tempfail at %s: a failure by %s is %+v", cause, other, d)
			}
		}
	}
	if !slices.Equal(all, causes) {
		t.Errorf("causes %v", causes)
	}
}

// The cause of a failure is where most of the message's time went.
func TestTooLate(t *testing.T) {
	const limit = time.Hour
	for _, c := range []struct {
		begun time.Time
		want  string
	}{
		{time.Time{}, causeOverload},
		{time.Now().Add(-limit / 3), causeOverload},
		{time.Now().Add(-2 * limit / 3), causeDeadline},
	} {
		if cause, err := tooLate(time.Now().Add(-limit), c.begun, limit); cause != c.want || err == nil {
			t.Errorf("begun %v: %s, %v; want %s", c.begun, cause, err, c.want)
		}
	}
}
