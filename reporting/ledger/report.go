package ledger

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Stance is what a reporter says of a message.
type Stance uint8

// The two stances.
const (
	Spam Stance = iota // a report
	Ham                // a revocation
)

// Bounds of one report, whatever the caller says.
const (
	maxSignatures = 256
	maxSketches   = 8
	maxFeatures   = 256 // of a sketch, after bloomdb.DB.Essence
	maxAnchors    = 24
	maxDomains    = 16
	maxText       = 255 // bytes of an origin, a name, a domain
)

// Anchors are the keyed anchors of one sketch, by which reports of near-duplicates are
// told to be about one thing.
type Anchors struct {
	Hashes []uint64
	Need   int // so many with the quorum list the sketch; 0: nothing does
}

// report is a report or a revocation as the file has it.
type report struct {
	at       time.Time // milliseconds
	flags    reportFlags
	reporter uint32
	weight   Weight
	credit   Weight // what it has earned its reporter
	class    uint8
	origin   string
	set      signature.Set
	anchors  []Anchors // of set.Sketches
}

// checkName returns an error if a name cannot be that of a reporter.
func checkName(reporter string) error {
	if reporter == "" || len(reporter) > maxText {
		return fmt.Errorf("reporter of %d bytes; want 1 to %d", len(reporter), maxText)
	}
	return nil
}

// checkMessage returns an error if a message is beyond the bounds of a report.
func checkMessage(set signature.Set, anchors []Anchors) error {
	switch {
	case len(set.Signatures) == 0 || len(set.Signatures) > maxSignatures:
		return fmt.Errorf("report of %d signatures; want 1 to %d", len(set.Signatures), maxSignatures)
	case len(set.Sketches) > maxSketches || len(anchors) != len(set.Sketches) || len(set.Domains) > maxDomains:
		return fmt.Errorf("report of %d sketches with anchors of %d, and %d domains", len(set.Sketches), len(anchors), len(set.Domains))
	}
	for i, s := range set.Sketches {
		if len(s.Anchors) > maxFeatures || len(s.Keys) > maxFeatures || len(anchors[i].Hashes) > maxAnchors {
			return fmt.Errorf("sketch of %d anchors and %d keys", len(s.Anchors), len(s.Keys))
		}
	}
	for _, d := range set.Domains {
		if len(d) > maxText {
			return fmt.Errorf("domain of %d bytes", len(d))
		}
	}
	return nil
}

// reportFlags are what is known of a report beside what was said.
type reportFlags uint8

const (
	flagHam       reportFlags = 1 << iota
	flagTrap                  // by a spam trap
	flagEarly                 // before its message was listed, or revoked
	flagRenewed               // the reporter said it again later
	flagWithdrawn             // the reporter took it back, or it was undone
	flagRefuted               // others took it back

	knownFlags = flagHam | flagTrap | flagEarly | flagRenewed | flagWithdrawn | flagRefuted
)

func (r *report) stance() Stance {
	if r.flags&flagHam != 0 {
		return Ham
	}
	return Spam
}

