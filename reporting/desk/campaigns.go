package desk

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/desk/campaign"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// Campaign is what was reported of one message and its near-duplicates.
type Campaign = campaign.Campaign

const (
	contestedFor = 7 * 24 * time.Hour
	maxGrouped   = 1000 // reports that are grouped, the latest
)

// Campaigns groups the latest reports and revocations, at most 1,000, see campaign.Of.
func (d *Desk) Campaigns() ([]Campaign, error) {
	list, _, err := d.ledger.Reports(ledger.Query{Limit: maxGrouped})
	if err != nil {
		return nil, err
	}
	return campaign.Of(list, d.db.Judge), nil
}

// ContestedCampaigns returns the campaigns about which users disagreed, or of which a report was
// held, within the last week.
func (d *Desk) ContestedCampaigns() ([]Campaign, error) {
	list, err := d.Campaigns()
	since := d.db.Now().Add(-contestedFor)
	return slices.DeleteFunc(list, func(c Campaign) bool { return !c.IsContested() && !c.Held || c.Last.Before(since) }), err
}

// Course is the mail of a campaign at this site over time, a copy for each recipient.
type Course struct {
	Matched []uint64  // mail that matched a report, from each bound to the next one
	Passed  []uint64  // mail that matched none when it arrived
	Last    time.Time // of the latest mail; zero: none is remembered
}

// Courses returns the course of each campaign, and the time since which all mail is in them: the
// memory for each kind of mail is bounded, and a restart empties it. The bounds ascend.
func (d *Desk) Courses(list []Campaign, bounds []time.Time) ([]Course, time.Time) {
	groups := make([]judged.Group, len(list))
	for i, c := range list {
		groups[i] = c.Mail
	}
	since := slices.MaxFunc([]time.Time{d.begun, d.opt.Listed.Since(), d.opt.Unlisted.Since()}, time.Time.Compare)
	matched, passed := d.opt.Listed.Courses(groups, bounds), d.opt.Unlisted.Courses(groups, bounds)
	courses := make([]Course, len(list))
	for i := range courses {
		last := slices.MaxFunc([]time.Time{matched[i].Last, passed[i].Last}, time.Time.Compare)
		courses[i] = Course{Matched: matched[i].Mails, Passed: passed[i].Mails, Last: last}
	}
	return courses, since
}
