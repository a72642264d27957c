package main

import (
	"fmt"

	"github.com/spambloom/spambloom/bloomdb/exchange/presence"
)

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
	return append(notes, presence.Notes(d.ownPresence(), d.presence.Others())...)
}

// ownPresence is what other sites with the same Redis see of this one.
func (d *service) ownPresence() presence.Entry {
	ids := d.db.Status().KeyID
	if before := d.db.Previous(); before != nil {
		ids += "+" + before.Status().KeyID
	}
	return presence.Entry{Site: d.started.Name, KeyIDs: ids, Parameters: d.started.Parameters()}
}
