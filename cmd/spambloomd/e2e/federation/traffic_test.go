package federation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// campaign is a message sent repeatedly to all sites.
type campaign struct {
	body     string
	request  api.Request
	tried    uint64
	accepted []sighting
}

// sighting is one acknowledged mail.
type sighting struct {
	site int
	at   time.Time
}

// report is one acknowledged report, and its later state.
type report struct {
	request api.Request
	revoked bool // acknowledged
	unclear bool // a revocation was tried but not acknowledged
	id      string
	answers []string // of the daemons, for the analysis of a failure
}

// accounts records everything that the daemons have acknowledged.
type accounts struct {
	mu        sync.Mutex
	campaigns []*campaign
	reports   []*report
	syncs     []syncing
	refusals  []refusal
}

// syncing is an acknowledged report. Everything before it is synced in the site's journal.
type syncing struct {
	site        int
	sent, acked time.Time
}

// refusal is an unanswered request to a daemon.
type refusal struct {
	site     int
	from, to time.Time
	err      error
}

// outage is the time from a kill -9 to the end of the next start.
type outage struct{ killed, up time.Time }

func newAccounts(r *rand.Rand, campaigns int) *accounts {
	l := &accounts{}
	for range campaigns {
		body := harness.Paragraph(r)
		l.campaigns = append(l.campaigns, &campaign{body: body, request: harness.Request(body)})
	}
	return l
}

// mailflow is the mail and the users of one site.
type mailflow struct {
	*accounts
	site    int
	address *atomic.Pointer[string] // of the milter; it changes with each start
	client  *client.Client
	random  *rand.Rand
}

// work sends, reports and revokes at a given pace, until it is stopped.
func (u *mailflow) work(ctx context.Context, pace time.Duration) {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var err error
		begin := time.Now()
		switch {
		case n%15 == 0:
			err = u.revoke()
		case n%5 == 0:
			err = u.report()
		default:
			err = u.receive()
		}
		if err != nil {
			u.mu.Lock()
			u.refusals = append(u.refusals, refusal{u.site, begin, time.Now(), err})
			u.mu.Unlock()
		}
	}
}

func (u *mailflow) receive() error {
	u.mu.Lock()
	c := u.campaigns[u.random.IntN(len(u.campaigns))]
	c.tried++
	u.mu.Unlock()
	if err := harness.Deliver(*u.address.Load(), harness.Message(c.body)); err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	c.accepted = append(c.accepted, sighting{u.site, time.Now()})
	return nil
}

func (u *mailflow) report() error {
	r, sent := &report{request: harness.Request(harness.Paragraph(u.random))}, time.Now()
	receipt, err := client.Post(context.Background(), u.client, v1.Report, r.request)
	if err != nil {
		return err
	}
	r.answers = append(r.answers, fmt.Sprintf("%s reported at site%d: %+v", time.Now().Format(time.StampMilli), u.site+1, receipt))
	r.id = receipt.IDs[0]
	u.mu.Lock()
	defer u.mu.Unlock()
	u.reports = append(u.reports, r)
	u.syncs = append(u.syncs, syncing{u.site, sent, time.Now()})
	return nil
}

// revoke revokes a report made at any site.
func (u *mailflow) revoke() error {
	u.mu.Lock()
	if len(u.reports) == 0 {
		u.mu.Unlock()
		return nil
	}
	r := u.reports[u.random.IntN(len(u.reports))]
	u.mu.Unlock()
	receipt, err := client.Post(context.Background(), u.client, v1.Revoke, r.request)
	u.mu.Lock()
	defer u.mu.Unlock()
	r.answers = append(r.answers, fmt.Sprintf("%s revoked at site%d: %+v, %v", time.Now().Format(time.StampMilli), u.site+1, receipt, err))
	if err != nil {
		r.unclear = true
		return err
	}
	// The revocation of a report that has not arrived at this site waits for it.
	r.revoked = r.revoked || !receipt.Idle || !receipt.WaitsUntil.IsZero()
	return nil
}

