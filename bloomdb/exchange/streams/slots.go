package streams

import (
	"context"
	"fmt"
	"strconv"
)

func (s *Redis) ClearSlot(ctx context.Context, site string, slot byte) error {
	key := s.SlotKey(site, slot)
	if err := s.redis.Unlink(ctx, key).Err(); err != nil {
		return failed(key, err)
	}
	return nil
}

func (s *Redis) WriteChunk(ctx context.Context, site string, slot byte, i int, chunk []byte) error {
	key := s.SlotKey(site, slot)
	if err := s.redis.HSet(ctx, key, strconv.Itoa(i), chunk).Err(); err != nil {
		return failed(key, err)
	}
	return nil
}

func (s *Redis) Commit(ctx context.Context, c Commit) error {
	trim := ""
	if c.Trim != (Position{}) {
		trim = c.Trim.String()
	}
	slot := s.SlotKey(c.Site, c.Place.Slot)
	keys := []string{s.ManifestKey(c.Site), slot, s.SlotKey(c.Site, OtherSlot(c.Place.Slot)), s.HeadsKey(), s.StreamKey(c.Site)}
	found, err := commitScript.Run(ctx, s.redis, keys,
		c.Site, c.Place.Chunks, c.Manifest, c.Heartbeat, s.Channel(), trim).Int()
	if err != nil {
		return failed(slot, err)
	}
	if found != c.Place.Chunks {
		return fmt.Errorf("%s: %w: %d chunks of %d", slot, ErrSnapshotLost, found, c.Place.Chunks)
	}
	return nil
}

func (s *Redis) Manifest(ctx context.Context, site string) ([]byte, error) {
	key := s.ManifestKey(site)
	data, err := s.redis.GetRange(ctx, key, 0, MaxRecord).Bytes() // one byte more than permitted
	switch {
	case err != nil:
		return nil, failed(key, err)
	case len(data) > MaxRecord:
		return nil, fmt.Errorf("%s: %w: %w", key, ErrNotOurs, ErrOversize)
	case len(data) == 0:
		return nil, nil
	}
	return data, nil
}

func (s *Redis) Chunk(ctx context.Context, site string, slot byte, i int) ([]byte, error) {
	return s.field(ctx, s.SlotKey(site, slot), strconv.Itoa(i))
}

func (s *Redis) WriteVotes(ctx context.Context, site string, record []byte) error {
	if err := s.redis.HSet(ctx, s.VotesKey(), site, record).Err(); err != nil {
		return failed(s.VotesKey(), err)
	}
	return nil
}

func (s *Redis) Votes(ctx context.Context, site string) ([]byte, error) {
	return s.field(ctx, s.VotesKey(), site)
}

// field returns a record in a hash, or nil if there is none.
func (s *Redis) field(ctx context.Context, key, field string) ([]byte, error) {
	reply, err := fieldScript.Run(ctx, s.redis, []string{key}, field, MaxRecord).Slice()
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
	case size > MaxRecord:
		return nil, fmt.Errorf("%s: field %s: %w: %w: %d bytes", key, field, ErrNotOurs, ErrOversize, size)
	}
	return []byte(value), nil
}
