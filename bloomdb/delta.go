package bloomdb

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// The record's layout stands in FORMAT.md.
const (
	deltaMagic    = "SBDL"
	deltaVersion  = 1
	macSize       = 32
	maxSignature  = 256
	maxCellsTotal = 1 << 20 // of one record, whatever its bytes say
)

// deltaSection is the changed cells of one filter: positions ascending, absolute
// values.
type deltaSection struct {
	target target
	period int64 // seconds; set by the decoder
	shape  shape
	cells  []filter.Cell
}

// delta is a decoded record.
type delta struct {
	origin   origin
	seq      uint64
	sections []deltaSection
}

// encodeDelta codes a record and closes it with the HMAC under the federation
// key, which proves membership and wholeness. The signature field is empty.
func (db *DB) encodeDelta(d Delta, sections []deltaSection) []byte {
	b := append([]byte(deltaMagic), deltaVersion, 0)
	b = append(b, db.keyID[:]...)
	b = append(b, byte(len(d.Site)))
	b = append(b, d.Site...)
	b = binary.BigEndian.AppendUint64(b, d.Epoch)
	b = binary.BigEndian.AppendUint64(b, d.Seq)
	b = binary.BigEndian.AppendUint64(b, uint64(db.opt.Now().UnixMilli()))
	b = binary.BigEndian.AppendUint16(b, uint16(len(sections)))
	for _, s := range sections {
		b = append(b, byte(s.target.kind))
		b = binary.BigEndian.AppendUint64(b, uint64(s.target.gen))
		b = binary.BigEndian.AppendUint64(b, uint64(db.opt.period(s.target.kind)/time.Second))
		b = s.shape.appendTo(b)
		at := len(b)
		b = append(b, 0, 0, 0, 0)
		b = filter.AppendCells(b, 0, s.cells, s.target.kind == countFilter)
		binary.BigEndian.PutUint32(b[at:], uint32(len(b)-at-4))
	}
	b = append(b, 0, 0) // no signature
	mac := db.keyed.Sum(purposeDelta, b)
	return append(b, mac[:]...)
}

// deltaReader reads fields; after the first that does not fit, it only returns
// zeros.
type deltaReader struct {
	b    []byte
	fail bool
}

func (r *deltaReader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.fail, r.b = true, nil
		return make([]byte, max(0, min(n, 32)))
	}
	v := r.b[:n]
	r.b = r.b[n:]
	return v
}

func (r *deltaReader) u8() int     { return int(r.take(1)[0]) }
func (r *deltaReader) u16() int    { return int(binary.BigEndian.Uint16(r.take(2))) }
func (r *deltaReader) u32() uint32 { return binary.BigEndian.Uint32(r.take(4)) }
func (r *deltaReader) u64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

var errShort = errors.New("record is cut short")

// decodeOrigin reads the record's head.
func decodeOrigin(r *deltaReader) (keyID []byte, d delta, err error) {
	if string(r.take(4)) != deltaMagic {
		return nil, d, errors.New("not a delta: wrong magic")
	}
	if v := r.u8(); v != deltaVersion {
		return nil, d, fmt.Errorf("delta version %d, this program reads %d", v, deltaVersion)
	}
	flags := r.u8()
	keyID = r.take(8)
	n := r.u8()
	d.origin.site = string(r.take(n))
	d.origin.epoch, d.seq = r.u64(), r.u64()
	r.u64() // when it was made: for people who look at records
	if r.fail {
		return nil, d, errShort
	}
	if flags != 0 {
		return nil, d, fmt.Errorf("flags %#x, this program knows none", flags)
	}
	if !ValidSite(d.origin.site) || d.seq == 0 || d.origin.epoch == 0 {
		return nil, d, fmt.Errorf("site %q, epoch %d, sequence number %d", d.origin.site, d.origin.epoch, d.seq)
	}
	return keyID, d, nil
}

// DecodeOrigin reads site, epoch and sequence number of a record without
// applying it. They are proven by nothing: Apply checks.
func DecodeOrigin(data []byte) (site string, epoch, seq uint64, err error) {
	_, d, err := decodeOrigin(&deltaReader{b: data})
	return d.origin.site, d.origin.epoch, d.seq, err
}

// decodeDelta checks and reads a whole record.
func (db *DB) decodeDelta(data []byte) (d delta, err error) {
	if len(data) > MaxDelta {
		return d, fmt.Errorf("record of %d bytes, must be at most %d", len(data), MaxDelta)
	}
	r := &deltaReader{b: data}
	keyID, d, err := decodeOrigin(r)
	if err != nil {
		return d, err
	}
	name := fmt.Sprintf("delta %s %d-%d", d.origin.site, d.origin.epoch, d.seq)
	if [8]byte(keyID) != db.keyID {
		return d, fmt.Errorf("%s: %w: made under key %x, here %x", name, ErrFederation, keyID, db.keyID)
	}
	body := len(data) - macSize
	if body < len(data)-len(r.b) {
		return d, fmt.Errorf("%s: %w", name, errShort)
	}
	if mac := db.keyed.Sum(purposeDelta, data[:body]); !hmac.Equal(mac[:], data[body:]) {
		return d, fmt.Errorf("%s: authentication code is wrong: torn, or not from a member", name)
	}
	r.b = r.b[:len(r.b)-macSize]
	if d.sections, err = decodeSections(r); err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

func decodeSections(r *deltaReader) ([]deltaSection, error) {
	var sections []deltaSection
	cells := 0
	for n := r.u16(); n > 0; n-- {
		s := deltaSection{target: target{kind: filterKind(r.u8())}}
		s.target.gen, s.period = int64(r.u64()), int64(r.u64())
		s.shape = decodeShape(r.u64(), r.take(1)[0])
		code := r.take(int(r.u32()))
		if r.fail {
			return nil, errShort
		}
		if !s.target.kind.valid() {
			return nil, s.target.kind.unknown()
		}
		if s.target.kind == domainFilter {
			return nil, fmt.Errorf("counts of %s, which no site tells", s.target.kind)
		}
		if err := s.shape.valid(s.target.kind); err != nil {
			return nil, fmt.Errorf("%s filter: %w", s.target.kind, err)
		}
		if claimed, _ := binary.Uvarint(code); claimed > maxCellsTotal-uint64(cells) {
			return nil, fmt.Errorf("more than %d cells", maxCellsTotal)
		}
		var rest []byte
		var err error
		s.cells, rest, err = filter.DecodeCells(nil, code, 0, s.shape.size(s.target.kind), s.target.kind == countFilter)
		if err != nil || len(rest) > 0 {
			return nil, fmt.Errorf("%s generation %d: %w", s.target.kind, s.target.gen, errors.Join(err, trailing(rest)))
		}
		cells += len(s.cells)
		if n := len(sections); n > 0 && !sections[n-1].target.before(s.target) {
			return nil, fmt.Errorf("%s generation %d stands after %s generation %d",
				s.target.kind, s.target.gen, sections[n-1].target.kind, sections[n-1].target.gen)
		}
		sections = append(sections, s)
	}
	if n := r.u16(); n > maxSignature {
		return nil, fmt.Errorf("signature of %d bytes", n)
	} else if r.take(n); r.fail {
		return nil, errShort
	}
	return sections, trailing(r.b)
}
