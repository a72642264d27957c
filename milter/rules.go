package milter

import (
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
)

// Override is a policy for some mail only: that of a recipient, of a recipient's
// domain, or of what comes in by a listener. What it leaves empty the next wider
// one decides: recipient before domain before listener before the general policy,
// key by key.
type Override struct {
	Name       string
	Recipients []string // addresses; also with "+detail" behind the local part
	Domains    []string // example.org: that domain; .example.org: it and all below
	Listeners  []string // names as given to Server.Serve
	Policy     Policy
}

// rules are what the administrator wants, in a form that is quickly asked: the
// general policy, its overrides, the allow rules and the local networks. They do not
// change; a reload makes new ones. They are pure and safe for concurrent use.
type rules struct {
	general    Policy
	listeners  map[string]*Override
	recipients patterns[*Override]
	allow      *allowRules
	local      *networks // whose mail is not judged
	counting   *networks // of MTAs whose recipients are counted
}

func newRules(o *Options) *rules {
	r := &rules{
		general:    o.Policy,
		listeners:  make(map[string]*Override),
		recipients: make(patterns[*Override]),
		allow:      newAllowRules(o.Allow, o.AuthservID),
		local:      newNetworks(o.LocalNetworks),
		counting:   newNetworks(o.CountNetworks),
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

// audience is recipients to whom the same policy applies.
type audience struct {
	listener, domain, recipient *Override
	allowed                     string // the rule, which does not allow all of the message's recipients; "": none
}

// policy is what applies to the audience, and the name of its narrowest part.
func (a audience) policy(general Policy) (name string, p Policy) {
	p = general
	for _, o := range []*Override{a.listener, a.domain, a.recipient} {
		if o != nil {
			name, p = o.Name, o.Policy.over(p)
		}
	}
	return name, p
}

// audiences are the different ones among a message's recipients, in their order.
func (r *rules) audiences(e *envelope, allowed []string) (all []audience) {
	seen := make(map[audience]bool)
	for i, address := range e.audience() {
		a := audience{listener: r.listeners[e.listener]}
		if allowed != nil {
			a.allowed = allowed[i]
		}
		if len(r.recipients) > 0 { // else its form is of no use
			a.recipient, a.domain = r.recipients.find(e.compared(address))
		}
		if !seen[a] {
			seen[a] = true
			all = append(all, a)
		}
	}
	return all
}

// decide asks the policy of each recipient. A message is delivered to all of them
// or to none, so the mildest decision is that of the message. Of equally mild ones
// it is the one with the least verdict: a header is read by all. Allowed says by
// which rule each recipient is allowed; it is nil if none is.
func (r *rules) decide(evidence bloomdb.Evidence, signed bool, e *envelope, allowed []string) Decision {
	var best Decision
	var others []Decision
	for i, a := range r.audiences(e, allowed) {
		name, policy := a.policy(r.general)
		d := policy.Decide(evidence, signed)
		d.Policy = name
		if mild := d.Action.atMostTag(); a.allowed != "" && mild != d.Action {
			d.Action, d.Policy = mild, reasonAllow+a.allowed
		}
		if i > 0 && !d.milder(best) {
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
			best.Milder = append(best.Milder, d.policyName()+" "+string(d.Verdict)+" "+string(d.Action))
		}
	}
	return best
}

// milder says whether d does less to the message than other.
func (d Decision) milder(other Decision) bool {
	if a, b := mildness[d.Action], mildness[other.Action]; a != b {
		return a < b
	}
	return severity[d.Verdict] < severity[other.Verdict]
}

// policyName is how the log calls the policy that decided.
func (d Decision) policyName() string {
	if d.Policy == "" {
		return "general"
	}
	return d.Policy
}
