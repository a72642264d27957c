package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
)

// The journal's layout stands in bloomdb/FORMAT.md.
const (
	Header      = folder.FileHead
	FrameHeader = 4 + 4       // CRC, length
	MaxRecord   = 256*32 + 64 // a report of 256 signatures
)

var Form = folder.FileForm{Name: "journal", Magic: "SBJRNL\r\n", Version: 1}

// Record is one change of this site's own state. It tells absolute facts, so
// that replaying it twice changes nothing.
type Record struct {
	Target layout.Target
	Hashes []filter.Hash // spam, revoked: the keys; counts: one key
	Count  uint32        // counts: the count that the key has reached
	Class  layout.Class  // spam: that the report names
	Seeds  []uint64      // sketches: of the entries' positions, and no hashes

	Retouched []RetouchedKey // of a mask: the keys, and no hashes
	Votes     []uint64       // of a report or revocation: seeds of its keys, and no hashes
}

// maskRecord stands in the place of a kind in a record of retouched keys.
const maskRecord layout.Kind = 16

// votesRecord is such a place-holder for what a report or revocation does to the
// site's own votes. It stands behind the report's record and is synced with it.
const votesRecord layout.Kind = 17

// kind is the record's first byte. A report that names its class has the number
// of the class filter, whose bits follow from its keys.
func (r Record) kind() layout.Kind {
	switch {
	case len(r.Retouched) > 0:
		return maskRecord
	case len(r.Votes) > 0:
		return votesRecord
	case r.Class.Named():
		return layout.ClassFilter
	}
	return r.Target.Kind
}

func (j *Log) Header() []byte { return Form.Begin(j.KeyID) }

// AppendFrame codes a record with its frame: CRC32C over length and body,
// length, body. unsynced is how many bytes of the segment before it were not
// known to be on disk: it tells damage from what a crash leaves.
func AppendFrame(dst []byte, r Record, unsynced int64) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, FrameHeader)...)
	dst = append(dst, byte(r.kind()))
	dst = binary.AppendVarint(dst, r.Target.Gen)
	dst = binary.AppendUvarint(dst, uint64(unsynced))
	for _, k := range r.Retouched {
		dst = AppendRetouched(dst, k)
	}
	if len(r.Votes) > 0 {
		dst = append(dst, byte(r.Target.Kind))
	}
	for _, seed := range slices.Concat(r.Votes, r.Seeds) {
		dst = binary.BigEndian.AppendUint64(dst, seed)
	}
	if r.Target.Kind.Counts() {
		dst = binary.AppendUvarint(dst, uint64(r.Count))
		dst = binary.BigEndian.AppendUint64(dst, r.Hashes[0][0])
		dst = binary.BigEndian.AppendUint64(dst, r.Hashes[0][1])
	} else {
		if r.Class.Named() {
			dst = append(dst, byte(r.Class))
		}
		for _, h := range r.Hashes {
			b := h.Bytes()
			dst = append(dst, b[:]...)
		}
	}
	binary.BigEndian.PutUint32(dst[at+4:], uint32(len(dst)-at-FrameHeader))
	binary.BigEndian.PutUint32(dst[at:], crc32.Checksum(dst[at+4:], folder.Castagnoli))
	return dst
}

