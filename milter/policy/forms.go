package policy

import (
	"strings"

	"github.com/spambloom/spambloom/milter/idn"
)

// maxConverted bounds the domains of one message that are converted to their ASCII form, in
// bytes, with formOverhead added for each. A message may have 10,000 recipients, each in
// another domain.
const (
	maxConverted = 32 << 10
	formOverhead = 64
)

// forms caches the ASCII forms of the domains in one message. The zero value is ready for
// use by one goroutine at a time.
type forms struct {
	known map[string]string // by the domain as received; "": it has none
	spent int               // part of maxConverted used so far
}

// ascii returns the result of idn.ASCII for a domain in the message. It returns "" for a
// domain without such a form, and for a non-ASCII domain beyond maxConverted. Such a domain
// matches nothing: no allow rule and no override applies to it.
func (f *forms) ascii(domain string) string {
	if idn.IsASCII(domain) {
		return strings.ToLower(domain)
	}
	form, found := f.known[domain]
	if cost := len(domain) + formOverhead; !found && f.spent+cost <= maxConverted {
		f.spent += cost
		form, _ = idn.ASCII(domain) // "" with an error
		if f.known == nil {
			f.known = make(map[string]string)
		}
		f.known[domain] = form
	}
	return form
}

// compared returns an address of the message in the form of patterns: in lower case, with
// its domain in ASCII form. It returns "" if it is not an address or its domain has no such
// form.
func (e *Envelope) compared(address string) string {
	local, host, ok := cutAddress(address)
	if !ok {
		return ""
	}
	form := e.ascii(host)
	if form == "" {
		return ""
	}
	lower := strings.ToLower(local)
	if lower == local && form == host { // the common case
		return address
	}
	return lower + "@" + form
}

// ascii calls forms.ascii, with the forms created on first use.
func (e *Envelope) ascii(domain string) string {
	if e.forms == nil {
		e.forms = new(forms)
	}
	return e.forms.ascii(domain)
}
