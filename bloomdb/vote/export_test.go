package vote

import (
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// NewSiteVotes returns a site with the given key and votes.
func NewSiteVotes(key keyring.Sip, f *generalized.Filter) *siteVotes {
	return &siteVotes{key: key, filter: f}
}
