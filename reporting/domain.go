package reporting

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

const (
	maxDomains = 16 // as signature.Set says
	// maxDomain is what a host name (RFC 1035 section 2.3.4), or an address in
	// brackets, has at most.
	maxDomain = 253
)

// decodeDomains checks the link domains of a request.
func decodeDomains(domains []string) ([]string, error) {
	if err := checkLength(len(domains), "domains", maxDomains); err != nil {
		return nil, err
	}
	for i, d := range domains {
		switch {
		case len(d) > maxDomain:
			return nil, fmt.Errorf("domain %d has %d bytes; at most %d", i+1, len(d), maxDomain)
		case !signature.IsDomain(d):
			return nil, fmt.Errorf("domain %d: %q is no registrable domain in lower case ASCII, and no public IP address in brackets", i+1, d)
		case slices.Contains(domains[:i], d):
			return nil, fmt.Errorf("domain %d stands there twice", i+1)
		}
	}
	return domains, nil
}

// listingDomain is the domain that listed a message; "" for none.
func listingDomain(e bloomdb.Evidence) string {
	for _, m := range e.Matches {
		if m.Domain != "" && !m.Revoked {
			return m.Domain
		}
	}
	return ""
}

// DomainTrace is a bloomdb.DomainTrace on the wire.
type DomainTrace struct {
	Domain    string   `json:"domain"`
	Ignored   bool     `json:"ignored,omitempty"`   // on a list of domains that say nothing
	Campaigns uint64   `json:"campaigns,omitempty"` // reported at this site
	Sightings uint64   `json:"sightings,omitempty"` // at this site, in mail that was not listed
	Alone     bool     `json:"alone,omitempty"`     // it lists messages by itself
	Reported  []string `json:"reported,omitempty"`  // sites that reported a message with it, and did not revoke
}

func newDomainTraces(traces []bloomdb.DomainTrace) []DomainTrace {
	var list []DomainTrace
	for _, t := range traces {
		wire := DomainTrace{t.Domain, t.Ignored, t.Campaigns, t.Sightings, t.Alone, nil}
		if t.Reported != nil && !t.Reported.Revoked {
			wire.Reported = t.Reported.Sites
		}
		list = append(list, wire)
	}
	return list
}
