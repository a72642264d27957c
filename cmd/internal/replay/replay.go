// Package replay tests reports on existing mail, without a daemon. Compare does so for two
// messages, exactly. Run passes an archive of mail, sorted into spam and ham, through the
// same pipeline as live mail, and counts the results. The package owns the order of the
// messages, the simulated sites and reporters, and the sums.
//
//	message -> a site's database: Count, Judge -> policy.Policy -> sums
//	spam, some messages later -> Report -> that site -> deltas -> the other sites
//
// Signatures, filters, generations, journals and deltas are the real ones; only Redis and
// the mail server are absent. A site's clock shows the time of its current message, so that
// reports expire as in production.
package replay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// Message is one message of an archive.
type Message struct {
	Name string
	Spam bool
	Time time.Time // of arrival; zero: unknown
	Set  signature.Set
	From string // registrable domain of From; "": unknown
}

// sender returns who answers for a message. There is no verifier: the From of ham counts as proven,
// that of spam does not, as forged ones are not, unless the options say otherwise.
func (m *Message) sender(o *Options) bloomdb.Sender {
	if m.Spam && !o.allProven || o.noneProven {
		return bloomdb.Sender{}
	}
	return bloomdb.Sender{From: m.From}
}

// Options determine how an archive is run.
type Options struct {
	Dir   string // an empty folder for the state of the sites
	Sites int    // number of sites for the messages, 1 to MaxSites
	Seed  uint64 // of all random choices

	ReportAfter int     // number of messages between a spam and its report
	ReportShare float64 // share of the spam that is reported, 0 to 1

	Clock         bool   // the sites' clock follows the messages; otherwise it stands still
	BulkThreshold uint64 // sightings from which a message is bulk; 0: never

	Learn        []Message // wanted mail that is learned before the first message, as by `spambloom learn`
	NoCommonness bool      // nothing is learned

	allProven  bool // spammers have domains of their own, and prove them
	noneProven bool // the site has no verifier, and stays new
}

// MaxSites bounds Options.Sites, because each has its own filters.
const MaxSites = 64

// Validate returns an error for an option out of its range.
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

// pendingReport is a report that will be made.
type pendingReport struct {
	due  int // before the message of this number
	site *site
	m    *Message
}

// run is the state of one run.
type run struct {
	opt      Options
	sites    *sites
	policy   policy.Policy
	random   *rand.Rand
	pending  []pendingReport // by due
	reported *reported
	result   *Result
}

// Run judges messages in the given order, each before it is reported, and calls judged
// after each. The same messages and options give the same result, except for its times: the
// filters' false positives depend on their key, which is derived from the seed too.
func Run(ctx context.Context, messages []Message, o Options, judged func()) (_ *Result, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r := &run{
		opt: o, policy: policy.Policy{BulkThreshold: o.BulkThreshold},
		random: rand.New(rand.NewPCG(o.Seed, o.Seed)), reported: newReported(), result: newResult(),
	}
	if r.sites, err = openSites(messages, o, r.random); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.sites.close()) }()
	begin := time.Now()
	for i := range o.Learn {
		if err := r.sites.learn(&o.Learn[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", o.Learn[i].Name, err)
		}
	}
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

// next processes the due reports, and then a message.
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

// judge acts like the milter at the end of a message.
func (r *run) judge(s *site, m *Message) error {
	if len(m.Set.Signatures) == 0 {
		r.result.add(m, r.policy.Decide(bloomdb.Evidence{}, false), bloomdb.Evidence{}, nil)
		return nil
	}
	if err := s.db.Count(m.Set, 1); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	e := s.db.JudgeFrom(m.Set, m.sender(&r.opt))
	if err := s.db.CountDomains(m.Set, e, 1); err != nil {
		return fmt.Errorf("count: %w", err)
	}
	s.db.Learn(m.Set, m.sender(&r.opt), e, r.sites.timeOf(m))
	d := r.policy.Decide(e, true)
	var reasons []Reason
	if d.Verdict == policy.Spam && !m.Spam {
		reasons = r.reported.reasons(m.Set, e)
	}
	r.result.add(m, d, e, reasons)
	return nil
}

// reportDue makes the reports due before a message.
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
