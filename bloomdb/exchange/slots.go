package exchange

import (
	"context"
	"fmt"
	"strconv"
)

// The slots of a site's snapshots. The manifest names the slot of the current snapshot. The
// other is empty, or contains part of the next one.
const (
	firstSlot  = '0'
	secondSlot = '1'
)

// otherSlot returns the slot that is not in use.
func otherSlot(slot byte) byte {
	if slot == firstSlot {
		return secondSlot
	}
	return firstSlot
}

func (s *streams) clearSlot(ctx context.Context, site string, slot byte) error {
	key := s.slot(site, slot)
	if err := s.redis.Unlink(ctx, key).Err(); err != nil {
		return failed(key, err)
	}
	return nil
}

func (s *streams) writeChunk(ctx context.Context, site string, slot byte, i int, chunk []byte) error {
	key := s.slot(site, slot)
	if err := s.redis.HSet(ctx, key, strconv.Itoa(i), chunk).Err(); err != nil {
		return failed(key, err)
	}
	return nil
}

func (s *streams) commit(ctx context.Context, c commit) error {
	trim := ""
	if c.trim != (Position{}) {
		trim = c.trim.String()
	}
	slot := s.slot(c.site, c.place.slot)
	keys := []string{s.manifestKey(c.site), slot, s.slot(c.site, otherSlot(c.place.slot)), s.headsKey(), s.stream(c.site)}
	found, err := commitScript.Run(ctx, s.redis, keys,
		c.site, c.place.chunks, c.manifest, c.heartbeat, s.channel(), trim).Int()
	if err != nil {
		return failed(slot, err)
	}
	if found != c.place.chunks {
		return fmt.Errorf("%s: %w: %d chunks of %d", slot, errSnapshotLost, found, c.place.chunks)
	}
	return nil
}

func (s *streams) manifest(ctx context.Context, site string) ([]byte, error) {
	key := s.manifestKey(site)
	data, err := s.redis.GetRange(ctx, key, 0, maxRecord).Bytes() // one byte more than permitted
	switch {
	case err != nil:
		return nil, failed(key, err)
	case len(data) > maxRecord:
		return nil, fmt.Errorf("%s: %w: %w", key, errNotOurs, errOversize)
	case len(data) == 0:
		return nil, nil
	}
	return data, nil
}

func (s *streams) chunk(ctx context.Context, site string, slot byte, i int) ([]byte, error) {
	return s.field(ctx, s.slot(site, slot), strconv.Itoa(i))
}

func (s *streams) writeVotes(ctx context.Context, site string, record []byte) error {
	if err := s.redis.HSet(ctx, s.votesKey(), site, record).Err(); err != nil {
		return failed(s.votesKey(), err)
	}
	return nil
}

func (s *streams) votes(ctx context.Context, site string) ([]byte, error) {
	return s.field(ctx, s.votesKey(), site)
}

// field returns a record in a hash, or nil if there is none.
func (s *streams) field(ctx context.Context, key, field string) ([]byte, error) {
	reply, err := fieldScript.Run(ctx, s.redis, []string{key}, field, maxRecord).Slice()
	if err != nil {
		return nil, failed(key, err)
	}
	if len(reply) != 2 {
		return nil, fmt.Errorf("%s: unexpected reply %.100q", key, fmt.Sprint(reply))
	}
	size, _ := reply[0].(int64)
	value, _ := reply[1].(string)
	switch {
	case size == 0:
		return nil, nil
	case size > maxRecord:
		return nil, fmt.Errorf("%s: field %s: %w: %w: %d bytes", key, field, errNotOurs, errOversize, size)
	}
	return []byte(value), nil
}
