package policy

import (
	"net/netip"
	"slices"
)

// MaxAddress bounds an address of the envelope: 64 + "@" + 255 bytes (RFC 5321, section
// 4.5.3.1). A longer one was truncated.
const MaxAddress = 320

// Envelope describes how a message arrived, as far as the policy uses it. It is for one
// goroutine at a time.
type Envelope struct {
	Listener   string // name of the listener, as given to Server.Serve
	Client     netip.Addr
	Helo       string   // as given by the client
	Sender     string   // without <>; "" for a bounce
	Recipients []string // those kept, in order
	Count      uint32   // of all recipients
	forms      *forms   // of the domains in envelope and header; nil until first used
}

// Audience returns the recipients, with "" for all that were not kept. It has at least one
// element.
func (e *Envelope) Audience() []string {
	if len(e.Recipients) == 0 || uint32(len(e.Recipients)) < e.Count {
		return append(slices.Clone(e.Recipients), "")
	}
	return e.Recipients
}
