package queue

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/reporting/api"
)

// Version is the version of the file format that this program writes and reads.
const Version = 1

const (
	title      = "spambloom queue " // followed by the version and a newline
	maxTitle   = 32                 // bytes
	headSize   = 28                 // bytes, of a record's head
	maxPayload = 4 << 20            // bytes; the daemon accepts requests of 2 MiB
)

// fileHead is the beginning of a file of this version.
var fileHead = []byte(title + strconv.Itoa(Version) + "\n")

// mark begins each record. JSON is UTF-8, which has no byte 0xff, so no payload contains a
// mark.
var mark = []byte{0xff, 'S', 'B', 'Q'}

type kind uint8

const (
	kindEntry   kind = 1 // payload: the Entry as JSON
	kindSettled kind = 2 // no payload: the entry of that number no longer waits
)

// Entry is a report or a revocation waiting for the daemon.
type Entry struct {
	Number  uint64      `json:"-"` // increasing; assigned by Add
	At      time.Time   `json:"at"`
	Verb    string      `json:"verb"`              // report or revoke
	Control string      `json:"control,omitempty"` // the daemon's socket; empty: the default
	Request api.Request `json:"request"`
}

// VersionError is the error for a file of a newer version of this program, which stays
// unchanged.
type VersionError struct {
	Path    string
	Version string
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("queue %s: newer format (version %s; this program reads %d), made by a newer version of spambloom", e.Path, e.Version, Version)
}

// errForeign is the error for a file not written by spambloom.
var errForeign = errors.New("not a spambloom queue")

// record is one record of the file.
type record struct {
	kind    kind
	number  uint64
	payload []byte
	by      *string // the reporter of an entry, once it was asked for
}

// appendTo appends the record to data.
func (r record) appendTo(data []byte) []byte {
	start := len(data)
	data = append(data, mark...)
	data = append(data, byte(r.kind), 0, 0, 0)
	data = binary.LittleEndian.AppendUint64(data, r.number)
	data = binary.LittleEndian.AppendUint32(data, uint32(len(r.payload)))
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(r.payload, folder.Castagnoli))
	data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data[start:], folder.Castagnoli))
	return append(data, r.payload...)
}

// size returns the size of the record in the file.
func (r record) size() int64 { return int64(headSize + len(r.payload)) }

// readRecord reads the record at the beginning of data. Ok is false if there is no complete
// record. The payload is a part of data.
func readRecord(data []byte) (r record, ok bool) {
	if len(data) < headSize || !bytes.HasPrefix(data, mark) ||
		crc32.Checksum(data[:headSize-4], folder.Castagnoli) != binary.LittleEndian.Uint32(data[headSize-4:]) {
		return r, false
	}
	length := int64(binary.LittleEndian.Uint32(data[16:]))
	if length > maxPayload || length > int64(len(data)-headSize) {
		return r, false
	}
	r = record{kind: kind(data[4]), number: binary.LittleEndian.Uint64(data[8:]), payload: data[headSize : headSize+length]}
	return r, crc32.Checksum(r.payload, folder.Castagnoli) == binary.LittleEndian.Uint32(data[20:])
}

// contents is the content of a file.
type contents struct {
	waiting []record // in the order of the file; payloads share the memory of the file
	end     int64    // of the last complete record; the rest is torn
	live    int64    // size of the waiting entries
	lost    int64    // bytes between complete records that belong to none
	last    uint64   // the highest number
}

// read parses a file. The writer of a file that ends within its header or a record was
// interrupted: the rest is beyond contents.end. Errors are a *VersionError without path,
// and errForeign.
func read(data []byte) (contents, error) {
	c := contents{end: int64(len(fileHead))}
	if bytes.HasPrefix(fileHead, data) { // empty, or torn
		c.end = 0
		if len(data) == len(fileHead) {
			c.end = int64(len(data))
		}
		return c, nil
	}
	if !bytes.HasPrefix(data, fileHead) {
		return c, stranger(data)
	}
	for at := c.end; ; {
		next := findRecord(data, at)
		if next < 0 {
			break
		}
		r, _ := readRecord(data[next:])
		c.lost += next - at
		at = next + r.size()
		c.end = at
		c.note(r)
	}
	return c, nil
}

// note adds the next record.
func (c *contents) note(r record) {
	c.last = max(c.last, r.number)
	switch r.kind {
	case kindEntry:
		c.waiting = append(c.waiting, r)
		c.live += r.size()
	case kindSettled: // mostly the first
		if i := slices.IndexFunc(c.waiting, func(w record) bool { return w.number == r.number }); i >= 0 {
			c.live -= c.waiting[i].size()
			c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
		}
	}
}

// findRecord returns where the first complete record at or after from begins, or -1.
func findRecord(data []byte, from int64) int64 {
	for {
		i := bytes.Index(data[from:], mark)
		if i < 0 {
			return -1
		}
		from += int64(i)
		if _, ok := readRecord(data[from:]); ok {
			return from
		}
		from++
	}
}

// stranger returns the error for a file with another header.
func stranger(data []byte) error {
	line, _, ok := bytes.Cut(data[:min(len(data), maxTitle)], []byte("\n"))
	version, ours := bytes.CutPrefix(line, []byte(title))
	if !ok || !ours {
		return errForeign
	}
	if v, err := strconv.ParseUint(string(version), 10, 32); err != nil || v <= Version {
		return errForeign
	}
	return &VersionError{Version: string(version)}
}

// reporter returns the reporter of an entry as the daemon names it, or "" if its payload is damaged.
func (r *record) reporter() string {
	if r.by == nil {
		var e struct{ Request struct{ Reporter string } }
		_ = json.Unmarshal(r.payload, &e)
		by := api.FoldReporter(e.Request.Reporter)
		r.by = &by
	}
	return *r.by
}

// entry decodes an entry's payload.
func (r record) entry() (Entry, error) {
	var e Entry
	if err := json.Unmarshal(r.payload, &e); err != nil {
		return e, fmt.Errorf("read entry %d of the queue: %w", r.number, err)
	}
	e.Number = r.number
	return e, nil
}
