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
	"github.com/spambloom/spambloom/milter/whiteclnt"
)

// policy is the general one: what [actions] and bulk.threshold say.
func (s *settings) policy() milter.Policy {
	a := s.Actions
	return milter.Policy{
		Spam:          milter.Action(a.Spam),
		Bulk:          milter.Action(a.Bulk),
		Clean:         milter.Action(a.Clean),
		Classes:       classActions("", a.SpamPhish, a.SpamScam, a.SpamMalware, a.SpamBulk),
		BulkThreshold: uint64(s.Bulk.Threshold),
	}
}

// overrides are the [[policy]] tables. What a table says of spam, it says of the
// classes that it does not name as well: somebody whose spam is only tagged does not
// expect phishing to be discarded, since [actions] says so.
func (s *settings) overrides() []milter.Override {
	var list []milter.Override
	for _, p := range s.Policies {
		list = append(list, milter.Override{
			Name:       p.Name,
			Recipients: p.Recipients,
			Domains:    p.Domains,
			Listeners:  p.Listeners,
			Policy: milter.Policy{
				Spam:          milter.Action(p.Spam),
				Bulk:          milter.Action(p.Bulk),
				Clean:         milter.Action(p.Clean),
				Classes:       classActions(p.Spam, p.SpamPhish, p.SpamScam, p.SpamMalware, p.SpamBulk),
				BulkThreshold: uint64(p.BulkThreshold),
			},
		})
	}
	return list
}

// classActions are what is done with spam of each class; of "", spam. What is left empty
// is not in the map.
func classActions(spam, phish, scam, malware, bulk string) map[bloomdb.Class]milter.Action {
	actions := make(map[bloomdb.Class]milter.Action)
	for class, action := range map[bloomdb.Class]string{
		bloomdb.ClassPhish: phish, bloomdb.ClassScam: scam, bloomdb.ClassMalware: malware, bloomdb.ClassBulk: bulk,
	} {
		if action = cmp.Or(action, spam); action != "" {
			actions[class] = milter.Action(action)
		}
	}
	return actions
}

// allowRules are the [[allow]] tables.
func (s *settings) allowRules() []milter.Allow {
	var list []milter.Allow
	for _, a := range s.Allow {
		list = append(list, milter.Allow{
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

// readWhiteclnt reads DCC's whitelist. Lines that no rule can say are kept for the log.
func (s *settings) readWhiteclnt() error {
	if s.Milter.Whiteclnt == "" {
		return nil
	}
	rules, passed, err := whiteclnt.Load(s.Milter.Whiteclnt)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Where("milter.whiteclnt"), err)
	}
	if s.Milter.AuthservID == "" && slices.ContainsFunc(rules, func(a milter.Allow) bool { return a.From != nil }) {
		passed = append(passed, fmt.Errorf("%s: its from lines allow nothing without milter.authserv_id", s.Where("milter.whiteclnt")))
	}
	s.whiteclnt, s.passed = rules, passed
	return nil
}

// warnOfWhiteclnt says what of DCC's whitelist was not taken over.
func (s *settings) warnOfWhiteclnt(log *slog.Logger) {
	for _, err := range s.passed {
		log.Warn("not taken over from milter.whiteclnt", "error", err)
	}
}

// milterOptions are for the milter of that site, whose name does not change while it
// runs.
func (s *settings) milterOptions(site string, log *slog.Logger) milter.Options {
	m := s.Milter
	o := milter.Options{
		Site:       site,
		Policy:     s.policy(),
		Overrides:  s.overrides(),
		Allow:      append(s.allowRules(), s.whiteclnt...),
		AuthservID: m.AuthservID,

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

// socketsHanded says whether systemd hands over sockets; taking them clears it.
func socketsHanded() bool { return os.Getenv("LISTEN_FDS") != "" }

// checkListeners finds policies and rules for listeners that there are not, of those
// named. Which names systemd gives to its sockets is known once they are taken.
func (s *settings) checkListeners(named []string) error {
	of := "address of milter.listen"
	if s.handed {
		of = "name of a milter's socket from systemd"
	}
	var errs []error
	check := func(where string, listeners []string) {
		for _, l := range listeners {
			if !slices.Contains(named, l) {
				errs = append(errs, fmt.Errorf("%s: %q is no %s; allowed: %q", where, l, of, named))
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
