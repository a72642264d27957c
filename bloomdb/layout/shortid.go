package layout

import (
	"encoding/hex"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// ShortID is the part of a signature that signature.ID writes.
type ShortID struct {
	Kind signature.Kind
	ID   [8]byte
}

func NewShortID(s signature.Signature) ShortID { return ShortID{s.Kind, [8]byte(s.Digest[:8])} }

func (s ShortID) String() string { return s.Kind.String() + ":" + hex.EncodeToString(s.ID[:]) }

// UnixTime converts seconds since 1970 to a time in UTC.
func UnixTime(at int64) time.Time { return time.Unix(at, 0).UTC() }
