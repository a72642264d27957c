// Package replay tries on mail at hand what reports would list; no daemon is asked.
// Compare does so for two messages, exactly. Run takes an archive of mail, sorted into
// spam and ham, through the pipeline that mail goes through, and counts what became of
// it. The package owns the order of the messages, the simulated sites and reporters,
// and the sums.
//
//	message -> a site's database: Count, Judge -> milter.Policy -> sums
//	spam, some messages later -> Report -> that site -> deltas -> the other sites
//
// Signatures, filters, generations, journals and deltas are the real ones; only
// Redis and the mail server are away. A site's clock shows the time of the message
// that it has before it, so that reports age as they do in life.
package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/signature"
)

// Message is one message of an archive.
type Message struct {
	Name string
	Spam bool
	Time time.Time // when it arrived; zero: unknown
	Set  signature.Set
}

// Options say how an archive is run.
type Options struct {
	Dir   string // an empty folder for the state of the sites
	Sites int    // among which the messages are dealt, 1 to MaxSites
	Seed  uint64 // of all that is drawn

	ReportAfter int     // messages that come between a spam and its report
	ReportShare float64 // of the spam, 0 to 1: how much of it anybody reports

	Clock         bool   // the sites' clock follows the messages; else it stands still
	BulkThreshold uint64 // sightings from which a message is bulk; 0: never
}

// MaxSites bounds Options.Sites: each has filters of its own.
const MaxSites = 64

// Validate says which option is out of its range.
func (o *Options) Validate() error {
	switch {
	case o.Sites < 1 || o.Sites > MaxSites:
		return fmt.Errorf("%d sites, must be 1 to %d", o.Sites, MaxSites)
	case o.ReportAfter < 0:
		return fmt.Errorf("reports after %d messages, must be 0 or more", o.ReportAfter)
	case !(o.ReportShare >= 0 && o.ReportShare <= 1):
		return fmt.Errorf("share of reported spam %v, must be 0 to 1", o.ReportShare)
	}
	return nil
}

// pendingReport is a report that somebody is going to make.
type pendingReport struct {
	due  int // before the message of this number
	site *site
	m    *Message
}

// run is the state of one run.
type run struct {
	opt      Options
	sites    *sites
	policy   milter.Policy
	random   *rand.Rand
	pending  []pendingReport // by due
	reported *reported
	result   *Result
}

// Run judges messages in the order given, each before it is reported, and calls
// judged after each. The same messages and options give the same result, but for
// its times: filters err by their key, which is drawn from the seed as well.
func Run(ctx context.Context, messages []Message, o Options, judged func()) (_ *Result, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := &run{
		opt: o, policy: milter.Policy{BulkThreshold: o.BulkThreshold},
		random: rand.New(rand.NewPCG(o.Seed, o.Seed)), reported: newReported(), result: newResult(),
	}
	if r.sites, err = openSites(messages, o, r.random); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.sites.close()) }()
	begin := time.Now()
	for i := range messages {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.next(i, &messages[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", messages[i].Name, err)
		}
		judged()
	}
	r.result.finish(messages, time.Since(begin))
	return r.result, nil
}

// next lets the reports come in that are due, and then a message.
func (r *run) next(i int, m *Message) error {
	if err := r.sites.advance(m.Time); err != nil {
		return err
	}
	if err := r.reportDue(i); err != nil {
		return err
	}
	s := r.sites.deal(i, r.random)
	if err := r.judge(s, m); err != nil {
		return err
	}
	if m.Spam && r.random.Float64() < r.opt.ReportShare {
		r.pending = append(r.pending, pendingReport{i + 1 + r.opt.ReportAfter, s, m})
	}
	return nil
}

// judge does what the milter does at the end of a message.
func (r *run) judge(s *site, m *Message) error {
	if len(m.Set.Signatures) == 0 {
		r.result.add(m, r.policy.Decide(bloomdb.Evidence{}, false), bloomdb.Evidence{}, nil)
		return nil
	}
	if err := s.db.Count(m.Set, 1); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	e := s.db.Judge(m.Set)
	if err := s.db.CountDomains(m.Set, e, 1); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	d := r.policy.Decide(e, true)
	var reasons []Reason
	if d.Verdict == milter.Spam && !m.Spam {
		reasons = r.reported.reasons(m.Set, e)
	}
	r.result.add(m, d, e, reasons)
	return nil
}

// reportDue makes the reports that come before a message.
func (r *run) reportDue(i int) error {
	for len(r.pending) > 0 && r.pending[0].due <= i {
		p := r.pending[0]
		r.pending = r.pending[1:]
		err := p.site.db.Report(p.m.Set, bloomdb.ClassOther)
		if errors.Is(err, bloomdb.ErrNothing) {
			r.result.Unreportable++
			continue
		}
		if err != nil {
			return fmt.Errorf("report of %s: %w", p.m.Name, err)
		}
		r.result.Reported++
		r.reported.add(p.m)
		r.sites.news = true
	}
	return r.sites.exchange(i)
}
