package bloomdb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// The journal's layout stands in FORMAT.md.
const (
	journalHeader = fileHead
	frameHeader   = 4 + 4       // CRC, length
	maxRecord     = 256*32 + 64 // a report of 256 signatures
)

var journalForm = fileForm{"journal", "SBJRNL\r\n", 1}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// record is one change of this site's own state. It tells absolute facts, so
// that replaying it twice changes nothing.
type record struct {
	target target
	hashes []filter.Hash // spam, revoked: the keys; counts: one key
	count  uint32        // counts: the count that the key has reached
	class  Class         // spam: that the report names
	seeds  []uint64      // sketches: of the entries' positions, and no hashes

	retouched []retouchedKey // of a mask: the keys, and no hashes
	votes     []uint64       // of a report or revocation: seeds of its keys, and no hashes
}

// maskRecord stands in the place of a kind in a record of retouched keys.
const maskRecord filterKind = 16

// votesRecord is such a place-holder for what a report or revocation does to the
// site's own votes. It stands behind the report's record and is synced with it.
const votesRecord filterKind = 17

// kind is the record's first byte. A report that names its class has the number
// of the class filter, whose bits follow from its keys.
func (r record) kind() filterKind {
	switch {
	case len(r.retouched) > 0:
		return maskRecord
	case len(r.votes) > 0:
		return votesRecord
	case r.class.Named():
		return classFilter
	}
	return r.target.kind
}

func (j *journal) header() []byte { return journalForm.begin(j.keyID) }

// appendFrame codes a record with its frame: CRC32C over length and body,
// length, body. unsynced is how many bytes of the segment before it were not
// known to be on disk: it tells damage from what a crash leaves.
func appendFrame(dst []byte, r record, unsynced int64) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, frameHeader)...)
	dst = append(dst, byte(r.kind()))
	dst = binary.AppendVarint(dst, r.target.gen)
	dst = binary.AppendUvarint(dst, uint64(unsynced))
	for _, k := range r.retouched {
		dst = appendRetouched(dst, k)
	}
	if len(r.votes) > 0 {
		dst = append(dst, byte(r.target.kind))
	}
	for _, seed := range slices.Concat(r.votes, r.seeds) {
		dst = binary.BigEndian.AppendUint64(dst, seed)
	}
	if r.target.kind.counts() {
		dst = binary.AppendUvarint(dst, uint64(r.count))
		dst = binary.BigEndian.AppendUint64(dst, r.hashes[0][0])
		dst = binary.BigEndian.AppendUint64(dst, r.hashes[0][1])
	} else {
		if r.class.Named() {
			dst = append(dst, byte(r.class))
		}
		for _, h := range r.hashes {
			b := h.Bytes()
			dst = append(dst, b[:]...)
		}
	}
	binary.BigEndian.PutUint32(dst[at+4:], uint32(len(dst)-at-frameHeader))
	binary.BigEndian.PutUint32(dst[at:], crc32.Checksum(dst[at+4:], castagnoli))
	return dst
}

// decodeRecord reads a frame's body.
func decodeRecord(body []byte) (r record, unsynced int64, err error) {
	kind := filterKind(body[0])
	if r.target.kind = kind; kind == maskRecord || kind == votesRecord {
		r.target.kind = spamFilter
	}
	if !r.target.kind.valid() {
		return r, 0, fmt.Errorf("record type %d, which this program does not know: %w", kind, ErrNewer)
	}
	gen, n := binary.Varint(body[1:])
	if n <= 0 {
		return r, 0, errors.New("generation is cut short")
	}
	r.target.gen, body = gen, body[1+n:]
	behind, n := binary.Uvarint(body)
	if n <= 0 || behind > 1<<40 {
		return r, 0, errors.New("unsynced length is cut short or too large")
	}
	if kind == maskRecord {
		r.retouched, err = decodeRetouched(body[n:])
		if err == nil && len(r.retouched) == 0 {
			err = errors.New("mask record has no keys")
		}
		return r, int64(behind), err
	}
	if kind == votesRecord {
		r, err = decodeVoteRecord(r, body[n:])
		return r, int64(behind), err
	}
	r, err = decodeKeys(r, body[n:])
	return r, int64(behind), err
}

func decodeKeys(r record, body []byte) (record, error) {
	if r.target.kind.counts() {
		count, n := binary.Uvarint(body)
		if n <= 0 || count < 1 || count > filter.MaxValue || len(body) != n+16 {
			return r, errors.New("count record has a wrong length or value")
		}
		r.count = uint32(count)
		r.hashes = []filter.Hash{{binary.BigEndian.Uint64(body[n:]), binary.BigEndian.Uint64(body[n+8:])}}
		return r, nil
	}
	if r.target.kind == sketchFilter {
		return decodeSeeds(r, body)
	}
	if r.target.kind == classFilter {
		if len(body) == 0 || !Class(body[0]).Named() {
			return r, errors.New("report has no class, or an unknown one")
		}
		r.target.kind, r.class, body = spamFilter, Class(body[0]), body[1:]
	}
	if len(body) == 0 || len(body)%32 != 0 {
		return r, fmt.Errorf("%d bytes of keys, must be a multiple of 32", len(body))
	}
	for b := range slices.Chunk(body, 32) {
		r.hashes = append(r.hashes, filter.HashBytes([32]byte(b)))
	}
	return r, nil
}

