package policy

import (
	"net/netip"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// Override is a policy for part of the mail: that of a recipient, of a recipient's domain,
// or that received by a listener. Each empty field is taken from the next wider policy:
// recipient, domain, listener, general.
type Override struct {
	Name       string
	Recipients []string // addresses; they also match with "+detail" after the local part
	Domains    []string // example.org: that domain; .example.org: the domain and its subdomains
	Listeners  []string // names as given to Server.Serve
	Policy     Policy
}

// Settings are the administrator's settings from which Rules are made.
type Settings struct {
	General    Policy
	Overrides  []Override
	Allow      []Allow
	AuthservID string         // authserv-id of the MTA's own Authentication-Results fields; "": no field is trusted
	Local      []netip.Prefix // clients whose mail is not judged
	Counting   []netip.Prefix // MTAs whose number of recipients is trusted
}

// Rules are the settings indexed for look-ups. They never change; a reload creates new ones.
// They are pure and safe for concurrent use.
type Rules struct {
	general    Policy
	listeners  map[string]*Override
	recipients patterns[*Override]
	allow      *allowRules
	local      *networks // whose mail is not judged
	counting   *networks // MTAs whose recipients are counted
}

// NewRules indexes the settings.
func NewRules(o Settings) *Rules {
	r := &Rules{
		general:    o.General,
		listeners:  make(map[string]*Override),
		recipients: make(patterns[*Override]),
		allow:      newAllowRules(o.Allow, o.AuthservID),
		local:      newNetworks(o.Local),
		counting:   newNetworks(o.Counting),
	}
	for i := range o.Overrides {
		override := &o.Overrides[i]
		for _, name := range override.Listeners {
			r.listeners[name] = override
		}
		for _, pattern := range slices.Concat(override.Recipients, override.Domains) {
			r.recipients.add(pattern, override)
		}
	}
	return r
}

// IsLocal reports whether mail of a client is not judged.
func (r *Rules) IsLocal(client netip.Addr) bool { return r.local.contain(client) }

// IsCounting reports whether the number of recipients of an MTA is trusted.
func (r *Rules) IsCounting(mta netip.Addr) bool { return r.counting.contain(mta) }

// Allowed returns the name of the rule that allows each recipient of a message, "" for none,
// or nil if no recipient is allowed. If all are allowed, whole is the decision about the
// message, else nil. The header is nil if part of it was not kept.
func (r *Rules) Allowed(e *Envelope, header []signature.Field) (allowed []string, whole *Decision) {
	allowed, every := r.allow.of(e, header)
	if every == "" {
		return allowed, nil
	}
	d := allowedBy(every, r.general)
	return allowed, &d
}

// audience identifies recipients with the same policy.
type audience struct {
	listener, domain, recipient *Override
	allowed                     string // the rule that allows these recipients, but not all of the message; "": none
}

// policy returns the policy for the audience, and the name of its narrowest part.
func (a audience) policy(general Policy) (name string, p Policy) {
	p = general
	for _, o := range []*Override{a.listener, a.domain, a.recipient} {
		if o != nil {
			name, p = o.Name, o.Policy.over(p)
		}
	}
	return name, p
}

// audiences returns the distinct audiences among a message's recipients, in their order.
func (r *Rules) audiences(e *Envelope, allowed []string) (all []audience) {
	seen := make(map[audience]bool)
	for i, address := range e.Audience() {
		a := audience{listener: r.listeners[e.Listener]}
		if allowed != nil {
			a.allowed = allowed[i]
		}
		if len(r.recipients) > 0 { // otherwise the compared form is not needed
			a.recipient, a.domain = r.recipients.find(e.compared(Recipient(address)))
		}
		if !seen[a] {
			seen[a] = true
			all = append(all, a)
		}
	}
	return all
}

// Decide applies the policy of each recipient. A message is delivered to all recipients or
// to none, so the mildest decision applies to the message. Among equally mild decisions the
// one with the least severe verdict wins, because all recipients see the header. Allowed
// contains the rule that allows each recipient; it is nil if none is allowed.
func (r *Rules) Decide(evidence bloomdb.Evidence, signed bool, e *Envelope, allowed []string) Decision {
	var best Decision
	var others []Decision
	for i, a := range r.audiences(e, allowed) {
		name, policy := a.policy(r.general)
		d := policy.Decide(evidence, signed)
		d.Policy = name
		if mild := d.Action.AtMostTag(); a.allowed != "" && mild != d.Action {
			d.Action, d.Policy = mild, ReasonAllow+a.allowed
		}
		if i > 0 && !d.isMilder(best) {
			others = append(others, d)
			continue
		}
		if i > 0 {
			others = append(others, best)
		}
		best = d
	}
	for _, d := range others {
		if d.Action != best.Action || d.Verdict != best.Verdict {
			best.Milder = append(best.Milder, d.PolicyName()+" "+string(d.Verdict)+" "+string(d.Action))
		}
	}
	return best
}

// isMilder reports whether d affects the message less than other.
func (d Decision) isMilder(other Decision) bool {
	if a, b := mildness[d.Action], mildness[other.Action]; a != b {
		return a < b
	}
	return severity[d.Verdict] < severity[other.Verdict]
}

// PolicyName returns the log's name for the decisive policy.
func (d Decision) PolicyName() string {
	if d.Policy == "" {
		return "general"
	}
	return d.Policy
}
