package policy

import (
	"net/netip"
	"slices"
	"strings"
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

// Different returns the number of different recipients, at least one: a sender may name one several times,
// in several forms, and with a subaddress (RFC 5233).
func (e *Envelope) Different() uint32 {
	different := make(map[string]struct{}, len(e.Recipients))
	for _, r := range e.Recipients {
		name, host, _ := strings.Cut(strings.ToLower(Recipient(r)), "@")
		name, _, _ = strings.Cut(name, "+")
		different[name+"@"+host] = struct{}{}
	}
	return max(1, e.Count-uint32(len(e.Recipients)-len(different)))
}

// Source names who sent the message, to count different senders: a list gives each recipient an
// address of its own as the sender, but one domain.
func (e *Envelope) Source() string {
	if at := strings.LastIndexByte(e.Sender, '@'); at >= 0 {
		return strings.ToLower(e.Sender[at+1:])
	}
	bits := 24
	if e.Client.Is6() && !e.Client.Is4In6() {
		bits = 48
	}
	network, _ := e.Client.Unmap().Prefix(bits) // without an address all are one
	return network.String()
}
