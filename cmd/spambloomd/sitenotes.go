package main

import (
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/presence"
	"github.com/spambloom/spambloom/reporting/watch"
)

// siteNotes returns why Redis cannot be used, and the other reasons why sites are not heard, one
// sentence each, for people who ask for the sites, and for /readyz.
func (d *service) siteNotes() (fault string, notes []string) {
	if d.exchange == nil {
		return "", []string{"redis.url is not set, so this site exchanges nothing with others"}
	}
	status := d.exchanged()
	return redisFault(status), d.peerNotes(status)
}

// exchanged returns the state of the exchange. Sites that have only the previous federation key need
// the exchange under that key, so its faults count as well.
func (d *service) exchanged() exchange.Status {
	status := d.exchange.Status()
	if d.previous == nil {
		return status
	}
	before := d.previous.Status()
	if redisFault(status) == "" {
		status.Connected, status.Fault = before.Connected, before.Fault
		if status.Fault != nil {
			status.Fault.Error = "under the previous federation key: " + status.Fault.Error
		}
	}
	if m := before.MovedAside; status.MovedAside == nil || m != nil && m.At.After(status.MovedAside.At) {
		status.MovedAside = m
	}
	return status
}

// redisFault returns why Redis cannot be used, and what to do; empty: it can be used.
func redisFault(status exchange.Status) string {
	switch {
	case status.Fault != nil:
		return status.Fault.String()
	case !status.Connected:
		return link.Pending
	}
	return ""
}

// isConnecting reports whether the daemon has just started, and its first connection to Redis may
// still succeed.
func (d *service) isConnecting(status exchange.Status) bool {
	return redisFault(status) == link.Pending && d.db.Now().Sub(d.begun) < watch.Settling
}

// intruderFor is how long data of another client in this site's stream is shown.
const intruderFor = 24 * time.Hour

// peerNotes returns what keeps other sites and this one from hearing each other although Redis
// answers, one sentence each.
func (d *service) peerNotes(status exchange.Status) (notes []string) {
	if m := status.MovedAside; m != nil && d.db.Now().Sub(m.At) < intruderFor {
		notes = append(notes, fmt.Sprintf("another client wrote to the stream of %s in Redis at %s; its data was moved aside. Only one site may have this name ([site] name)", d.started.Name, m.At.UTC().Format("2006-01-02 15:04 UTC")))
	}
	if d.presence == nil {
		return notes
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
