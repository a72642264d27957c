package vote

import (
	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// NewVoter returns a site with the given key and votes.
func NewVoter(key keyring.Sip, f *generalized.Filter) *voter { return &voter{key: key, filter: f} }
