package policy

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// Allow is a rule for mail that is neither judged nor counted. A rule matches if all of its
// non-empty conditions match: the client is in one of the networks, the envelope sender
// matches one of the patterns, and so on. A rule without conditions matches nothing.
type Allow struct {
	Name       string
	Networks   []netip.Prefix // of clients; an IPv4-mapped address is its IPv4 address
	Senders    []string       // address patterns; the empty sender matches none
	From       []string       // address patterns for the header From, which Options.AuthservID's results must prove
	ListIDs    []string       // identifiers within <>; they are not authenticated
	Recipients []string       // address patterns; "+detail" after the local part is ignored
	Listeners  []string       // address patterns; they also match with "+detail" after the local part
}

// ReasonAllow prefixes the rule's name in the reason of an allowed message.
const ReasonAllow = "allow:"

// allowedBy returns the decision about a message whose recipients are all allowed.
func allowedBy(rule string, general Policy) Decision {
	d := Decision{Verdict: Allowed, Action: general.Clean.AtMostTag(), Reason: ReasonAllow + rule}
	if d.Action == "" {
		d.Action = Tag
	}
	return d
}

// allowRules contains all allow rules, indexed for look-ups. The cost of a message grows
// with the number of rules, not with the entries of a rule.
type allowRules struct {
	rules      []allowRule
	authservID string

	wantFrom, wantRecipients bool // whether any rule has a condition on the header From; on recipients
}

// allowRule is the indexed form of Allow. A nil condition is not set.
type allowRule struct {
	name                      string
	networks                  *networks
	senders, from, recipients patterns[bool]
	listIDs, listeners        map[string]bool
}

func newAllowRules(rules []Allow, authservID string) *allowRules {
	a := &allowRules{authservID: authservID}
	for _, r := range rules {
		rule := allowRule{
			name:       r.Name,
			networks:   newNetworks(r.Networks),
			senders:    newPatterns(r.Senders),
			from:       newPatterns(r.From),
			recipients: newPatterns(r.Recipients),
			listIDs:    newNames(r.ListIDs, strings.ToLower),
			listeners:  newNames(r.Listeners, strings.Clone),
		}
		if rule.hasCondition() {
			a.rules = append(a.rules, rule)
			a.wantFrom = a.wantFrom || rule.from != nil
			a.wantRecipients = a.wantRecipients || rule.recipients != nil
		}
	}
	return a
}

func (r *allowRule) hasCondition() bool {
	return r.networks != nil || r.senders != nil || r.from != nil || r.recipients != nil || r.listIDs != nil || r.listeners != nil
}

// newPatterns returns nil for an empty list.
func newPatterns(list []string) (p patterns[bool]) {
	for _, pattern := range list {
		if p == nil {
			p = make(patterns[bool], len(list))
		}
		p.add(pattern, true)
	}
	return p
}

// hasAddress reports whether a pattern matches the address.
func hasAddress(p patterns[bool], address string) bool {
	_, host, ok := cutAddress(address)
	return ok && (p[address] || p.domain(host))
}

// newNames returns nil for an empty list. An empty name in the list never matches.
func newNames(list []string, form func(string) string) map[string]bool {
	if len(list) == 0 {
		return nil
	}
	names := make(map[string]bool, len(list))
	for _, name := range list {
		names[form(name)] = name != ""
	}
	return names
}

// of returns the name of the rule that allows each recipient of the message, "" for none.
// Allowed is nil if no recipient is allowed. Every is the name of the first such rule if
// all recipients are allowed. The first matching rule wins.
func (a *allowRules) of(e *Envelope, header []signature.Field) (allowed []string, every string) {
	if len(a.rules) == 0 {
		return nil, ""
	}
	m := evidence{Envelope: e, listID: listID(header)}
	if len(e.Sender) <= MaxAddress { // the sender chose where a truncated address ends
		m.sender = e.compared(e.Sender)
	}
	if a.wantFrom {
		m.from = authenticFrom(e, header, a.authservID)
	}
	recipients := e.Audience()
	if a.wantRecipients {
		recipients = slices.Clone(recipients)
		for i, address := range recipients {
			recipients[i] = e.compared(Recipient(address))
		}
	}
	left := len(recipients)
	for i := range a.rules {
		rule := &a.rules[i]
		if !rule.matches(&m) {
			continue
		}
		for i, address := range recipients {
			if (allowed == nil || allowed[i] == "") && rule.forRecipient(address) {
				if allowed == nil {
					allowed = make([]string, len(recipients))
				}
				allowed[i] = rule.name
				left--
			}
		}
		if left == 0 {
			return allowed, allowed[0]
		}
	}
	return allowed, ""
}

// evidence is the part of a message, other than its recipients, that rules match. Addresses
// are in the form of patterns; "" means none.
type evidence struct {
	*Envelope
	sender string
	from   string // the authenticated address of the header
	listID string
}

// matches checks all conditions except the recipients.
func (r *allowRule) matches(m *evidence) bool {
	return (r.networks == nil || r.networks.contain(m.Client)) &&
		(r.senders == nil || hasAddress(r.senders, m.sender)) &&
		(r.from == nil || hasAddress(r.from, m.from)) &&
		(r.listIDs == nil || r.listIDs[m.listID]) &&
		(r.listeners == nil || r.listeners[m.Listener])
}

// forRecipient reports whether the rule applies to address, which is in the form of
// patterns.
func (r *allowRule) forRecipient(address string) bool {
	if r.recipients == nil {
		return true
	}
	exact, domain := r.recipients.find(address)
	return exact || domain
}

// listID returns the identifier of the List-Id field in lower case (RFC 2919, section 3).
// It returns "" if there is no such field, or more than one.
func listID(header []signature.Field) (id string) {
	found := false
	for _, f := range header {
		if !strings.EqualFold(f.Name, "List-Id") {
			continue
		}
		if found {
			return ""
		}
		found = true
		value := strings.TrimRight(f.Value, whitespace)
		if begin := strings.LastIndexByte(value, '<'); begin >= 0 && strings.IndexByte(value, '>') == len(value)-1 {
			id = strings.ToLower(value[begin+1 : len(value)-1])
		}
	}
	return id
}

// networks reports whether an address is in one of many networks. It makes one look-up for
// each prefix length in use.
type networks struct {
	prefixes map[netip.Prefix]bool
	v4, v6   []int // lengths, in bits
}

// newNetworks returns nil for an empty list.
func newNetworks(list []netip.Prefix) *networks {
	if len(list) == 0 {
		return nil
	}
	n := &networks{prefixes: make(map[netip.Prefix]bool, len(list))}
	for _, p := range list {
		if mapped := p.Bits() - 96; p.Addr().Is4In6() && mapped >= 0 {
			p = netip.PrefixFrom(p.Addr().Unmap(), mapped)
		}
		n.prefixes[p.Masked()] = true
		lengths := &n.v6
		if p.Addr().Is4() {
			lengths = &n.v4
		}
		if !slices.Contains(*lengths, p.Bits()) {
			*lengths = append(*lengths, p.Bits())
		}
	}
	return n
}

// contain reports false for a nil receiver.
func (n *networks) contain(client netip.Addr) bool {
	if n == nil {
		return false
	}
	client = client.Unmap()
	lengths := n.v6
	if client.Is4() {
		lengths = n.v4
	}
	for _, bits := range lengths {
		if p, err := client.Prefix(bits); err == nil && n.prefixes[p] {
			return true
		}
	}
	return false
}
