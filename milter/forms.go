package milter

import (
	"strings"

	"github.com/spambloom/spambloom/milter/idn"
)

// maxConverted bounds the domains of one message that are converted to their ASCII form, in
// bytes, with fieldOverhead for each. 10,000 recipients may each have another domain.
const maxConverted = 32 << 10

// forms are the ASCII forms of domains in one message, each converted once. The zero value
// is ready for use, by one goroutine at a time.
type forms struct {
	known map[string]string // by the domain as it came; "": it has none
	spent int               // of maxConverted
}

// ascii is idn.ASCII for a domain in the message, but "" for one that has no such form, and
// for a domain not in ASCII beyond maxConverted. Such a domain matches nothing: no rule
// allows its mail, and no override is for its recipients.
func (f *forms) ascii(domain string) string {
	if idn.IsASCII(domain) {
		return strings.ToLower(domain)
	}
	form, found := f.known[domain]
	if cost := len(domain) + fieldOverhead; !found && f.spent+cost <= maxConverted {
		f.spent += cost
		form, _ = idn.ASCII(domain) // "" with an error
		if f.known == nil {
			f.known = make(map[string]string)
		}
		f.known[domain] = form
	}
	return form
}

// compared is an address of the message as patterns have it: in lower case, its domain in
// ASCII form. It is "" where the address is none or its domain has no such form.
func (e *envelope) compared(address string) string {
	local, host, ok := cutAddress(address)
	if !ok {
		return ""
	}
	form := e.ascii(host)
	if form == "" {
		return ""
	}
	lower := strings.ToLower(local)
	if lower == local && form == host { // as most are
		return address
	}
	return lower + "@" + form
}

// ascii is that of the message's forms.
func (e *envelope) ascii(domain string) string {
	if e.forms == nil {
		e.forms = new(forms)
	}
	return e.forms.ascii(domain)
}
