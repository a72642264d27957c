package policy

import (
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/milter/idn"
)

// patterns maps address patterns to values. "user@example.org" matches that address,
// "example.org" the addresses of that domain, ".example.org" those of the domain and its
// subdomains. The narrowest pattern wins. Patterns and addresses are in the form returned
// by envelope.compared, so that a domain is found in either of its forms.
type patterns[T any] map[string]T

// add ignores a pattern whose domain has no ASCII form: it would match nothing.
func (p patterns[T]) add(pattern string, value T) {
	if pattern, err := comparedPattern(pattern, idn.ASCII); err == nil {
		p[pattern] = value
	}
}

// find looks up the address itself, also without its "+detail", and its domain. Each result
// is the zero value if there is none. It makes at most two look-ups more than the domain
// has labels.
func (p patterns[T]) find(address string) (exact, domain T) {
	local, host, found := cutAddress(address)
	if !found {
		return exact, domain
	}
	exact, found = p[address]
	if user, _, detail := strings.Cut(local, "+"); !found && detail && user != "" {
		exact = p[user+"@"+host]
	}
	return exact, p.domain(host)
}

// comparedPattern returns a pattern in the form of envelope.compared, using a form of
// package idn.
func comparedPattern(pattern string, form func(string) (string, error)) (string, error) {
	before, host, _ := cutAddress(pattern)
	switch {
	case host != "":
		before = strings.ToLower(before) + "@"
	case strings.HasPrefix(pattern, "."):
		before, host = ".", pattern[1:]
	default:
		host = pattern
	}
	host, err := form(host)
	return before + host, err
}

// domain looks up the domain, then its parents.
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

// maxLabels is the maximum number of labels of a domain name (RFC 1035, section 2.3.4).
const maxLabels = 127

// cutAddress splits an address at its last "@".
func cutAddress(address string) (local, host string, ok bool) {
	at := strings.LastIndexByte(address, '@')
	if at < 1 || at == len(address)-1 {
		return "", "", false
	}
	return address[:at], address[at+1:], true
}

// ParsePattern checks an address pattern. It returns the pattern in the form used for
// comparison: lower case, the domain in ASCII form ("xn--...").
func ParsePattern(pattern string) (string, error) {
	if _, _, ok := cutAddress(pattern); !ok && strings.Contains(pattern, "@") {
		return "", fmt.Errorf("%q is not an address", pattern)
	}
	if strings.ContainsFunc(pattern, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`<>,;"*`, r) }) {
		return "", fmt.Errorf("%q is neither an address nor a domain", pattern)
	}
	form, err := comparedPattern(pattern, idn.Written)
	if err != nil {
		return "", fmt.Errorf("%q does not contain a valid domain: %w", pattern, err)
	}
	host := form[strings.LastIndexByte(form, '@')+1:]
	if host == form {
		host = strings.TrimPrefix(host, ".")
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return "", fmt.Errorf("%q is not a domain", host)
		}
	}
	return form, nil
}
