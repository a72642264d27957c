package main

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/whiteclnt"
)

// policy returns the general policy, from [actions] and bulk.threshold.
func (s *settings) policy() policy.Policy {
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
func (s *settings) overrides() []policy.Override {
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
func (s *settings) allowRules() []policy.Allow {
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
func (s *settings) readWhiteclnt() error {
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
	s.whiteclnt, s.skipped = rules, passed
	return nil
}

// warnOfWhiteclnt logs the skipped lines of DCC's whitelist.
func (s *settings) warnOfWhiteclnt(log *slog.Logger) {
	for _, err := range s.skipped {
		log.Warn("line of milter.whiteclnt skipped", "error", err)
	}
}

// milterOptions returns the milter's options for a site, whose name does not change while
// it runs.
func (s *settings) milterOptions(site string, log *slog.Logger) milter.Options {
	m := s.Milter
	o := milter.Options{
		Site:       site,
		Policy:     s.policy(),
		Overrides:  s.overrides(),
		Allow:      append(s.allowRules(), s.whiteclnt...),
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
		o.SpillFolder = s.data
	}
	tempfail := func(action string) bool { return cmp.Or(action, m.OnFailure) == "tempfail" }
	o.Tempfail.Overload, o.Tempfail.Error, o.Tempfail.Deadline = tempfail(m.OnOverload), tempfail(m.OnError), tempfail(m.OnDeadline)
	return o
}

// socketsHanded reports whether systemd passes sockets. Taking them over clears it.
func socketsHanded() bool { return os.Getenv("LISTEN_FDS") != "" }

// checkListeners rejects policies and rules for listeners not in named. The names of
// systemd's sockets are known only after they were taken over.
func (s *settings) checkListeners(named []string) error {
	of := "an address of milter.listen or spamd.listen"
	if s.handed {
		of = "a name of a socket for mail from systemd"
	}
	var errs []error
	check := func(where string, listeners []string) {
		for _, l := range listeners {
			if !slices.Contains(named, l) {
				errs = append(errs, fmt.Errorf("%s: %q is not %s; allowed: %q", where, l, of, named))
			}
		}
	}
	for i, p := range s.Policies {
		check(s.WherePolicy(i, "listeners"), p.Listeners)
	}
	for i, a := range s.Allow {
		check(s.WhereAllow(i, "listeners"), a.Listeners)
	}
	return errors.Join(errs...)
}