func (r *report) encode() []byte {
	b := binary.AppendUvarint(nil, uint64(r.at.UnixMilli()))
	b = append(b, byte(r.flags), r.class)
	b = binary.AppendUvarint(b, uint64(r.reporter))
	b = binary.AppendUvarint(b, uint64(r.weight))
	b = binary.AppendUvarint(b, uint64(r.credit))
	b = appendText(b, r.origin)
	b = binary.AppendUvarint(b, uint64(len(r.set.Signatures)))
	for _, s := range r.set.Signatures {
		b = append(append(b, byte(s.Kind)), s.Digest[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(r.set.Sketches)))
	for i, s := range r.set.Sketches {
		ask := byte(0)
		if s.AskOnly {
			ask = 1
		}
		b = append(b, byte(s.Kind), ask)
		b = appendFeatures(appendFeatures(b, s.Anchors), s.Keys)
		b = append(b, byte(len(r.anchors[i].Hashes)), byte(r.anchors[i].Need))
		for _, h := range r.anchors[i].Hashes {
			b = binary.BigEndian.AppendUint64(b, h)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.set.Domains)))
	for _, d := range r.set.Domains {
		b = appendText(b, d)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	s = s[:min(len(s), maxText)]
	return append(append(b, byte(len(s))), s...)
}

func appendFeatures(b []byte, features []signature.Feature) []byte {
	b = binary.AppendUvarint(b, uint64(len(features)))
	last := uint32(0)
	for _, f := range features {
		b = binary.AppendUvarint(b, uint64(f.Pos-last))
		b = binary.BigEndian.AppendUint64(b, f.Hash)
		last = f.Pos
	}
	return b
}

// decodeReport reads a report. No number in it is believed: each is bounded before
// memory is taken.
func decodeReport(data []byte) (*report, error) {
	d := &decoder{b: data}
	r := &report{at: time.UnixMilli(int64(d.number(math.MaxInt64 / 2))).UTC()}
	r.flags, r.class = reportFlags(d.byte()), d.byte()
	r.reporter = uint32(d.number(math.MaxUint32))
	r.weight = Weight(d.number(math.MaxInt32))
	r.credit = Weight(d.number(math.MaxInt32))
	r.origin = d.text()
	for range d.number(maxSignatures) {
		s := signature.Signature{Kind: signature.Kind(d.byte())}
		copy(s.Digest[:], d.bytes(len(s.Digest)))
		r.set.Signatures = append(r.set.Signatures, s)
	}
	for range d.number(maxSketches) {
		s := signature.Sketch{Kind: signature.Kind(d.byte()), AskOnly: d.byte() == 1}
		s.Anchors = d.features()
		s.Keys = d.features()
		n, need := int(d.byte()), int(d.byte())
		if n > maxAnchors {
			d.bad = true
		}
		a := Anchors{Need: need}
		for i := 0; i < n && !d.bad; i++ {
			a.Hashes = append(a.Hashes, d.uint64())
		}
		r.set.Sketches, r.anchors = append(r.set.Sketches, s), append(r.anchors, a)
	}
	for range d.number(maxDomains) {
		r.set.Domains = append(r.set.Domains, d.text())
	}
	if d.bad || len(d.b) > 0 || r.flags&^knownFlags != 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrDamaged, len(data))
	}
	return r, nil
}

// decoder reads from the front of b. After a fault all that it reads is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) bytes(n int) []byte {
	if d.bad || len(d.b) < n {
		d.bad = true
		return make([]byte, n) // n is a constant, or a byte
	}
	out := d.b[:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) byte() byte     { return d.bytes(1)[0] }
func (d *decoder) uint64() uint64 { return binary.BigEndian.Uint64(d.bytes(8)) }
func (d *decoder) text() string   { return string(d.bytes(int(d.byte()))) }

// number reads an unsigned varint of at most limit.
func (d *decoder) number(limit uint64) uint64 {
	v, n := binary.Uvarint(d.b)
	if d.bad || n <= 0 || v > limit {
		d.bad = true
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) features() []signature.Feature {
	var list []signature.Feature
	last := uint64(0)
	for range d.number(maxFeatures) {
		last += d.number(math.MaxUint32)
		if last > math.MaxUint32 {
			d.bad = true
		}
		list = append(list, signature.Feature{Pos: uint32(last), Hash: d.uint64()})
		if d.bad {
			return nil
		}
	}
	return list
}

// Key names a tally: a kind, and the beginning of a digest or an anchor.
type Key [12]byte

func signatureKey(s signature.Signature) (k Key) {
	k[0] = byte(s.Kind)
	copy(k[1:], s.Digest[:])
	return k
}

func anchorKey(kind signature.Kind, anchor uint64) (k Key) {
	k[0] = byte(kind)
	binary.BigEndian.PutUint64(k[1:], anchor)
	return k
}

// keysOf are the tallies that a message has, each once.
func keysOf(set signature.Set, anchors []Anchors) []Key {
	var keys []Key
	add := func(k Key) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, s := range set.Signatures {
		add(signatureKey(s))
	}
	for i, a := range anchors {
		for _, h := range a.Hashes {
			add(anchorKey(set.Sketches[i].Kind, h))
		}
	}
	return keys
}
