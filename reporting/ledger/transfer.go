package ledger

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"

	bolt "go.etcd.io/bbolt"
)

// An export of a ledger: a head, then records, of which FORMAT.md says what stands in
// them. It has no checksums: it travels in a stream that has.

const (
	exportVersion = 1
	exportHead    = 1 + 8     // version, id of the ledger
	maxRecord     = 256 << 10 // bytes
)

// recordKind is what a record is about.
type recordKind byte

const (
	recordReporter recordKind = 'o'
	recordReport   recordKind = 'r'
	recordTally    recordKind = 't'
	recordOpinion  recordKind = 'p' // one that its tally, before it, has no room for
	recordEnd      recordKind = 'e'
)

// ErrExport is wrapped where a stream is no whole export of a ledger.
var ErrExport = errors.New("no whole export of a ledger")

// ledgerID names the life of one file, so that an import tells what it has taken.
type ledgerID [8]byte

var keyID = []byte("id")

// id is the ledger's, made when it is first asked for.
func (l *Ledger) id() (id ledgerID, err error) {
	err = l.view(func(t *txn) error {
		copy(id[:], t.meta.Get(keyID))
		return nil
	})
	if err != nil || id != (ledgerID{}) {
		return id, err
	}
	err = l.commit(func(t *txn, _ *job) error {
		if b := t.meta.Get(keyID); len(b) == len(id) {
			copy(id[:], b)
			return nil
		}
		if _, err := rand.Read(id[:]); err != nil {
			return err
		}
		return t.meta.Put(keyID, id[:])
	})
	return id, err
}

// Exported is what an export holds.
type Exported struct {
	Reporters, Reports, Tallies int64
}

// Export writes all that the ledger holds, as it stands at one moment. It takes the
// memory of one record; reports go on meanwhile.
func (l *Ledger) Export(w io.Writer) (sum Exported, err error) {
	id, err := l.id()
	if err != nil {
		return sum, err
	}
	err = l.db.View(func(tx *bolt.Tx) error {
		x := &exporter{w: bufio.NewWriterSize(w, 64<<10), t: newTxn(tx, l)}
		x.write(append([]byte{exportVersion}, id[:]...))
		for _, part := range []func() error{x.reporters, x.reports, x.tallies} {
			if err := part(); err != nil {
				return fmt.Errorf("ledger %s: %w", l.opt.Path, err)
			}
		}
		sum = x.sum
		x.record(recordEnd, binary.AppendUvarint(binary.AppendUvarint(binary.AppendUvarint(nil,
			uint64(sum.Reporters)), uint64(sum.Reports)), uint64(sum.Tallies)))
		if x.err == nil {
			x.err = x.w.Flush()
		}
		return x.err
	})
	return sum, err
}

// exporter writes records; after an error of the stream it does nothing.
type exporter struct {
	w    *bufio.Writer
	t    *txn
	sum  Exported
	more [][2][]byte // names and values of the opinions of one tally
	err  error
}

func (x *exporter) write(b []byte) {
	if x.err == nil {
		_, x.err = x.w.Write(b)
	}
}

func (x *exporter) record(kind recordKind, parts ...[]byte) {
	n := 1
	for _, p := range parts {
		n += len(p)
	}
	x.write(append(binary.BigEndian.AppendUint32(nil, uint32(n)), byte(kind)))
	for _, p := range parts {
		x.write(p)
	}
}

// leaveOut says that a damaged value does not go along: what is sound can be saved.
func (x *exporter) leaveOut(what string, key []byte) {
	x.t.l.opt.Log.Warn("a "+what+" of the ledger is damaged, and left out of the export", "key", fmt.Sprintf("%q", key))
}

func (x *exporter) reporters() error {
	c := x.t.reporters.Cursor()
	for name, data := c.First(); name != nil && x.err == nil; name, data = c.Next() {
		if _, err := decodeRow(string(name), data); err != nil {
			x.leaveOut("reporter", name)
			continue
		}
		x.record(recordReporter, appendText(nil, string(name)), data)
		x.sum.Reporters++
	}
	return x.err
}

func (x *exporter) reports() error {
	c := x.t.reports.Cursor()
	for key, data := c.First(); key != nil && x.err == nil; key, data = c.Next() {
		if _, err := decodeReport(data); err != nil || len(key) != len(number{}) {
			x.leaveOut("report", key)
			continue
		}
		x.record(recordReport, key, data)
		x.sum.Reports++
	}
	return x.err
}

