package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Share is the use of a shared resource by one party.
type Share struct {
	Period time.Time // of Used
	Used   [2]int64  // room in the filters, by Stance, in billionths of a period's
	Kept   int64     // reports that are kept, in units of 16 signatures
	Names  int64     // of an origin: reporters that are kept and came from it
	Via    string    // of a reporter: the origin of the first report
}

// Party is the holder of a share: a reporter, a reporter by the way of one origin, or an origin.
type Party struct {
	Kind byte // PartyReporter, PartyWay or PartyOrigin
	Name string
	Way  string // the origin, of PartyWay
}

// The kinds of parties.
const (
	PartyReporter = 'r'
	PartyWay      = 'w'
	PartyOrigin   = 'o'
)

// PartiesOf returns the parties on whose shares a report is booked. An unknown origin has none.
func PartiesOf(reporter, origin string) []Party {
	list := []Party{{Kind: PartyReporter, Name: reporter}, {PartyWay, reporter, origin}, {Kind: PartyOrigin, Name: origin}}
	if origin == "" {
		return list[:2]
	}
	return list
}

// Key returns the key of the party's share. Names have no zero byte.
func (p Party) Key() []byte {
	key := append([]byte{p.Kind}, p.Name...)
	if p.Kind == PartyWay {
		key = append(append(key, 0), p.Way...)
	}
	return key
}

// String returns the party's name, and its way.
func (p Party) String() string {
	if p.Way != "" {
		return p.Name + " by " + p.Way
	}
	return p.Name
}

// Encode returns the form of the share in the file.
func (s *Share) Encode() []byte {
	b := []byte(nil)
	for _, v := range []int64{int64(seconds(s.Period)), s.Used[Spam], s.Used[Ham], s.Kept, s.Names} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	return appendText(b, s.Via)
}

// DecodeShare reads a share.
func DecodeShare(data []byte) (*Share, error) {
	d := &decoder{b: data}
	number := func() int64 { return int64(d.number(math.MaxInt64 / 2)) }
	s := &Share{Period: instant(d.number(math.MaxInt64 / 2))}
	s.Used[Spam], s.Used[Ham], s.Kept, s.Names = number(), number(), number(), number()
	s.Via = d.text()
	if d.bad || len(d.b) > 0 {
		return nil, fmt.Errorf("share: %w: %d bytes", ErrDamaged, len(data))
	}
	return s, nil
}
