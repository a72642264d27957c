package milter

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// jumpingClock is a database clock that the test sets. A server measures its own times by
// the monotonic clock, which does not jump.
type jumpingClock struct{ offset atomic.Int64 } // nanoseconds

func (c *jumpingClock) now() time.Time {
	return time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC).Add(time.Duration(c.offset.Load()))
}

// clockWorld is a server whose database has such a clock and does its periodic work.
type clockWorld struct {
	*testing.T
	clock *jumpingClock
	db    *bloomdb.DB
	mta   *mta
	next  int // number of the next new text
}

func newClockWorld(t *testing.T) *clockWorld {
	t.Helper()
	w := &clockWorld{T: t, clock: &jumpingClock{}}
	db, err := bloomdb.Open(bloomdb.Options{Dir: t.TempDir(), Site: "mx1", Now: w.clock.now,
		Reports: bloomdb.ReportOptions{Capacity: 1000}, // five weeks
		Counts:  bloomdb.CountOptions{Capacity: 1000, Burst: 10 * time.Minute}})
	testenv.Check(t, err)
	w.db = db
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- db.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for _, err := range []error{<-ran, db.Check(), db.Close()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
	b := start(t, Options{Policy: policy.Policy{BulkThreshold: 3}, GreylistFrom: 1000}, nil)
	b.Server.db = db
	w.mta = dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
	return w
}

// text returns a new, distinct message.
func (w *clockWorld) text() mail {
	w.next++
	words := strings.Fields("apple basket candle dragon engine forest garden harbour island jacket kettle ladder mirror " +
		"needle orange pepper quarry ribbon saddle tunnel umbrella valley window yellow zebra anchor bridge copper desert")
	random := rand.New(rand.NewPCG(uint64(w.next), 0))
	m := mail{header: letter.header}
	for i := range 90 {
		m.body += words[random.IntN(len(words))] + map[bool]string{false: " ", true: ".\r\n"}[i%9 == 8]
	}
	return m
}

// expect sends a message and checks its verdict.
func (w *clockWorld) expect(when string, m mail, want policy.Verdict) {
	w.Helper()
	changes, answer := w.mta.send(m)
	for _, c := range changes {
		if verdict, _, _ := strings.Cut(c.HeaderValue, ";"); c.HeaderName == header.Verdict {
			if verdict != string(want) {
				w.Errorf("%s: a message is %s, should be %s", when, c.HeaderValue, want)
			}
			return
		}
	}
	w.Errorf("%s: answer %q without a verdict", when, answer.Code)
}

// The clock jumps by hours, days and weeks, in both directions, and back. Mail is answered
// throughout, according to the time that the clock shows: reports of five weeks, counts of
// two days. A jump that is undone within ten minutes forgets nothing. Setting the clock
// back forgets nothing either: reports from the future are listed. Only reports made while
// the clock stands five weeks or more back have expired once it is right again.
func TestClockJumps(t *testing.T) {
	testenv.Servers(t)
	const day = 24 * time.Hour
	for _, test := range []struct {
		jump time.Duration

		report, sum policy.Verdict // of reported and frequent messages, before the jump
		meanwhile   policy.Verdict // of messages reported after the jump, once it is undone
	}{
		{3 * time.Hour, policy.Spam, policy.Bulk, policy.Spam},
		{-3 * time.Hour, policy.Spam, policy.Bulk, policy.Spam},
		{day, policy.Spam, policy.Bulk, policy.Spam},
		{-day, policy.Spam, policy.Bulk, policy.Spam},
		{3 * day, policy.Spam, policy.Clean, policy.Spam}, // counts are kept for two days
		{-3 * day, policy.Spam, policy.Bulk, policy.Spam},
		{8 * day, policy.Spam, policy.Clean, policy.Spam},
		{-8 * day, policy.Spam, policy.Bulk, policy.Spam},
		{6 * 7 * day, policy.Clean, policy.Clean, policy.Spam}, // reports are kept for five weeks
		{-6 * 7 * day, policy.Spam, policy.Bulk, policy.Clean},
		{3650 * day, policy.Clean, policy.Clean, policy.Spam},
		{-3650 * day, policy.Spam, policy.Bulk, policy.Clean},
	} {
		t.Run(test.jump.String(), func(t *testing.T) {
			w := newClockWorld(t)
			reported, often := w.text(), w.text()
			w.report(reported)
			for _, want := range []policy.Verdict{policy.Clean, policy.Clean, policy.Bulk} {
				w.expect("before", often, want)
			}
			w.clock.offset.Add(int64(test.jump))
			w.expect("after the jump", reported, test.report)
			w.expect("after the jump", often, test.sum)
			w.expect("after the jump", w.text(), policy.Clean)
			meanwhile := w.text()
			w.report(meanwhile)
			w.expect("after the jump, reported just now", meanwhile, policy.Spam)
			if s := w.db.Status(); s.ErrorPerMail > 1e-3 || s.Error != "" || len(s.Filters) == 0 {
				w.Errorf("after the jump: %+v", s)
			}
			w.clock.offset.Add(-int64(test.jump))
			w.expect("back again", reported, policy.Spam)
			w.expect("back again", often, policy.Bulk)
			w.expect("back again, reported meanwhile", meanwhile, test.meanwhile)
			w.expect("back again", w.text(), policy.Clean)
		})
	}
}

func (w *clockWorld) report(m mail) {
	w.Helper()
	if err := w.db.Report(m.set(), bloomdb.ClassOther); err != nil {
		w.Fatal(err)
	}
}

// A clock that moves between any two messages: each is answered, and a reported message is
// spam at once.
func TestClockJumpsAllTheTime(t *testing.T) {
	w := newClockWorld(t)
	jumps := []time.Duration{time.Hour, -2 * time.Hour, 26 * time.Hour, -50 * time.Hour, 9 * 24 * time.Hour,
		-17 * 24 * time.Hour, 40 * 24 * time.Hour, -31 * 24 * time.Hour}
	for i := range 5 * len(jumps) {
		w.clock.offset.Add(int64(jumps[i%len(jumps)]))
		when := fmt.Sprintf("jump %d", i)
		m := w.text()
		w.expect(when, m, policy.Clean)
		w.report(m)
		w.expect(when, m, policy.Spam)
		if e := w.db.Judge(signature.Compute(signature.Message{})); e.Listed || e.Count != 0 {
			w.Errorf("%s: not found: %+v", when, e)
		}
	}
}
