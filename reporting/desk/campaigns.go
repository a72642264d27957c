package desk

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/reporting/desk/campaign"
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
