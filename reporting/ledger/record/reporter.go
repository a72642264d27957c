package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/spambloom/spambloom/reporting/trust"
)

// Reporter is a reporter, with its reputation.
type Reporter struct {
	Name        string
	ID          uint32
	First, Last time.Time // whole seconds
	Reputation  trust.Reputation
	Override    Weight // where fixed
	Fixed       bool
	Reports     uint64 // ever
	Revocations uint64
	Accuser     uint32 // the reporter behind the last charge against this one; 0: none

	Dirty bool
}

const rowBytes = 4 + 8*7 + 8 + 1

// Encode returns the form of the reporter in the file, without the name.
func (r *Reporter) Encode() []byte {
	b := make([]byte, 0, rowBytes)
	b = binary.BigEndian.AppendUint32(b, r.ID)
	for _, v := range []uint64{
		uint64(r.First.Unix()), uint64(r.Last.Unix()),
		math.Float64bits(r.Reputation.Confirmed), math.Float64bits(r.Reputation.Refuted), uint64(r.Reputation.At.Unix()),
		r.Reports, uint64(r.Accuser)<<32 | min(r.Revocations, math.MaxUint32), uint64(r.Override),
	} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	if r.Fixed {
		return append(b, 1)
	}
	return append(b, 0)
}

// DecodeReporter reads the reporter of a name.
func DecodeReporter(name string, b []byte) (*Reporter, error) {
	if len(b) != rowBytes || b[rowBytes-1] > 1 {
		return nil, fmt.Errorf("reporter %q: %w", name, ErrDamaged)
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[4+8*i:]) }
	instant := func(i int) time.Time { return time.Unix(int64(at(i)), 0).UTC() }
	r := &Reporter{
		Name: name, ID: binary.BigEndian.Uint32(b), First: instant(0), Last: instant(1),
		Reputation: trust.Reputation{Confirmed: math.Float64frombits(at(2)), Refuted: math.Float64frombits(at(3)), At: instant(4)},
		Reports:    at(5), Revocations: at(6) & math.MaxUint32, Accuser: uint32(at(6) >> 32), Override: Weight(at(7)), Fixed: b[rowBytes-1] == 1,
	}
	for _, v := range []float64{r.Reputation.Confirmed, r.Reputation.Refuted} {
		if !(v >= 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("reporter %q: %w", name, ErrDamaged)
		}
	}
	return r, nil
}

// Settler is the reporter in whose name an administrator settles a message. No login name has
// a colon. What Settler says of a signature, words of others do not change, until it is
// withdrawn or expires.
const Settler = "settled:"
