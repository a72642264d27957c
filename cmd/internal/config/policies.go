package config

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/spambloom/spambloom/cmd/internal/config/value"
)

// policySection is written [[policy]], once for each group of recipients or listeners;
// allowSection [[allow]], once for each rule.
const (
	policySection = "policy"
	allowSection  = "allow"
)

// ofPolicy is a field of the last policy, which is the one being read.
func ofPolicy[T any](field func(*Policy) *T) func(*Config) *T {
	return func(c *Config) *T { return field(&c.Policies[len(c.Policies)-1]) }
}

// ofAllow is a field of the last rule, which is the one being read.
func ofAllow[T any](field func(*Allow) *T) func(*Config) *T {
	return func(c *Config) *T { return field(&c.Allow[len(c.Allow)-1]) }
}

var policyKeys = []key{
	{section: policySection, name: "name", def: "", example: "abuse-desk", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.Name }), value.Name("a name")),
		doc:  "Name of the policy, in the log."},
	{section: policySection, name: "recipients", def: []any{}, example: []any{"abuse@example.org", "postmaster@example.org"}, live: true,
		kind: of(ofPolicy(func(p *Policy) *[]string { return &p.Recipients }), value.Addresses()),
		doc:  "Recipients of this policy."},
	{section: policySection, name: "domains", def: []any{}, example: []any{"example.net", ".example.com"}, live: true,
		kind: of(ofPolicy(func(p *Policy) *[]string { return &p.Domains }), value.Domains()),
		doc:  "Recipients' domains: example.net is that domain, .example.com is that domain\nand its subdomains, and bücher.example is also xn--bcher-kva.example."},
	{section: policySection, name: "listeners", def: []any{}, example: []any{"inet:8899@127.0.0.1"}, live: true,
		kind: of(ofPolicy(func(p *Policy) *[]string { return &p.Listeners }), value.Listeners()),
		doc:  "Listeners of this policy, as in milter.listen, or names of systemd's sockets."},
	{section: policySection, name: "spam", def: "", example: "tag", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.Spam }), value.ChoiceOrNone(actions...)),
		doc:  "Actions, as in [actions]. Missing keys are inherited. spam also applies to the\nfour below unless they are set here."},
	{section: policySection, name: "spam_phish", def: "", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.SpamPhish }), value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as phishing. Requires reports.classes, like the three below."},
	{section: policySection, name: "spam_scam", def: "", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.SpamScam }), value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as a scam."},
	{section: policySection, name: "spam_malware", def: "", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.SpamMalware }), value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as malware."},
	{section: policySection, name: "spam_bulk", def: "", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.SpamBulk }), value.ChoiceOrNone(actions...)),
		doc:  "Spam reported as unwanted bulk mail."},
	{section: policySection, name: "bulk", def: "", example: "accept", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.Bulk }), value.ChoiceOrNone(actions...)),
		doc:  "Seen at least bulk_threshold times."},
	{section: policySection, name: "clean", def: "", example: "accept", live: true,
		kind: of(ofPolicy(func(p *Policy) *string { return &p.Clean }), value.ChoiceOrNone(actions...)),
		doc:  "Everything else."},
	{section: policySection, name: "bulk_threshold", def: int64(0), example: int64(100), live: true,
		kind: of(ofPolicy(func(p *Policy) *int64 { return &p.BulkThreshold }), value.Threshold()),
		doc:  "Number of sightings from which a message is bulk. Default: inherited."},
}

var allowKeys = []key{
	{section: allowSection, name: "name", def: "", example: "partner", live: true,
		kind: of(ofAllow(func(a *Allow) *string { return &a.Name }), value.Name("a name")),
		doc:  "Name of the rule; header and log contain reason=allow:NAME."},
	{section: allowSection, name: "networks", def: []any{}, example: []any{"192.0.2.0/24"}, live: true,
		kind: of(ofAllow(func(a *Allow) *[]netip.Prefix { return &a.Networks }), value.Networks()),
		doc:  "Networks of the client that delivers the mail."},
	{section: allowSection, name: "senders", def: []any{}, example: []any{"billing@example.com", "example.net"}, live: true,
		kind: of(ofAllow(func(a *Allow) *[]string { return &a.Senders }), value.Patterns()),
		doc:  "Envelope senders: user@example.org, example.org (that domain), .example.org\n(it and its subdomains), with international domains in either form. Envelope\nsenders can be forged: set networks too, or use from."},
	{section: allowSection, name: "from", def: []any{}, example: []any{".example.com"}, live: true,
		kind: of(ofAllow(func(a *Allow) *[]string { return &a.From }), value.Patterns()),
		doc:  "Addresses in the header From, in the same forms, if this site's own verifier\nreports in Authentication-Results that DKIM or SPF passed for their domain.\nRequires milter.authserv_id."},
	{section: allowSection, name: "list_ids", def: []any{}, example: []any{"news.example.org"}, live: true,
		kind: of(ofAllow(func(a *Allow) *[]string { return &a.ListIDs }), value.ListIDs()),
		doc:  "Mailing lists: the text between < and > of List-Id. It can be forged."},
	{section: allowSection, name: "recipients", def: []any{}, example: []any{"abuse@example.org"}, live: true,
		kind: of(ofAllow(func(a *Allow) *[]string { return &a.Recipients }), value.Patterns()),
		doc:  "Recipients, in the same forms as senders. A message that also has other\nrecipients is judged, and tagged at most."},
	{section: allowSection, name: "listeners", def: []any{}, example: []any{"inet:8899@127.0.0.1"}, live: true,
		kind: of(ofAllow(func(a *Allow) *[]string { return &a.Listeners }), value.Listeners()),
		doc:  "Listeners, as in milter.listen, or names of systemd's sockets."},
}

