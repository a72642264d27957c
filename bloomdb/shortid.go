package bloomdb

import (
	"encoding/hex"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// shortID is what signature.ID writes of a signature.
type shortID struct {
	kind signature.Kind
	id   [8]byte
}

func newShortID(s signature.Signature) shortID { return shortID{s.Kind, [8]byte(s.Digest[:8])} }

func (s shortID) String() string { return s.kind.String() + ":" + hex.EncodeToString(s.id[:]) }

// unixTime returns the time of a number of seconds since 1970, in UTC.
func unixTime(at int64) time.Time { return time.Unix(at, 0).UTC() }
