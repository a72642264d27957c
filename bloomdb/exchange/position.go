package exchange

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is a place in a site's stream: the epoch and sequence number of a
// delta. The zero Position stands before the first one.
type Position struct {
	Epoch uint64 `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

// String gives the position as the id of its stream entry.
func (p Position) String() string {
	return strconv.FormatUint(p.Epoch, 10) + "-" + strconv.FormatUint(p.Seq, 10)
}

// parsePosition accepts exactly what String gives.
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

// after says whether p comes later in a stream than q.
func (p Position) after(q Position) bool {
	return p.Epoch > q.Epoch || p.Epoch == q.Epoch && p.Seq > q.Seq
}

// lag counts the deltas up to head that are missing at p. Of an older epoch it
// is not known how many there were.
func (p Position) lag(head Position) uint64 {
	switch {
	case !head.after(p):
		return 0
	case head.Epoch == p.Epoch:
		return head.Seq - p.Seq
	default:
		return head.Seq
	}
}

// later is the one of two positions that comes after the other.
func later(p, q Position) Position {
	if q.after(p) {
		return q
	}
	return p
}