func (x *exporter) tallies() error {
	c := x.t.tallies.Cursor()
	for key, data := c.First(); key != nil && x.err == nil; key, data = c.Next() {
		y, err := decodeTally(data)
		if err == nil && len(key) == len(Key{}) {
			err = x.opinions(key, y)
		}
		if err != nil || len(key) != len(Key{}) {
			x.leaveOut("tally", key)
			continue
		}
		x.record(recordTally, key, data)
		x.sum.Tallies++
		for _, o := range x.more {
			x.record(recordOpinion, o[0], o[1])
		}
	}
	return x.err
}

// opinions gathers those that a tally has no room for: as many as it says.
func (x *exporter) opinions(key []byte, y *tally) error {
	x.more = x.more[:0]
	if y.more == 0 {
		return nil
	}
	c := x.t.opinions.Cursor()
	for name, data := c.Seek(key); len(name) == len(key)+4 && string(name[:len(key)]) == string(key); name, data = c.Next() {
		if _, err := decodeOpinion(0, data); err != nil {
			return err
		}
		x.more = append(x.more, [2][]byte{name, data})
	}
	if uint64(len(x.more)) != y.more {
		return ErrDamaged
	}
	return nil
}

// record is one record of an export, decoded.
type record struct {
	kind recordKind
	size int // bytes

	row      *row     // of a reporter
	number   uint64   // of a report
	report   *report  // likewise
	key      Key      // of a tally or an opinion
	tally    *tally   // likewise
	opinion  opinion  // likewise
	expected Exported // of the end
}

// readExport reads the head of an export; its records follow. Each is good until the
// next one, and decoded, so that no number in it is beyond its bounds. A faulty one ends
// the sequence with an error that wraps ErrExport, if it is not one of the stream's.
func readExport(r io.Reader) (id ledgerID, records iter.Seq2[record, error], err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var head [exportHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return id, nil, cutOff(err)
	}
	if head[0] != exportVersion {
		return id, nil, fmt.Errorf("%w: it is of version %d, this program reads %d", ErrExport, head[0], exportVersion)
	}
	copy(id[:], head[1:])
	return id, func(yield func(record, error) bool) {
		var buf []byte
		for {
			var rec record
			var err error
			if rec, buf, err = readRecord(in, buf); err == nil && rec.kind == recordEnd {
				if _, err = in.ReadByte(); err == nil {
					err = fmt.Errorf("%w: more follows its end", ErrExport)
				} else if errors.Is(err, io.EOF) {
					err = nil
				}
			}
			if !yield(rec, err) || err != nil || rec.kind == recordEnd {
				return
			}
		}
	}, nil
}

func cutOff(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: it is cut off", ErrExport)
	}
	return err
}

func readRecord(in *bufio.Reader, buf []byte) (rec record, _ []byte, err error) {
	var length [4]byte
	if _, err := io.ReadFull(in, length[:]); err != nil {
		return rec, buf, cutOff(err)
	}
	n := int(binary.BigEndian.Uint32(length[:]))
	if n < 1 || n > maxRecord {
		return rec, buf, fmt.Errorf("%w: a record of %d bytes; 1 to %d are allowed", ErrExport, n, maxRecord)
	}
	buf = slices.Grow(buf[:0], n)[:n]
	if _, err := io.ReadFull(in, buf); err != nil {
		return rec, buf, cutOff(err)
	}
	if rec, err = decodeRecord(buf); err != nil {
		err = fmt.Errorf("%w: %w", ErrExport, err)
	}
	return rec, buf, err
}

func decodeRecord(data []byte) (rec record, err error) {
	rec.kind, rec.size = recordKind(data[0]), len(data)
	d := &decoder{b: data[1:]}
	switch rec.kind {
	case recordReporter:
		name := d.text()
		rec.row, err = decodeRow(name, d.b)
	case recordReport:
		rec.number = d.uint64()
		rec.report, err = decodeReport(d.b)
	case recordTally:
		rec.key = Key(d.bytes(len(Key{})))
		rec.tally, err = decodeTally(d.b)
	case recordOpinion:
		rec.key = Key(d.bytes(len(Key{})))
		reporter := binary.BigEndian.Uint32(d.bytes(4))
		rec.opinion, err = decodeOpinion(reporter, d.b)
	case recordEnd:
		for _, n := range []*int64{&rec.expected.Reporters, &rec.expected.Reports, &rec.expected.Tallies} {
			*n = int64(d.number(math.MaxInt64))
		}
		d.bad = d.bad || len(d.b) > 0
	default:
		return rec, fmt.Errorf("a record of kind %q: it is damaged, or a newer version made it", data[0])
	}
	if err == nil && d.bad {
		err = fmt.Errorf("record %q: %w", data[0], ErrDamaged)
	}
	return rec, err
}
