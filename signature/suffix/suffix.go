// Package suffix reports which part of a host name its owner registered. It follows the
// Public Suffix List (publicsuffix.org) as golang.org/x/net carries it, so the version
// of that module in go.mod is the version of the list. Both sections of the list count:
// the users of a hosting service, such as github.io, are strangers to each other like
// the owners of two domains.
package suffix

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Registrable returns the part of a host name that its owner registered: one label
// more than its public suffix. It is "" where host is a public suffix itself or has an
// empty label. host is lower case, in ASCII form (RFC 5890 section 2.3.2.1), without a
// dot at its end. A top level domain that is not on the list is a suffix, as the list's
// algorithm says (its rule "*").
func Registrable(host string) string {
	domain, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return ""
	}
	return domain
}

// Known reports whether the top level domain of host is on the list. host has two labels
// or more.
func Known(host string) bool {
	suffix, icann := publicsuffix.PublicSuffix(host)
	return icann || strings.IndexByte(suffix, '.') >= 0
}
