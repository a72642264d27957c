package links

import (
	_ "embed"
	"strings"
	"sync"
)

// wellKnownList includes its date and the reason for each group of domains.
//
//go:embed wellknown.txt
var wellKnownList string

var wellKnown = sync.OnceValue(func() map[string]bool {
	domains := make(map[string]bool)
	for line := range strings.Lines(wellKnownList) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		for _, d := range strings.Fields(line) {
			domains[d] = true
		}
	}
	return domains
})

// WellKnown reports whether a registrable domain belongs to a large sender, a mail
// service, a shortener or the like. A link to it is no evidence against a message. The
// list is wellknown.txt.
func WellKnown(domain string) bool { return wellKnown()[domain] }
