package layout

import (
	"encoding/hex"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// ShortID is what signature.ID writes of a signature.
type ShortID struct {
	Kind signature.Kind
	ID   [8]byte
}

func NewShortID(s signature.Signature) ShortID { return ShortID{s.Kind, [8]byte(s.Digest[:8])} }

func (s ShortID) String() string { return s.Kind.String() + ":" + hex.EncodeToString(s.ID[:]) }

// UnixTime returns the time of a number of seconds since 1970, in UTC.
func UnixTime(at int64) time.Time { return time.Unix(at, 0).UTC() }