// verdict returns the expected verdict of a message, "" if it is undetermined.
func (r *report) verdict() string {
	switch {
	case r.revoked:
		return "clean"
	case r.unclear:
		return ""
	default:
		return "spam"
	}
}

// wrong returns the reports whose state at a site differs from the acknowledged one.
func wrong(ctx context.Context, site *client.Client, reports []*report) (wrong []*report, err error) {
	for _, r := range reports {
		answer, err := client.Post(ctx, site, v1.Check, r.request)
		if err != nil {
			return reports, err
		}
		if want := r.verdict(); want != "" && answer.Verdict != want {
			wrong = append(wrong, r)
		}
	}
	return wrong, nil
}

// counts returns the campaigns' counts at a site.
func (l *accounts) counts(ctx context.Context, site *client.Client) (counts []uint64, err error) {
	for _, c := range l.campaigns {
		answer, err := client.Post(ctx, site, v1.Check, c.request)
		if err != nil {
			return nil, err
		}
		counts = append(counts, answer.Count)
	}
	return counts, nil
}

// durable returns the time before which an acknowledged mail survives a kill -9 of a site.
// The daemon syncs counts each second, which a busy disk delays. But an acknowledged report
// also syncs everything before it.
func (l *accounts) durable(site int, killed time.Time) (until time.Time) {
	for _, s := range l.syncs {
		if s.site == site && s.acked.Before(killed) && s.sent.After(until) {
			until = s.sent
		}
	}
	return until
}

// bounds returns the minimum and maximum valid count of a campaign.
func (l *accounts) bounds(c *campaign, down [][]outage) (least, most uint64) {
	for _, s := range c.accepted {
		lost := slices.ContainsFunc(down[s.site], func(o outage) bool {
			return s.at.Before(o.up) && s.at.After(l.durable(s.site, o.killed))
		})
		if !lost {
			least++
		}
	}
	return least, c.tried
}

// expectService checks that mail and reports were accepted whenever the daemon ran,
// whatever happened to Redis and the links.
func (l *accounts) expectService(t *testing.T, down [][]outage) {
	t.Helper()
	for _, f := range l.refusals {
		if !slices.ContainsFunc(down[f.site], func(o outage) bool { return f.to.After(o.killed) && f.from.Before(o.up) }) {
			t.Errorf("site %d failed, though it was not killed: %v", f.site+1, f.err)
		}
	}
}

// expectCounts compares the counts on which all sites agree with the acknowledged mail.
func (l *accounts) expectCounts(t *testing.T, counts []uint64, down [][]outage) {
	t.Helper()
	var accepted, counted, atLeast, tried uint64
	for i, c := range l.campaigns {
		least, most := l.bounds(c, down)
		if counts[i] < least || counts[i] > most {
			t.Errorf("campaign %d was counted %d times; %d to %d are right (%d acknowledged)", i, counts[i], least, most, len(c.accepted))
		}
		accepted, counted = accepted+uint64(len(c.accepted)), counted+counts[i]
		atLeast, tried = atLeast+least, tried+most
	}
	t.Logf("%d mails tried, %d acknowledged, %d of these after the last report before a kill -9 of their daemon; counted at every site: %d",
		tried, accepted, accepted-atLeast, counted)
}

var errDisagree = errors.New("sites disagree")

// agreed returns the counts of all sites.
func (l *accounts) agreed(ctx context.Context, sites []*client.Client) (counts []uint64, err error) {
	for i, site := range sites {
		own, err := l.counts(ctx, site)
		switch {
		case err != nil:
			return nil, err
		case i > 0 && !slices.Equal(own, counts):
			return own, fmt.Errorf("%w: %v and %v", errDisagree, counts, own)
		}
		counts = own
	}
	return counts, nil
}
