package milter

import (
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/milter/idn"
)

// patterns finds what belongs to an address: "user@example.org" is that address,
// "example.org" the addresses of that domain, ".example.org" those of the domain
// and of all below it. The narrowest pattern wins. Patterns and addresses are in the
// form that envelope.compared gives them, so that a domain is found in either of its forms.
type patterns[T any] map[string]T

// add leaves a pattern out whose domain has no form: it matches nothing.
func (p patterns[T]) add(pattern string, value T) {
	if pattern, err := comparedPattern(pattern, idn.ASCII); err == nil {
		p[pattern] = value
	}
}

// find looks for the address itself, also without its "+detail", and for its
// domain. Of each it is the zero value where there is none. It makes at most as many
// look-ups as the domain has labels, and two.
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

// comparedPattern is a pattern in the form of envelope.compared, by one of idn's forms.
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

// ParsePattern checks an address pattern, and gives it in the form in which patterns
// are compared: lower case, the domain in ASCII form ("xn--...").
func ParsePattern(pattern string) (string, error) {
	if _, _, ok := cutAddress(pattern); !ok && strings.Contains(pattern, "@") {
		return "", fmt.Errorf("%q is no address", pattern)
	}
	if strings.ContainsFunc(pattern, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`<>,;"*`, r) }) {
		return "", fmt.Errorf("%q is neither an address nor a domain", pattern)
	}
	form, err := comparedPattern(pattern, idn.Written)
	if err != nil {
		return "", fmt.Errorf("%q is not of a domain: %w", pattern, err)
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
