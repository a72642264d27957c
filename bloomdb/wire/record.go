package wire

import (
	"crypto/ed25519"
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// RecordType is the type of a record. Everything that goes through Redis is a record in one
// envelope; bloomdb/FORMAT.md describes its layout.
type RecordType uint8

// The numbers are stored in records.
const (
	RecordDelta     RecordType = 1 // changes since the previous delta
	RecordChunk     RecordType = 2 // a piece of a snapshot
	RecordManifest  RecordType = 3 // the chunks of a snapshot, and where the stream continues
	RecordHeartbeat RecordType = 4 // position of stream, snapshot and votes
	RecordVotes     RecordType = 5 // the site's recent reports, in a Generalized Bloom filter
)

func (t RecordType) String() string {
	switch t {
	case RecordDelta:
		return "delta"
	case RecordChunk:
		return "chunk"
	case RecordManifest:
		return "manifest"
	case RecordHeartbeat:
		return "heartbeat"
	case RecordVotes:
		return "votes"
	}
	return fmt.Sprintf("record type %d", uint8(t))
}

// Head is the head of a record. It is common to all types.
type Head struct {
	Type  RecordType
	Site  string
	Epoch uint64 // of the site, never 0
	Seq   uint64 // delta: its number, from 1; votes: their stamp; else the site's position when it was made
	Prev  uint64 // delta: the number before which nothing is missing; else 0
	Made  time.Time
}

func (h Head) String() string {
	return fmt.Sprintf("%s %s %d-%d", h.Type, h.Site, h.Epoch, h.Seq)
}

func (h Head) Origin() layout.Origin { return layout.Origin{Site: h.Site, Epoch: h.Epoch} }

const (
	recordMagic   = "SBRC"
	recordVersion = 1
	macSize       = 32
	recordTail    = 1 + macSize // length of the signature, HMAC
	// maxRecordHead is the maximum length of a head.
	maxRecordHead = 4 + 1 + 1 + 8 + 1 + 64 + 4*8
	// maxEpoch is the largest accepted epoch. Epochs are times in milliseconds; the bound
	// leaves room for later epochs.
	maxEpoch = 1 << 53
	// maxOwnEpoch is the largest epoch that a site takes from its own records: a holder of its key may have
	// written them, and the epochs that follow must be accepted.
	maxOwnEpoch = maxEpoch - 1<<20
	// MaxWants is the number of sites from which one heartbeat can request a snapshot, at
	// wantSize bytes each.
	MaxWants = 16
	wantSize = 8
)

// EncodeRecord seals head and body with the site's signature, if it has a key, and with the
// HMAC under the federation key. The HMAC proves membership and integrity.
func (s *Sealer) EncodeRecord(h Head, body []byte) []byte {
	b := make([]byte, 0, maxRecordHead+len(body)+ed25519.SignatureSize+recordTail)
	b = append(b, recordMagic...)
	b = append(b, recordVersion, byte(h.Type))
	b = append(b, s.Ring.KeyID[:]...)
	b = append(b, byte(len(h.Site)))
	b = append(b, h.Site...)
	for _, v := range []uint64{h.Epoch, h.Seq, h.Prev, uint64(h.Made.UnixMilli())} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	b = append(b, body...)
	signed := 0
	if s.SigningKey != nil {
		b = append(b, ed25519.Sign(s.SigningKey, b)...)
		signed = ed25519.SignatureSize
	}
	b = append(b, byte(signed))
	mac := s.Ring.Keyed.Sum(keyring.PurposeRecord, b)
	return append(b, mac[:]...)
}

// RecordReader reads fields. After the first field that exceeds the record, it sets Fail and
// returns only zeros.
type RecordReader struct {
	B    []byte
	Fail bool
}

func (r *RecordReader) Take(n int) []byte {
	if n < 0 || n > len(r.B) {
		r.Fail, r.B = true, nil
		return make([]byte, max(0, min(n, 32)))
	}
	v := r.B[:n]
	r.B = r.B[n:]
	return v
}

func (r *RecordReader) u8() int { return int(r.Take(1)[0]) }

func (r *RecordReader) u16() int { return int(binary.BigEndian.Uint16(r.Take(2))) }

func (r *RecordReader) U32() uint32 { return binary.BigEndian.Uint32(r.Take(4)) }

func (r *RecordReader) u64() uint64 { return binary.BigEndian.Uint64(r.Take(8)) }

var ErrShort = errors.New("record is cut short")

// decodeHead decodes the head and checks that it is plausible.
func decodeHead(r *RecordReader) (keyID []byte, h Head, err error) {
	if string(r.Take(4)) != recordMagic {
		return nil, h, errors.New("not a record: wrong magic")
	}
	switch v := r.u8(); {
	case v > recordVersion:
		return nil, h, layout.Newer(v, recordVersion)
	case v != recordVersion:
		return nil, h, fmt.Errorf("record version %d, this program reads %d", v, recordVersion)
	}
	h.Type = RecordType(r.u8())
	keyID = r.Take(8)
	n := r.u8()
	h.Site = string(r.Take(n))
	h.Epoch, h.Seq, h.Prev = r.u64(), r.u64(), r.u64()
	ms := r.u64()
	switch {
	case r.Fail:
		return nil, h, ErrShort
	case h.Type < RecordDelta || h.Type > RecordVotes:
		return nil, h, fmt.Errorf("%v is unknown to this program: %w", h.Type, layout.ErrNewer)
	case !layout.ValidSite(h.Site) || h.Epoch == 0 || h.Epoch > maxEpoch || ms > 1<<53:
		return nil, h, fmt.Errorf("%s of site %q, epoch %d, made at %d ms", h.Type, h.Site, h.Epoch, ms)
	case h.Type == RecordDelta && (h.Seq == 0 || h.Prev >= h.Seq) || h.Type != RecordDelta && h.Prev != 0:
		return nil, h, fmt.Errorf("%s of site %q has number %d after %d", h.Type, h.Site, h.Seq, h.Prev)
	}
	h.Made = time.UnixMilli(int64(ms)).UTC()
	return keyID, h, nil
}

// DecodeHead decodes the head of a record without verifying it. Its errors are ErrUnverified.
func DecodeHead(data []byte) (Head, error) {
	_, h, err := decodeHead(&RecordReader{B: data})
	return h, unverified(err)
}

// ErrUnverified is the error for a record that is not proven to be of the expected site and
// type. Anybody with access to Redis may have written it. Such a record changes nothing, and
// none of its numbers is used.
var ErrUnverified = errors.New("record is not verified")

// unverifiedError adds ErrUnverified to an error and keeps its text.
type unverifiedError struct{ error }

func (e unverifiedError) Unwrap() error { return e.error }

func (unverifiedError) Is(err error) bool { return err == ErrUnverified }

func unverified(err error) error {
	if err == nil {
		return nil
	}
	return unverifiedError{err}
}

// OpenRecord verifies a record's envelope and returns its body, which shares memory with data.
// Errors name the record and are ErrUnverified. They also wrap ErrFederation, ErrStranger or
// ErrUnsigned, or describe the damage.
func (s *Sealer) OpenRecord(data []byte, want RecordType) (h Head, body []byte, err error) {
	h, body, err = s.open(data)
	if err == nil && h.Type != want {
		err = fmt.Errorf("%s: expected a %s record", h, want)
	}
	if err != nil {
		return h, nil, unverified(err)
	}
	return h, body, nil
}

// OwnRecord verifies that this site made a record of the wanted type, and returns its head. The
// type matters because the number of votes, for example, is not a position.
func (s *Sealer) OwnRecord(data []byte, want RecordType) (Head, error) {
	h, _, err := s.open(data)
	switch {
	case err != nil:
	case h.Site != s.Opt.Site:
		err = fmt.Errorf("%s: it is another site's", h)
	case h.Type != want:
		err = fmt.Errorf("%s: expected a %s record", h, want)
	case h.Epoch > maxOwnEpoch:
		err = fmt.Errorf("%s: no later epoch would be accepted", h)
	}
	return h, unverified(err)
}

func (s *Sealer) open(data []byte) (h Head, body []byte, err error) {
	if len(data) > MaxDelta {
		return h, nil, fmt.Errorf("record of %d bytes, must be at most %d", len(data), MaxDelta)
	}
	r := &RecordReader{B: data}
	keyID, h, err := decodeHead(r)
	if errors.Is(err, layout.ErrNewer) && !s.isAuthentic(data) {
		err = errNotAuthentic // without a valid code, the version proves nothing
	}
	if err != nil {
		return h, nil, err
	}
	if [8]byte(keyID) != s.Ring.KeyID {
		return h, nil, fmt.Errorf("%s: %w: made under key %x, here %x", h, ErrFederation, keyID, s.Ring.KeyID)
	}
	body, signature, err := s.openTail(data, len(data)-len(r.B))
	if err == nil {
		err = s.verify(h.Site, data[:len(data)-recordTail-len(signature)], signature)
	}
	if err != nil {
		return h, nil, fmt.Errorf("%s: %w", h, err)
	}
	return h, body, nil
}

// verify checks the signature of a record with a valid HMAC. This site's own records are
// checked against its own key, whatever the members list.
func (s *Sealer) verify(site string, signed, signature []byte) error {
	switch key := s.SigningKey; {
	case site != s.Opt.Site:
		return s.Members.verify(site, signed, signature)
	case key == nil:
		return nil
	case len(signature) == 0 || !ed25519.Verify(key.Public().(ed25519.PublicKey), signed, signature):
		return fmt.Errorf("%w: not signed with this site's key", ErrUnsigned)
	}
	return nil
}

var errNotAuthentic = errors.New("authentication code is wrong: the record is torn, or not from a member")

// isAuthentic reports whether a member made a record, of any version.
func (s *Sealer) isAuthentic(data []byte) bool {
	at := len(data) - macSize
	if at < 0 {
		return false
	}
	mac := s.Ring.Keyed.Sum(keyring.PurposeRecord, data[:at])
	return hmac.Equal(mac[:], data[at:])
}

// openTail checks the HMAC and splits the rest of the record after its head.
func (s *Sealer) openTail(data []byte, head int) (body, signature []byte, err error) {
	at := len(data) - recordTail
	if at < head {
		return nil, nil, ErrShort
	}
	if !s.isAuthentic(data) {
		return nil, nil, errNotAuthentic
	}
	n := int(data[at])
	if n != 0 && n != ed25519.SignatureSize {
		return nil, nil, fmt.Errorf("signature of %d bytes", n)
	}
	if at-n < head {
		return nil, nil, ErrShort
	}
	return data[head : at-n], data[at-n : at], nil
}

// CheckClock rejects a record from a clock that is far ahead. An old record passes: it may have
// been waiting.
func (s *Sealer) CheckClock(h Head) error {
	s.Witness(h)
	if ahead := h.Made.Sub(s.Opt.Now()); ahead > clock.MaxSkew {
		return fmt.Errorf("%s: %w: it was made at %s, %s in the future", h, layout.ErrClock, h.Made.Format(time.RFC3339), ahead.Round(time.Second))
	}
	return nil
}
