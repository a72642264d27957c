package journal

import (
	"bufio"
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

// The journal's layout is described in bloomdb/FORMAT.md.
const (
	Header      = folder.FileHead
	FrameHeader = 4 + 4       // CRC, length
	MaxRecord   = 256*32 + 64 // a report of 256 signatures

	// MaxSegment bounds a segment, in bytes: Append takes nothing when less than maxTail is left. The next
	// segment begins with a snapshot, which is due a minute after 64 MiB at the latest.
	MaxSegment = 256 << 20

	// maxTorn bounds what a crash can leave of records that were not synced: maxTail, and those of one Append.
	maxTorn = 4 * maxTail
)

var Form = folder.FileForm{Name: "journal", Magic: "SBJRNL\r\n", Version: 1}

// Record is one change of this site's own state. Its values are absolute: replaying it twice
// changes nothing.
type Record struct {
	Target layout.Target
	Hashes []filter.Hash // spam, revoked: the keys; counts: one key; else empty
	Count  uint32        // counts: the key's count after the change
	Class  layout.Class  // spam: the class that the report names
	Seeds  []uint64      // sketches, ladder: seeds of the entries' positions; at most MaxSeeds

	Retouched []RetouchedKey // of a mask record: its keys
	Votes     []uint64       // of a votes record: seeds of the keys' positions
}

// maskRecord is the kind of a record of retouched keys.
const maskRecord layout.Kind = 16

// votesRecord is the kind of a record of this site's own votes. It follows the record of the
// report or revocation that it belongs to, and is synced with it.
const votesRecord layout.Kind = 17

// kind returns the record's first byte. A report that names its class has the number of the
// class filter; the bits there are derived from the report's keys.
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

// AppendFrame encodes a record and its frame: CRC32C over length and body, length, body.
// unsynced is the number of bytes before it in the segment that may not have been on disk. It
// distinguishes damage from what a crash leaves.
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

// DecodeRecord decodes the body of a frame.
func DecodeRecord(body []byte) (r Record, unsynced int64, err error) {
	kind := layout.Kind(body[0])
	if r.Target.Kind = kind; kind == maskRecord || kind == votesRecord {
		r.Target.Kind = layout.SpamFilter
	}
	if !r.Target.Kind.Valid() {
		return r, 0, fmt.Errorf("record type %d is unknown to this program: %w", kind, layout.ErrNewer)
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
	if r.Target.Kind == layout.SketchFilter || r.Target.Kind == layout.LadderFilter {
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
	if len(body) == 0 || len(body)%seedBytes != 0 {
		return r, fmt.Errorf("%d bytes of seeds, must be a multiple of %d", len(body), seedBytes)
	}
	for b := range slices.Chunk(body, seedBytes) {
		r.Seeds = append(r.Seeds, binary.BigEndian.Uint64(b))
	}
	return r, nil
}

// ReadSegment calls apply for each record of a segment. It returns where the valid records end,
// and the length of the tail after them. A tail torn by a crash is an error unless the segment
// is the last one. The first least bytes were on disk, so a crash cannot have torn them.
func ReadSegment(path string, keyID [8]byte, last bool, least int64, apply func(at int64, r Record) error) (size, tail int64, err error) {
	f, length, err := folder.OpenBounded(path, MaxSegment)
	if err != nil {
		return 0, 0, fmt.Errorf("journal: %w", err)
	}
	defer f.Close()
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, length), 64<<10) // others may be appending
	head, err := peek(in, Header)
	if err == nil {
		err = Form.Check(head, keyID)
	}
	if err != nil {
		if last && least == 0 && isCrash(in, length, isTorn) {
			return 0, length, nil // a crash interrupted create
		}
		return 0, 0, folder.Damaged(path, 0, err)
	}
	in.Discard(Header)
	for at := int64(Header); at < length; {
		n, r, err := nextRecord(in)
		if errors.Is(err, errFrame) && last && at >= least && isCrash(in, length-at, isUnsynced) {
			return at, length - at, nil
		}
		if err != nil {
			return 0, 0, folder.Damaged(path, at, err)
		}
		if err := apply(at, r); err != nil {
			return 0, 0, fmt.Errorf("journal %s at offset %d: %w", path, at, err)
		}
		in.Discard(n)
		at += int64(n)
	}
	if length < least {
		return 0, 0, folder.Damaged(path, length, fmt.Errorf("file is cut short: at least %d bytes were on disk", least))
	}
	return length, 0, nil
}

// errFrame is wrapped if bytes are no whole frame, as a crash can leave them.
var errFrame = errors.New("no whole record")

// nextRecord decodes the record at the reader's place, and returns the length of its frame.
func nextRecord(in *bufio.Reader) (n int, r Record, err error) {
	window, err := peek(in, FrameHeader+MaxRecord)
	if err != nil {
		return 0, r, err
	}
	body, err := FrameAt(window, 0)
	if err != nil {
		return 0, r, fmt.Errorf("%w: %w", errFrame, err)
	}
	r, _, err = DecodeRecord(body)
	return FrameHeader + len(body), r, err
}

// peek returns the next n bytes, or fewer at the end.
func peek(in *bufio.Reader, n int) ([]byte, error) {
	b, err := in.Peek(n)
	if err == io.EOF {
		err = nil
	}
	return b, err
}

// isCrash reports whether the rest of a segment, of a length, can be what a crash left of records that were
// not synced. looks decides it by the bytes.
func isCrash(in io.Reader, length int64, looks func(rest []byte) bool) bool {
	if length > maxTorn {
		return false
	}
	rest, err := io.ReadAll(in)
	return err == nil && looks(rest)
}

// isTorn reports whether a segment ends within its header or is all zeros. A crash leaves that of
// a file that was never synced.
func isTorn(data []byte) bool {
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

// isUnsynced reports whether a bad frame, with which rest begins, is the result of a crash and not damage.
// After a power failure, later pages may be on disk where earlier ones are not, as long as neither was
// synced. The bad frame is damaged if a later frame records that it had been synced.
func isUnsynced(rest []byte) bool {
	for at := 1; at < len(rest)-FrameHeader; at++ {
		if rest[at+6] == 0 && rest[at+7] == 0 {
			continue // no record has such a length, and most of a tail may be zeros
		}
		body, err := FrameAt(rest, at)
		if err != nil {
			continue
		}
		if _, unsynced, err := DecodeRecord(body); err == nil && int64(at)-unsynced > 0 {
			return false
		}
	}
	return true
}

// decodeVoteRecord decodes the rest of a record of votes.
func decodeVoteRecord(r Record, body []byte) (Record, error) {
	if len(body) < 9 || len(body) > 1+8*VotesPerMessage || len(body)%8 != 1 {
		return r, fmt.Errorf("%d bytes of votes, must be 1 and up to %d times 8", len(body), VotesPerMessage)
	}
	if r.Target.Kind = layout.Kind(body[0]); r.Target.Kind != layout.SpamFilter && r.Target.Kind != layout.RevokedFilter {
		return r, fmt.Errorf("votes of kind %d, must be %d or %d", body[0], layout.SpamFilter, layout.RevokedFilter)
	}
	for b := range slices.Chunk(body[1:], 8) {
		r.Votes = append(r.Votes, binary.BigEndian.Uint64(b))
	}
	return r, nil
}

// maxBits is the largest number of bits a key in a bit filter.
const maxBits = 16

// MaxKeys limits the signatures of one report, so that a journal record has room for them.
const MaxKeys = 256

// MaxSeeds limits the seeds of one record.
const MaxSeeds = 1000

const seedBytes = 8

const (
	// VotesPerMessage is the number of keys of a message that are stored in votes and looked up.
	VotesPerMessage = 2
)
