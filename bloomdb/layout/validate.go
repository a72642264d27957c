package layout

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// Validate returns an error for an option that is out of its bounds.
func (o *Settings) Validate() error {
	r, c := o.Reports, o.Counts
	switch {
	case !ValidSite(o.Site):
		return fmt.Errorf("site name %q: must be 1 to 64 characters of a-z A-Z 0-9 . _ -", o.Site)
	case r.Period < time.Second || r.Period%time.Second != 0:
		return fmt.Errorf("report period %s: must be whole seconds", r.Period)
	case c.Period < time.Second || c.Period%time.Second != 0:
		return fmt.Errorf("count period %s: must be whole seconds", c.Period)
	case r.Keep < 1 || r.Keep > 64 || c.Keep < 1 || c.Keep > 64:
		return fmt.Errorf("generations kept: %d of reports, %d of counts; must be 1 to 64", r.Keep, c.Keep)
	case r.Capacity < 1 || c.Capacity < 1:
		return fmt.Errorf("capacity: %d reports, %d counts; must be at least 1", r.Capacity, c.Capacity)
	case r.KeysPerMessage < 1 || r.KeysPerMessage > 256:
		return fmt.Errorf("keys per message %d: must be 1 to 256", r.KeysPerMessage)
	case r.MaxErrorPerMail < 1e-12 || r.MaxErrorPerMail > 0.5:
		return fmt.Errorf("error per mail %g: must be 1e-12 to 0.5", r.MaxErrorPerMail)
	case max(o.SpamShape().Lines, o.ClassShape().Lines, o.SketchShape().Lines) == filter.MaxLines || r.Capacity > 1<<40:
		return fmt.Errorf("report capacity %d: a generation would be larger than 8 GiB", r.Capacity)
	case c.Capacity > MaxCounted:
		return fmt.Errorf("count capacity %d: must be at most %d", c.Capacity, MaxCounted)
	case o.Votes < 1 || o.Votes > 64:
		return fmt.Errorf("votes needed: %d; must be 1 to 64", o.Votes)
	}
	return o.Domains.validate()
}

func (d *DomainOptions) validate() error {
	if d.Campaigns > 1_000_000 {
		return fmt.Errorf("domain campaigns %d: must be at most 1,000,000", d.Campaigns)
	}
	for _, name := range d.NeverAlone {
		if !signature.IsDomain(name) {
			return fmt.Errorf("ignored domain %q: must be a registrable domain in lower case ASCII, for example example.com", name)
		}
	}
	return nil
}
