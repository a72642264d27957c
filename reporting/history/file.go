package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a file, see FORMAT.md.
const (
	maxFile   = 1 << 20 // bytes
	maxSeries = 96
	maxNamed  = 64  // of them: counters of a site, whose name others choose
	maxKey    = 300 // bytes: the name of a counter, and of a site
	maxHours  = 31 * 24
	maxValue  = 1 << 53
)

const (
	magicWord = "spamhist"
	version   = 1
	magic     = magicWord + "\x01"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// month is the content of one file.
type month struct {
	hours map[int]map[string]uint64 // since the begin of the month; counters that are zero are absent
	keys  map[string]bool           // of all hours
	named int                       // of keys: those of sites
}

func newMonth() *month { return &month{hours: map[int]map[string]uint64{}, keys: map[string]bool{}} }

// add adds to a counter of an hour. It returns false for a counter too many. Sites may come under many
// names in a month: the counters of this site, which have no name behind a colon, keep their room.
func (m *month) add(hour int, key string, n uint64) bool {
	if !m.keys[key] {
		named := 0
		if strings.Contains(key, ":") {
			named = 1
		}
		if len(m.keys) >= maxSeries || m.named+named > maxNamed {
			return false
		}
		m.keys[key] = true
		m.named += named
	}
	if m.hours[hour] == nil {
		m.hours[hour] = make(map[string]uint64)
	}
	m.hours[hour][key] = min(m.hours[hour][key]+n, maxValue)
	return true
}

// errDamaged is the error for a file that does not have the form of FORMAT.md.
var errDamaged = errors.New("damaged")

// errNewer is the error for a file of a newer version, which is not damaged.
var errNewer = errors.New("newer format")

// encode returns the file of a month.
func (m *month) encode() []byte {
	keys := slices.Sorted(maps.Keys(m.keys))
	index := make(map[string]uint64, len(keys))
	b := binary.AppendUvarint([]byte(magic), uint64(len(keys)))
	for i, key := range keys {
		index[key] = uint64(i)
		b = append(binary.AppendUvarint(b, uint64(len(key))), key...)
	}
	b = binary.AppendUvarint(b, uint64(len(m.hours)))
	last := -1
	for _, hour := range slices.Sorted(maps.Keys(m.hours)) {
		counts := m.hours[hour]
		b = binary.AppendUvarint(b, uint64(hour-last))
		last = hour
		b = binary.AppendUvarint(b, uint64(len(counts)))
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			b = binary.AppendUvarint(binary.AppendUvarint(b, index[key]), counts[key])
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decode reads the file of a month. Every error wraps errDamaged or errNewer.
func decode(data []byte) (*month, error) {
	if len(data) > maxFile || len(data) < len(magic)+4 || string(data[:len(magicWord)]) != magicWord {
		return nil, fmt.Errorf("%w: %d bytes, without the beginning of version %d", errDamaged, len(data), version)
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	switch v := data[len(magicWord)]; {
	case crc32.Checksum(body, castagnoli) != sum:
		return nil, fmt.Errorf("%w: checksum", errDamaged)
	case v > version:
		return nil, fmt.Errorf("%w (version %d; this program reads %d), made by a newer version of spambloom", errNewer, v, version)
	case v != version:
		return nil, fmt.Errorf("%w: version %d", errDamaged, v)
	}
	r := reader{rest: body[len(magic):]}
	keys, m, hour := r.keys(), newMonth(), -1
	for range r.number(0, maxHours) {
		if hour += int(r.number(1, maxHours)); hour >= maxHours {
			r.fail("hour %d of a month", hour)
		}
		next := uint64(0)
		for range r.number(0, uint64(len(keys))) {
			i, value := r.number(next, uint64(len(keys)-1)), r.number(1, maxValue)
			if r.err != nil {
				return nil, r.err
			}
			m.add(hour, keys[i], value)
			next = i + 1
		}
	}
	if len(r.rest) > 0 {
		r.fail("%d bytes at the end", len(r.rest))
	}
	return m, r.err
}

// reader takes numbers and keys from a file. After an error it returns zero.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(format string, a ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{errDamaged}, a...)...)
	}
	r.rest = nil
}

// number returns a number of this range.
func (r *reader) number(least, most uint64) uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v < least || v > most {
		r.fail("a number is missing, or is not from %d to %d", least, most)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) keys() (keys []string) {
	for range r.number(0, maxSeries) {
		n := r.number(1, maxKey)
		if r.err != nil || uint64(len(r.rest)) < n || !utf8.Valid(r.rest[:n]) || slices.Contains(keys, string(r.rest[:n])) {
			r.fail("name %d of a counter", len(keys)+1)
			return nil
		}
		keys = append(keys, string(r.rest[:n]))
		r.rest = r.rest[n:]
	}
	return keys
}

// monthOf returns the begin of a time's month, and the hours since then.
func monthOf(t time.Time) (begin time.Time, hour int) {
	t = t.UTC()
	begin = time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC)
	return begin, int(t.Sub(begin) / time.Hour)
}
