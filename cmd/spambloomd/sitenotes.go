package main

import (
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/exchange/presence"
)

// maxNotes bounds the sites that are named: anybody with access to Redis can invent some.
const maxNotes = 8

// siteNotes returns the reasons why other sites are not heard, one sentence each, for people
// who ask for the sites, and for /readyz.
func (d *service) siteNotes() (notes []string) {
	if d.exchange == nil {
		return []string{"redis.url is not set, so this site exchanges nothing with others"}
	}
	status := d.exchange.Status()
	switch fault := status.Fault; {
	case fault != nil:
		note := fmt.Sprintf("Redis: %s: %s", fault.Cause, fault.Error)
		if advice := fault.Cause.Advice(); advice != "" {
			note += "; " + advice
		}
		notes = append(notes, note)
	case !status.Connected:
		notes = append(notes, "Redis: not connected yet")
	}
	return append(notes, notesOf(d.ownPresence(), d.presence.Others())...)
}

// ownPresence is what other sites with the same Redis see of this one.
func (d *service) ownPresence() presence.Entry {
	ids := d.db.Status().KeyID
	if before := d.db.Previous(); before != nil {
		ids += "+" + before.Status().KeyID
	}
	return presence.Entry{Site: d.started.site, KeyIDs: ids, Parameters: d.started.parameters()}
}

// notesOf compares the sites that use the same Redis with this one.
func notesOf(own presence.Entry, others []presence.Entry) (notes []string) {
	for _, o := range others {
		switch {
		case !o.SharesKey(own):
			notes = append(notes, fmt.Sprintf("%s uses this Redis with another federation key, %s (here %s); spambloom invite on one side and spambloom join on the other make them one federation", o.Site, o.KeyIDs, own.KeyIDs))
		case o.Parameters != own.Parameters:
			notes = append(notes, fmt.Sprintf("%s has other values in [reports]: %s (here %s); they must be the same", o.Site, describeParameters(o.Parameters), describeParameters(own.Parameters)))
		}
		if len(notes) == maxNotes {
			break
		}
	}
	return notes
}

// parameters returns the values of [reports] that must be the same on all sites.
func (s *settings) parameters() string {
	r := s.Reports
	return fmt.Sprintf("%v/%d/%d/%g", r.Period, r.Keep, r.Capacity, r.MaxErrorPerMail)
}

func describeParameters(text string) string {
	values := strings.Split(text, "/")
	names := []string{"period", "keep", "capacity", "max_error_per_mail"}
	if len(values) != len(names) {
		return text
	}
	for i, name := range names {
		values[i] = name + " " + values[i]
	}
	return strings.Join(values, ", ")
}
