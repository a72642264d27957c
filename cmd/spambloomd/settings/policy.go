package settings

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/whiteclnt"
)

// Policy returns the general policy, from [actions] and bulk.threshold.
func (s *Settings) Policy() policy.Policy {
	a := s.Actions
	return policy.Policy{
		Spam:          policy.Action(a.Spam),
		Bulk:          policy.Action(a.Bulk),
		Clean:         policy.Action(a.Clean),
		Classes:       classActions("", a.SpamPhish, a.SpamScam, a.SpamMalware, a.SpamBulk),
		BulkThreshold: uint64(s.Bulk.Threshold),
	}
}

// overrides returns the [[policy]] tables. The action of a table for spam also applies to
// the classes that it does not name: a recipient whose spam is only tagged does not expect
// [actions] to discard phishing.
func (s *Settings) overrides() []policy.Override {
	var list []policy.Override
	for _, p := range s.Policies {
		list = append(list, policy.Override{
			Name:       p.Name,
			Recipients: p.Recipients,
			Domains:    p.Domains,
			Listeners:  p.Listeners,
			Policy: policy.Policy{
				Spam:          policy.Action(p.Spam),
				Bulk:          policy.Action(p.Bulk),
				Clean:         policy.Action(p.Clean),
				Classes:       classActions(p.Spam, p.SpamPhish, p.SpamScam, p.SpamMalware, p.SpamBulk),
				BulkThreshold: uint64(p.BulkThreshold),
			},
		})
	}
	return list
}

// classActions returns the action for spam of each class; "" means as spam. Empty actions
// are not in the map.
func classActions(spam, phish, scam, malware, bulk string) map[bloomdb.Class]policy.Action {
	actions := make(map[bloomdb.Class]policy.Action)
	for class, action := range map[bloomdb.Class]string{
		bloomdb.ClassPhish: phish, bloomdb.ClassScam: scam, bloomdb.ClassMalware: malware, bloomdb.ClassBulk: bulk,
	} {
		if action = cmp.Or(action, spam); action != "" {
			actions[class] = policy.Action(action)
		}
	}
	return actions
}

// allowRules returns the [[allow]] tables.
func (s *Settings) allowRules() []policy.Allow {
	var list []policy.Allow
	for _, a := range s.Allow {
		list = append(list, policy.Allow{
			Name:       a.Name,
			Networks:   a.Networks,
			Senders:    a.Senders,
			From:       a.From,
			ListIDs:    a.ListIDs,
			Recipients: a.Recipients,
			Listeners:  a.Listeners,
		})
	}
	return list
}

// readWhiteclnt reads DCC's whitelist. It keeps the lines that no rule can express for the
// log.
func (s *Settings) readWhiteclnt() error {
	if s.Milter.Whiteclnt == "" {
		return nil
	}
	rules, passed, err := whiteclnt.Load(s.Milter.Whiteclnt)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Where("milter.whiteclnt"), err)
	}
	if s.Milter.AuthservID == "" && slices.ContainsFunc(rules, func(a policy.Allow) bool { return a.From != nil }) {
		passed = append(passed, fmt.Errorf("%s: its from lines allow nothing without milter.authserv_id", s.Where("milter.whiteclnt")))
	}
	s.Whiteclnt, s.Skipped = rules, passed
	return nil
}

// WarnOfWhiteclnt logs the skipped lines of DCC's whitelist.
func (s *Settings) WarnOfWhiteclnt(log *slog.Logger) {
	for _, err := range s.Skipped {
		log.Warn("line of milter.whiteclnt skipped", "error", err)
	}
}

// Warnings returns what is valid in the configuration, but hardly meant.
func (s *Settings) Warnings() []error {
	var list []error
	lost := func(where, action string) {
		if action == string(policy.Discard) || action == string(policy.Reject) {
			list = append(list, fmt.Errorf("%s: %q is the action for all mail that is neither spam nor bulk", where, action))
		}
	}
	lost(s.Where("actions.clean"), s.Actions.Clean)
	for i, p := range s.Policies {
		lost(s.WherePolicy(i, "clean"), p.Clean)
	}
	for _, n := range s.Milter.LocalNetworks {
		if bits := n.Bits() - n.Addr().BitLen() + n.Addr().Unmap().BitLen(); bits < 7 || n.Addr().Unmap().Is4() && bits < 8 { // the largest private ones: fc00::/7, 10.0.0.0/8
			list = append(list, fmt.Errorf("%s: %s is larger than any private network, and none of its mail is judged", s.Where("milter.local_networks"), n))
		}
	}
	return append(list, s.Skipped...)
}

// MilterOptions returns the milter's options for a site, whose name does not change while
// it runs.
func (s *Settings) MilterOptions(site string, log *slog.Logger) milter.Options {
	m := s.Milter
	o := milter.Options{
		Site:       site,
		Policy:     s.Policy(),
		Overrides:  s.overrides(),
		Allow:      append(s.allowRules(), s.Whiteclnt...),
		AuthservID: m.AuthservID,

		SpamFlag:          m.SpamFlag,
		LocalNetworks:     m.LocalNetworks,
		SkipAuthenticated: m.SkipAuthenticated,
		CountRecipients:   s.Bulk.Count == "recipients",
		CountNetworks:     s.Bulk.CountNetworks,
		MaxMessage:        m.MaxMessage,
		SkipOversize:      m.Oversize == "skip",
		MaxMemory:         m.MaxMemory,

		MaxConnections:          int(m.MaxConnections),
		MaxConnectionsPerClient: int(m.MaxConnectionsPerClient),
		IdleTimeout:             m.IdleTimeout,
		ContentTimeout:          m.ContentTimeout,
		WriteTimeout:            m.WriteTimeout,
		JudgeTimeout:            m.JudgeTimeout,
		ConnectionTimeout:       m.ConnectionTimeout,
		Log:                     log,
	}
	if s.Bulk.Greylist {
		o.GreylistFrom = uint64(s.Bulk.GreylistFrom)
	}
	if m.OverMemory == "spill" {
		o.SpillFolder = s.Data
	}
	tempfail := func(action string) bool { return cmp.Or(action, m.OnFailure) == "tempfail" }
	o.Tempfail.Overload, o.Tempfail.Error, o.Tempfail.Deadline = tempfail(m.OnOverload), tempfail(m.OnError), tempfail(m.OnDeadline)
	return o
}