func decodeSeeds(r record, body []byte) (record, error) {
	if len(body) == 0 || len(body)%sketchSeedBytes != 0 {
		return r, fmt.Errorf("%d bytes of sketch entries, must be a multiple of %d", len(body), sketchSeedBytes)
	}
	for b := range slices.Chunk(body, sketchSeedBytes) {
		r.seeds = append(r.seeds, binary.BigEndian.Uint64(b))
	}
	return r, nil
}

// readSegment calls apply for each record of a segment and returns where its
// valid records end, and the length of the tail after them. A tail that a crash
// has torn is no error when the segment is the last one. The first least bytes were on
// disk: there is no crash in which they are torn.
func readSegment(path string, keyID [8]byte, last bool, least int64, apply func(at int64, r record) error) (size, tail int64, err error) {
	data, err := readLegible(path)
	if err != nil {
		return 0, 0, fmt.Errorf("journal: %w", err)
	}
	if last && least == 0 && torn(data) {
		return 0, int64(len(data)), nil // the crash came while the segment was made
	}
	if err := journalForm.check(data, keyID); err != nil {
		return 0, 0, damaged(path, 0, err)
	}
	for at := journalHeader; at < len(data); {
		body, err := frameAt(data, at)
		if err != nil {
			if last && int64(at) >= least && !syncedBeyond(data, at) {
				return int64(at), int64(len(data) - at), nil
			}
			return 0, 0, damaged(path, int64(at), err)
		}
		r, _, err := decodeRecord(body)
		if err != nil {
			return 0, 0, damaged(path, int64(at), err)
		}
		if err := apply(int64(at), r); err != nil {
			return 0, 0, fmt.Errorf("journal %s at offset %d: %w", path, at, err)
		}
		at += frameHeader + len(body)
	}
	if int64(len(data)) < least {
		return 0, 0, damaged(path, int64(len(data)), fmt.Errorf("file is cut short: at least %d bytes were on disk", least))
	}
	return int64(len(data)), 0, nil
}

// torn says that a segment ends before its header does, or is all zeros, which
// is what a crash leaves of a file that was never synced.
func torn(data []byte) bool {
	return len(data) < journalHeader || len(bytes.Trim(data, "\x00")) == 0
}

// frameAt returns the body of the frame at an offset.
func frameAt(data []byte, at int) ([]byte, error) {
	if len(data)-at < frameHeader {
		return nil, io.ErrUnexpectedEOF
	}
	n := binary.BigEndian.Uint32(data[at+4:])
	if n < 2 || n > maxRecord {
		return nil, fmt.Errorf("record length %d", n)
	}
	end := at + frameHeader + int(n)
	if end > len(data) {
		return nil, io.ErrUnexpectedEOF
	}
	if crc32.Checksum(data[at+4:end], castagnoli) != binary.BigEndian.Uint32(data[at:]) {
		return nil, errors.New("record checksum is wrong")
	}
	return data[at+frameHeader : end], nil
}

// syncedBeyond tells damage from what a crash leaves: after a power failure
// later pages may be on disk where earlier ones are not, as long as nobody synced
// them. It is damage when a later frame says that the bad one was synced.
func syncedBeyond(data []byte, bad int) bool {
	for at := bad + 1; at < len(data)-frameHeader; at++ {
		body, err := frameAt(data, at)
		if err != nil {
			continue
		}
		if _, unsynced, err := decodeRecord(body); err == nil && int64(at)-unsynced > int64(bad) {
			return true
		}
	}
	return false
}

// decodeVoteRecord reads a record of the journal.
func decodeVoteRecord(r record, body []byte) (record, error) {
	if len(body) < 9 || len(body) > 1+8*votesPerMessage || len(body)%8 != 1 {
		return r, fmt.Errorf("%d bytes of votes, must be 1 and %d at most of 8 each", len(body), votesPerMessage)
	}
	if r.target.kind = filterKind(body[0]); r.target.kind != spamFilter && r.target.kind != revokedFilter {
		return r, fmt.Errorf("votes of kind %d, must be %d or %d", body[0], spamFilter, revokedFilter)
	}
	for b := range slices.Chunk(body[1:], 8) {
		r.votes = append(r.votes, binary.BigEndian.Uint64(b))
	}
	return r, nil
}

// A retouched key on disk: hash, bit, kind, short ID, time.
const retouchedSize = 32 + 1 + 1 + 8 + 8

func appendRetouched(dst []byte, k retouchedKey) []byte {
	hash := k.hash.Bytes()
	dst = append(dst, hash[:]...)
	dst = append(dst, k.bit, byte(k.name.kind))
	dst = append(dst, k.name.id[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(k.at))
}

// decodeRetouched reads keys to the end of b.
func decodeRetouched(b []byte) ([]retouchedKey, error) {
	if len(b)%retouchedSize != 0 {
		return nil, fmt.Errorf("%d bytes of retouched keys, must be a multiple of %d", len(b), retouchedSize)
	}
	keys := make([]retouchedKey, 0, len(b)/retouchedSize)
	for e := range slices.Chunk(b, retouchedSize) {
		k := retouchedKey{
			hash: filter.HashBytes([32]byte(e)),
			bit:  e[32],
			name: shortID{signature.Kind(e[33]), [8]byte(e[34:])},
			at:   int64(binary.BigEndian.Uint64(e[42:])),
		}
		if k.bit >= maxBits && k.bit != takenBack {
			return nil, fmt.Errorf("retouched key rests on its bit %d, must be below %d", k.bit, maxBits)
		}
		keys = append(keys, k)
	}
	return keys, nil
}
