package milter

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// Allow is a rule for mail that is neither judged nor counted. It matches if each
// of its conditions that is not empty does: a client in one of the networks, an
// envelope sender of one of the patterns, and so on.
type Allow struct {
	Name       string
	Networks   []netip.Prefix
	Senders    []string // address patterns; the empty sender matches none
	From       []string // address patterns; the header From, with a DKIM or SPF pass for it
	ListIDs    []string // the identifier within <>
	Recipients []string // address patterns
	Listeners  []string // names as given to Server.Serve
}

// reasonAllow begins the reason of a message that a rule allowed; its name follows.
const reasonAllow = "allow:"

// allowedBy is the decision about a message whose recipients are all allowed.
func allowedBy(rule string, general Policy) Decision {
	d := Decision{Verdict: Allowed, Action: general.Clean.atMostTag(), Reason: reasonAllow + rule}
	if d.Action == "" {
		d.Action = Tag
	}
	return d
}

// allowRules are all allow rules.
type allowRules struct {
	rules      []Allow
	authservID string
}

func newAllowRules(rules []Allow, authservID string) *allowRules {
	return &allowRules{rules, authservID}
}

// of says for each of the message's recipients by which rule it is allowed, "" for
// none; nil if there is none for any. Every is the rule if all have one.
func (a *allowRules) of(e *envelope, header []signature.Field) (allowed []string, every string) {
	if len(a.rules) == 0 {
		return nil, ""
	}
	recipients := e.audience()
	allowed = make([]string, len(recipients))
	some := false
	for _, rule := range a.rules {
		if !rule.matches(e, header) {
			continue
		}
		for i, address := range recipients {
			if allowed[i] == "" && (len(rule.Recipients) == 0 || matchesAny(rule.Recipients, address)) {
				allowed[i], some = rule.Name, true
			}
		}
	}
	if !some {
		return nil, ""
	}
	if !slices.Contains(allowed, "") {
		every = allowed[0]
	}
	return allowed, every
}

// matches looks at all conditions but the recipients.
func (a *Allow) matches(e *envelope, header []signature.Field) bool {
	switch {
	case len(a.Networks) > 0 && !slices.ContainsFunc(a.Networks, func(p netip.Prefix) bool { return p.Contains(e.client) }):
		return false
	case len(a.Senders) > 0 && !matchesAny(a.Senders, e.sender):
		return false
	case len(a.Listeners) > 0 && !slices.Contains(a.Listeners, e.listener):
		return false
	case len(a.ListIDs) > 0 && !slices.Contains(a.ListIDs, listID(header)):
		return false
	}
	return len(a.From) == 0 // not yet
}

// listID is the identifier of a List-Id field (RFC 2919).
func listID(header []signature.Field) string {
	for _, f := range header {
		if strings.EqualFold(f.Name, "List-Id") {
			_, id, _ := strings.Cut(f.Value, "<")
			id, _, _ = strings.Cut(id, ">")
			return strings.ToLower(id)
		}
	}
	return ""
}

func matchesAny(list []string, address string) bool {
	p := make(patterns[bool])
	for _, pattern := range list {
		p.add(pattern, true)
	}
	exact, domain := p.find(address)
	return exact || domain
}
