package milter

import (
	"fmt"
	"strings"
)

// patterns finds what belongs to an address: "user@example.org" is that address,
// "example.org" the addresses of that domain, ".example.org" those of the domain
// and of all below it. The narrowest pattern wins.
type patterns[T any] map[string]T

func (p patterns[T]) add(pattern string, value T) { p[strings.ToLower(pattern)] = value }

// find looks for the address itself, also without its "+detail", and for its
// domain. Of each it is the zero value where there is none. It makes at most as many
// look-ups as the domain has labels, and two.
func (p patterns[T]) find(address string) (exact, domain T) {
	if len(p) == 0 || address == "" {
		return exact, domain
	}
	local, host, found := cutAddress(strings.ToLower(address))
	if !found {
		return exact, domain
	}
	exact, found = p[local+"@"+host]
	if user, _, detail := strings.Cut(local, "+"); !found && detail && user != "" {
		exact = p[user+"@"+host]
	}
	return exact, p.domain(host)
}

// domain looks for the domain, then for those above it.
func (p patterns[T]) domain(host string) (value T) {
	value, found := p[host]
	for labels := 0; !found && labels < maxLabels; labels++ {
		if value, found = p["."+host]; found {
			break
		}
		var above bool
		if _, host, above = strings.Cut(host, "."); !above {
			break
		}
	}
	return value
}

// maxLabels is what a domain name can have of labels (RFC 1035, section 2.3.4).
const maxLabels = 127

// cutAddress parts an address at its last "@".
func cutAddress(address string) (local, host string, ok bool) {
	at := strings.LastIndexByte(address, '@')
	if at < 1 || at == len(address)-1 {
		return "", "", false
	}
	return address[:at], address[at+1:], true
}

// CheckPattern says what is wrong with an address pattern.
func CheckPattern(pattern string) error {
	host := strings.TrimPrefix(pattern, ".")
	if strings.Contains(pattern, "@") {
		var ok bool
		if _, host, ok = cutAddress(pattern); !ok {
			return fmt.Errorf("%q is no address", pattern)
		}
	}
	if strings.ContainsFunc(pattern, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`<>,;"*`, r) }) {
		return fmt.Errorf("%q is neither an address nor a domain", pattern)
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return fmt.Errorf("%q is not a domain", host)
		}
	}
	return nil
}
