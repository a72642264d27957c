package streams

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a site's stream: the epoch and sequence number of a delta. The
// zero Position is before the first one.
type Position struct {
	Epoch uint64 `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

// At returns the place of a delta.
func At(epoch, seq uint64) Position { return Position{epoch, seq} }

// String returns the position as the id of its stream entry.
func (p Position) String() string {
	return strconv.FormatUint(p.Epoch, 10) + "-" + strconv.FormatUint(p.Seq, 10)
}

// parsePosition accepts exactly the results of String.
func parsePosition(s string) (Position, error) {
	epoch, seq, _ := strings.Cut(s, "-")
	e, errEpoch := strconv.ParseUint(epoch, 10, 64)
	q, errSeq := strconv.ParseUint(seq, 10, 64)
	p := Position{e, q}
	if errEpoch != nil || errSeq != nil || p.String() != s {
		return Position{}, fmt.Errorf("%.50q is not EPOCH-SEQ", s)
	}
	return p, nil
}

// After reports whether p comes later in a stream than q.
func (p Position) After(q Position) bool {
	return p.Epoch > q.Epoch || p.Epoch == q.Epoch && p.Seq > q.Seq
}

// Lag returns the number of deltas up to head that are missing at p. How many an older
// epoch had is unknown.
func (p Position) Lag(head Position) uint64 {
	switch {
	case !head.After(p):
		return 0
	case head.Epoch == p.Epoch:
		return head.Seq - p.Seq
	default:
		return head.Seq
	}
}

// Later returns the later of two positions.
func Later(p, q Position) Position {
	if q.After(p) {
		return q
	}
	return p
}