// wrongIn records an error in a key of a table, or in the table if name is "".
func (f *file) wrongIn(t table, name, format string, args ...any) {
	path := t.section
	if name != "" {
		path += "." + name
	}
	f.fault(t.lineOf(name), path, fmt.Errorf(format, args...))
}

// taken are names that the log uses for something else, by section.
var taken = map[string]struct{ name, by string }{
	policySection: {"general", "[actions] with bulk.threshold"},
	allowSection:  {"whiteclnt", "the lines of milter.whiteclnt"},
}

// names checks that each table has a unique name.
func (f *file) names(tables []table, name func(i int) string) {
	seen := make(map[string]table)
	for i, t := range tables {
		n := name(i)
		first, twice := seen[n]
		switch {
		case t.bad["name"]:
		case n == "":
			f.wrongIn(t, "name", "is missing; allowed: %s", lookup(t.section+".name").kind.allowed)
		case n == taken[t.section].name:
			f.wrongIn(t, "name", "%q is reserved for %s; allowed: another name", n, taken[t.section].by)
		case twice:
			f.wrongIn(t, "name", "%q is already used on line %d; allowed: a unique name for each %s", n, first.lineOf("name"), what[t.section])
		default:
			seen[n] = t
		}
	}
}

// condition is a list that selects the mail of a table.
type condition struct {
	name string
	n    int // number of entries
}

// conditions checks that a table has a condition, and no empty one: a rule whose last entry
// was removed must not match everything.
func (f *file) conditions(t table, list ...condition) {
	names, some := "", false
	for _, c := range list {
		if _, stands := t.lines[c.name]; stands {
			some = true
			if c.n == 0 && !t.bad[c.name] {
				f.wrongIn(t, c.name, "is empty; allowed: %s; remove the key if it is not a condition", lookup(t.section+"."+c.name).kind.allowed)
			}
		}
		if names != "" {
			names += ", "
		}
		names += c.name
	}
	if !some {
		f.wrongIn(t, "", "matches nothing; allowed: at least one of %s", names)
	}
}

// checkPolicies checks the relations between keys: names, recipients listed in two
// policies, and policies that match or change nothing.
func (f *file) checkPolicies(tables []table) {
	f.names(tables, func(i int) string { return f.config.Policies[i].Name })
	seen := make(map[string]int) // line numbers
	for i, t := range tables {
		p := f.config.Policies[i]
		f.conditions(t, condition{"recipients", len(p.Recipients)}, condition{"domains", len(p.Domains)}, condition{"listeners", len(p.Listeners)})
		for _, c := range []struct {
			name string
			list []string
		}{{"recipients", p.Recipients}, {"domains", p.Domains}, {"listeners", p.Listeners}} {
			for _, s := range c.list {
				if line, ok := seen[c.name+" "+s]; ok {
					f.wrongIn(t, c.name, "%q is already in the policy on line %d; allowed: one policy for each", s, line)
					continue
				}
				seen[c.name+" "+s] = t.lineOf(c.name)
			}
		}
		f.changesSomething(t, p)
	}
}

// changesSomething checks that a policy changes something.
func (f *file) changesSomething(t table, p Policy) {
	for name := range t.bad {
		if t.bad[name] && !slices.Contains([]string{"name", "recipients", "domains", "listeners"}, name) {
			return // a rejected key would change something
		}
	}
	if p.Spam+p.SpamPhish+p.SpamScam+p.SpamMalware+p.SpamBulk+p.Bulk+p.Clean == "" && p.BulkThreshold == 0 {
		f.wrongIn(t, "", "changes nothing; allowed: at least one of spam, spam_phish, spam_scam, spam_malware, spam_bulk, bulk, clean, bulk_threshold")
	}
}

// checkAllow checks the relations between keys: names, rules that match everything, and
// rules that depend on an empty key.
func (f *file) checkAllow(tables []table) {
	f.names(tables, func(i int) string { return f.config.Allow[i].Name })
	for i, t := range tables {
		a := f.config.Allow[i]
		f.conditions(t, condition{"networks", len(a.Networks)}, condition{"senders", len(a.Senders)}, condition{"from", len(a.From)},
			condition{"list_ids", len(a.ListIDs)}, condition{"recipients", len(a.Recipients)}, condition{"listeners", len(a.Listeners)})
		if len(a.From) > 0 && f.config.Milter.AuthservID == "" {
			f.wrongIn(t, "from", "requires milter.authserv_id, which is empty; set it to the name that this site's own verifier writes into Authentication-Results")
		}
	}
}
