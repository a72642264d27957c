package refusal

import (
	"errors"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Errors of records that are not passed to the database.
var (
	ErrOrigin = errors.New("record does not belong here")
	ErrEntry  = errors.New("stream entry is not a delta")
)

// Cause is the reason for a refusal.
type Cause string

const (
	News       Cause = "news"       // a message or a head that cannot be read
	Stream     Cause = "stream"     // the key is of another type
	Entry      Cause = "entry"      // the entry contains no delta
	Oversize   Cause = "oversize"   // larger than 1 MiB
	Origin     Cause = "origin"     // record of another site or position
	Federation Cause = "federation" // made under another key
	Parameters Cause = "parameters" // made with other sizes or periods
	Full       Cause = "full"       // more data than the filters are made for
	Capped     Cause = "capped"     // more than is accepted from this site
	Muted      Cause = "muted"      // the site is muted
	Trust      Cause = "trust"      // filters of a site that is not fully trusted
	Stranger   Cause = "stranger"   // no [[peer]] has that name
	Unsigned   Cause = "unsigned"   // not signed, or not with the site's key
	Replayed   Cause = "replayed"   // from a stale epoch
	Clock      Cause = "clock"      // the clock is off by more than an hour
	Newer      Cause = "newer"      // made by a newer version of spambloom
	Invalid    Cause = "invalid"    // torn or forged; see the log
)

// CauseOf returns the cause that an error stands for.
func CauseOf(err error) Cause {
	for _, known := range []struct {
		err   error
		cause Cause
	}{
		{wire.ErrFederation, Federation},
		{layout.ErrParameters, Parameters},
		{layout.ErrFull, Full},
		{wire.ErrCapped, Capped},
		{wire.ErrMuted, Muted},
		{wire.ErrTrust, Trust},
		{wire.ErrStranger, Stranger},
		{wire.ErrUnsigned, Unsigned},
		{wire.ErrReplayed, Replayed},
		{layout.ErrClock, Clock},
		{layout.ErrNewer, Newer},
		{streams.ErrOversize, Oversize},
		{ErrOrigin, Origin},
		{ErrEntry, Entry},
		{streams.ErrNotOurs, Stream},
	} {
		if errors.Is(err, known.err) {
			return known.cause
		}
	}
	return Invalid
}
