package record

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// Bounds of one report.
const (
	maxSignatures = 256
	maxSketches   = 8
	maxFeatures   = 256 // of a sketch, after bloomdb.DB.Essence
	maxAnchors    = 24
	maxDomains    = 16
	maxClass      = 4   // of bloomdb's; 0 is none
	maxText       = 255 // bytes of an origin, a name, a domain
)

// Anchors are the keyed anchors of one sketch. Reports of near-duplicates have most of them
// in common.
type Anchors struct {
	Hashes []uint64
	Need   int // so many with the quorum list the sketch; 0: nothing does
}

// Report is a report or a revocation.
type Report struct {
	At       time.Time // milliseconds
	Flags    ReportFlags
	Reporter uint32
	Weight   Weight
	Credit   Weight // that its reporter has earned with it
	Class    uint8
	Origin   string
	Set      signature.Set
	Anchors  []Anchors // of set.Sketches
	Refuter  uint64    // number of the report whose undo restores it; 0: none
	Held     Likeness  // why it alone does not list the message; zero: it was not held
}

// Likeness counts unreported mail that a report would hit.
type Likeness struct {
	Mails, Senders uint64
}

// CheckName returns an error if a name cannot be that of a reporter.
func CheckName(reporter string) error {
	if reporter == "" || len(reporter) > maxText {
		return fmt.Errorf("reporter of %d bytes; want 1 to %d", len(reporter), maxText)
	}
	return nil
}

// CheckMessage returns an error if a message is beyond the bounds of a report.
func CheckMessage(set signature.Set, anchors []Anchors) error {
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

// ReportFlags are facts about a report.
type ReportFlags uint8

// The flags of a report.
const (
	FlagHam       ReportFlags = 1 << iota
	FlagTrap                  // by a spam trap
	FlagEarly                 // before the message was listed or revoked
	FlagRenewed               // the reporter repeated it later
	FlagWithdrawn             // the reporter said the opposite later, or it was undone
	FlagRefuted               // others said the opposite, and had the quorum; its reporter was charged for that
	FlagIdle                  // a revocation that waits for a listing: nobody had reported the message
	FlagForeign               // a revocation of what only other sites had listed, not by votes alone

	knownFlags = FlagHam | FlagTrap | FlagEarly | FlagRenewed | FlagWithdrawn | FlagRefuted | FlagIdle | FlagForeign
)

// Stance returns the reporter's statement.
func (r *Report) Stance() Stance {
	if r.Flags&FlagHam != 0 {
		return Ham
	}
	return Spam
}

// Encode returns the form of the report in the file.
func (r *Report) Encode() []byte {
	b := binary.AppendUvarint(nil, uint64(r.At.UnixMilli()))
	b = append(b, byte(r.Flags), r.Class)
	b = binary.AppendUvarint(b, uint64(r.Reporter))
	b = binary.AppendUvarint(b, uint64(r.Weight))
	b = binary.AppendUvarint(b, uint64(r.Credit))
	b = appendText(b, r.Origin)
	b = binary.AppendUvarint(b, uint64(len(r.Set.Signatures)))
	for _, s := range r.Set.Signatures {
		b = append(append(b, byte(s.Kind)), s.Digest[:]...)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Set.Sketches)))
	for i, s := range r.Set.Sketches {
		ask := byte(0)
		if s.AskOnly {
			ask = 1
		}
		b = append(b, byte(s.Kind), ask)
		b = appendFeatures(appendFeatures(b, s.Anchors), s.Keys)
		b = append(b, byte(len(r.Anchors[i].Hashes)), byte(r.Anchors[i].Need))
		for _, h := range r.Anchors[i].Hashes {
			b = binary.BigEndian.AppendUint64(b, h)
		}
	}
	b = binary.AppendUvarint(b, uint64(len(r.Set.Domains)))
	for _, d := range r.Set.Domains {
		b = appendText(b, d)
	}
	for _, n := range []uint64{r.Refuter, r.Held.Mails, r.Held.Senders} {
		b = binary.AppendUvarint(b, n)
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

// DecodeReport reads a report.
func DecodeReport(data []byte) (*Report, error) {
	d := &decoder{b: data}
	r := &Report{At: time.UnixMilli(int64(d.number(math.MaxInt64 / 2))).UTC()}
	r.Flags, r.Class = ReportFlags(d.byte()), d.byte()
	r.Reporter = uint32(d.number(math.MaxUint32))
	r.Weight = Weight(d.number(math.MaxInt32))
	r.Credit = Weight(d.number(math.MaxInt32))
	r.Origin = d.text()
	for range d.number(maxSignatures) {
		s := signature.Signature{Kind: signature.Kind(d.byte())}
		copy(s.Digest[:], d.bytes(len(s.Digest)))
		r.Set.Signatures = append(r.Set.Signatures, s)
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
		r.Set.Sketches, r.Anchors = append(r.Set.Sketches, s), append(r.Anchors, a)
	}
	for range d.number(maxDomains) {
		r.Set.Domains = append(r.Set.Domains, d.text())
	}
	r.Refuter = d.number(math.MaxUint64)
	r.Held.Mails, r.Held.Senders = d.number(math.MaxUint64), d.number(math.MaxUint64)
	if r.Class > maxClass { // one flipped bit, without effect on what is listed
		r.Class = 0
	}
	if d.bad || len(d.b) > 0 || r.Flags&^knownFlags != 0 || len(r.Set.Signatures) == 0 {
		return nil, fmt.Errorf("%w: %d bytes", ErrDamaged, len(data))
	}
	return r, nil
}

// decoder reads from the begin of b. After a fault it returns zeros.
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

// Key is the key of a tally: a kind, and the begin of a digest, or an anchor.
type Key [12]byte

// SignatureKey returns the key of a signature's tally.
func SignatureKey(s signature.Signature) (k Key) {
	k[0] = byte(s.Kind)
	copy(k[1:], s.Digest[:])
	return k
}

// AnchorKey returns the key of an anchor's tally.
func AnchorKey(kind signature.Kind, anchor uint64) (k Key) {
	k[0] = byte(kind)
	binary.BigEndian.PutUint64(k[1:], anchor)
	return k
}

// KeysOf returns the keys of a message's tallies, each once.
func KeysOf(set signature.Set, anchors []Anchors) []Key {
	var keys []Key
	add := func(k Key) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	for _, s := range set.Signatures {
		add(SignatureKey(s))
	}
	for i, a := range anchors {
		for _, h := range a.Hashes {
			add(AnchorKey(set.Sketches[i].Kind, h))
		}
	}
	return keys
}