// DecodeRecord reads a frame's body.
func DecodeRecord(body []byte) (r Record, unsynced int64, err error) {
	kind := layout.Kind(body[0])
	if r.Target.Kind = kind; kind == maskRecord || kind == votesRecord {
		r.Target.Kind = layout.SpamFilter
	}
	if !r.Target.Kind.Valid() {
		return r, 0, fmt.Errorf("record type %d, which this program does not know: %w", kind, layout.ErrNewer)
	}
	gen, n := binary.Varint(body[1:])
	if n <= 0 {
		return r, 0, errors.New("generation is cut short")
	}
	r.Target.Gen, body = gen, body[1+n:]
	behind, n := binary.Uvarint(body)
	if n <= 0 || behind > 1<<40 {
		return r, 0, errors.New("unsynced length is cut short or too large")
	}
	if kind == maskRecord {
		r.Retouched, err = DecodeRetouched(body[n:])
		if err == nil && len(r.Retouched) == 0 {
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

func decodeKeys(r Record, body []byte) (Record, error) {
	if r.Target.Kind.Counts() {
		count, n := binary.Uvarint(body)
		if n <= 0 || count < 1 || count > filter.MaxValue || len(body) != n+16 {
			return r, errors.New("count record has a wrong length or value")
		}
		r.Count = uint32(count)
		r.Hashes = []filter.Hash{{binary.BigEndian.Uint64(body[n:]), binary.BigEndian.Uint64(body[n+8:])}}
		return r, nil
	}
	if r.Target.Kind == layout.SketchFilter {
		return decodeSeeds(r, body)
	}
	if r.Target.Kind == layout.ClassFilter {
		if len(body) == 0 || !layout.Class(body[0]).Named() {
			return r, errors.New("report has no class, or an unknown one")
		}
		r.Target.Kind, r.Class, body = layout.SpamFilter, layout.Class(body[0]), body[1:]
	}
	if len(body) == 0 || len(body)%32 != 0 {
		return r, fmt.Errorf("%d bytes of keys, must be a multiple of 32", len(body))
	}
	for b := range slices.Chunk(body, 32) {
		r.Hashes = append(r.Hashes, filter.HashBytes([32]byte(b)))
	}
	return r, nil
}

func decodeSeeds(r Record, body []byte) (Record, error) {
	if len(body) == 0 || len(body)%sketchSeedBytes != 0 {
		return r, fmt.Errorf("%d bytes of sketch entries, must be a multiple of %d", len(body), sketchSeedBytes)
	}
	for b := range slices.Chunk(body, sketchSeedBytes) {
		r.Seeds = append(r.Seeds, binary.BigEndian.Uint64(b))
	}
	return r, nil
}

// ReadSegment calls apply for each record of a segment and returns where its
// valid records end, and the length of the tail after them. A tail that a crash
// has torn is no error when the segment is the last one. The first least bytes were on
// disk: there is no crash in which they are torn.
func ReadSegment(path string, keyID [8]byte, last bool, least int64, apply func(at int64, r Record) error) (size, tail int64, err error) {
	data, err := folder.ReadLegible(path)
	if err != nil {
		return 0, 0, fmt.Errorf("journal: %w", err)
	}
	if last && least == 0 && torn(data) {
		return 0, int64(len(data)), nil // the crash came while the segment was made
	}
	if err := Form.Check(data, keyID); err != nil {
		return 0, 0, folder.Damaged(path, 0, err)
	}
	for at := Header; at < len(data); {
		body, err := FrameAt(data, at)
		if err != nil {
			if last && int64(at) >= least && !syncedBeyond(data, at) {
				return int64(at), int64(len(data) - at), nil
			}
			return 0, 0, folder.Damaged(path, int64(at), err)
		}
		r, _, err := DecodeRecord(body)
		if err != nil {
			return 0, 0, folder.Damaged(path, int64(at), err)
		}
		if err := apply(int64(at), r); err != nil {
			return 0, 0, fmt.Errorf("journal %s at offset %d: %w", path, at, err)
		}
		at += FrameHeader + len(body)
	}
	if int64(len(data)) < least {
		return 0, 0, folder.Damaged(path, int64(len(data)), fmt.Errorf("file is cut short: at least %d bytes were on disk", least))
	}
	return int64(len(data)), 0, nil
}

// torn reports whether a segment ends before its header does, or is all zeros, which
// is what a crash leaves of a file that was never synced.
func torn(data []byte) bool {
	return len(data) < Header || len(bytes.Trim(data, "\x00")) == 0
}

// FrameAt returns the body of the frame at an offset.
func FrameAt(data []byte, at int) ([]byte, error) {
	if len(data)-at < FrameHeader {
		return nil, io.ErrUnexpectedEOF
	}
	n := binary.BigEndian.Uint32(data[at+4:])
	if n < 2 || n > MaxRecord {
		return nil, fmt.Errorf("record length %d", n)
	}
	end := at + FrameHeader + int(n)
	if end > len(data) {
		return nil, io.ErrUnexpectedEOF
	}
	if crc32.Checksum(data[at+4:end], folder.Castagnoli) != binary.BigEndian.Uint32(data[at:]) {
		return nil, errors.New("record checksum is wrong")
	}
	return data[at+FrameHeader : end], nil
}

// syncedBeyond tells damage from what a crash leaves: after a power failure
// later pages may be on disk where earlier ones are not, as long as nobody synced
// them. It is damage when a later frame says that the bad one was synced.
func syncedBeyond(data []byte, bad int) bool {
	for at := bad + 1; at < len(data)-FrameHeader; at++ {
		body, err := FrameAt(data, at)
		if err != nil {
			continue
		}
		if _, unsynced, err := DecodeRecord(body); err == nil && int64(at)-unsynced > int64(bad) {
			return true
		}
	}
	return false
}

// decodeVoteRecord reads a record of the journal.
func decodeVoteRecord(r Record, body []byte) (Record, error) {
	if len(body) < 9 || len(body) > 1+8*VotesPerMessage || len(body)%8 != 1 {
		return r, fmt.Errorf("%d bytes of votes, must be 1 and %d at most of 8 each", len(body), VotesPerMessage)
	}
	if r.Target.Kind = layout.Kind(body[0]); r.Target.Kind != layout.SpamFilter && r.Target.Kind != layout.RevokedFilter {
		return r, fmt.Errorf("votes of kind %d, must be %d or %d", body[0], layout.SpamFilter, layout.RevokedFilter)
	}
	for b := range slices.Chunk(body[1:], 8) {
		r.Votes = append(r.Votes, binary.BigEndian.Uint64(b))
	}
	return r, nil
}

// maxBits is the largest k of a bit filter.
const maxBits = 16

// MaxKeys bounds the signatures of one report: a journal record holds them.
const MaxKeys = 256

const (
	sketchSeedBytes = 8
)

const (
	// VotesPerMessage is how many keys of a message are in a filter, and are asked.
	VotesPerMessage = 2
)
