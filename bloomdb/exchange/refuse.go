package exchange

import (
	"errors"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// cause is the reason for a refusal.
type cause string

const (
	causeNews       cause = "news"       // a message or a head that cannot be read
	causeStream     cause = "stream"     // the key is of another type
	causeEntry      cause = "entry"      // the entry contains no delta
	causeOversize   cause = "oversize"   // larger than 1 MiB
	causeOrigin     cause = "origin"     // record of another site or position
	causeFederation cause = "federation" // made under another key
	causeParameters cause = "parameters" // made with other sizes or periods
	causeFull       cause = "full"       // more data than the filters are made for
	causeCapped     cause = "capped"     // more than is accepted from this site
	causeMuted      cause = "muted"      // the site is muted
	causeTrust      cause = "trust"      // filters of a site that is not fully trusted
	causeStranger   cause = "stranger"   // no [[peer]] has that name
	causeUnsigned   cause = "unsigned"   // not signed, or not with the site's key
	causeReplayed   cause = "replayed"   // from a stale epoch
	causeClock      cause = "clock"      // the clock is off by more than an hour
	causeNewer      cause = "newer"      // made by a newer version of spambloom
	causeInvalid    cause = "invalid"    // torn or forged; see the log
)

func causeOf(err error) cause {
	for _, known := range []struct {
		err   error
		cause cause
	}{
		{wire.ErrFederation, causeFederation},
		{layout.ErrParameters, causeParameters},
		{bloomdb.ErrFull, causeFull},
		{wire.ErrCapped, causeCapped},
		{wire.ErrMuted, causeMuted},
		{wire.ErrTrust, causeTrust},
		{wire.ErrStranger, causeStranger},
		{wire.ErrUnsigned, causeUnsigned},
		{wire.ErrReplayed, causeReplayed},
		{layout.ErrClock, causeClock},
		{bloomdb.ErrNewer, causeNewer},
		{errOversize, causeOversize},
		{errOrigin, causeOrigin},
		{errEntry, causeEntry},
		{errNotOurs, causeStream},
	} {
		if errors.Is(err, known.err) {
			return known.cause
		}
	}
	return causeInvalid
}

// refuse counts a refusal and logs it once per site, cause and minute. The site is nil if
// unknown: names that anyone can invent fill neither the log nor the metrics.
func (x *Exchange) refuse(o *origin, c cause, err error) {
	site := ""
	if o != nil {
		site = o.site
	}
	x.metrics.refused.WithLabelValues(site, string(c)).Inc()
	if x.logLimit.allow(site + " " + string(c)) {
		x.log.Warn("refused", "site", site, "cause", c, "error", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if o != nil {
		o.refused[c]++
	} else {
		x.strangers[c]++
	}
}
