package streams

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Redis is the Transport of a federation whose sites share a Redis. It is safe for
// concurrent use.
type Redis struct {
	Keys
	redis *redisclient.Client
	heads atomic.Uint32 // how many have been read, see Heads
}

var _ Transport = (*Redis)(nil)

// New returns the transport of the federation whose key has the id keyID (keyring.ID). The
// caller closes the client.
func New(c *redisclient.Client, keyID string) *Redis {
	return &Redis{Keys: newKeys(keyID), redis: c}
}

// failed adds the key to an error of Redis. A key of another type is the fault of another
// client, not of the link.
func failed(key string, err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "WRONGTYPE"):
		return fmt.Errorf("%s: %w", key, ErrNotOurs)
	case strings.Contains(text, "OOM command not allowed"):
		return fmt.Errorf("%s: %w: %w", key, ErrNoRoom, err)
	}
	return fmt.Errorf("%s: %w", key, err)
}

func (s *Redis) Tail(ctx context.Context, site string) (End, error) {
	key := s.StreamKey(site)
	reply, err := tailScript.Run(ctx, s.redis, []string{key, s.ForeignKey(site)}, MaxRecord).Slice()
	if err != nil {
		return End{}, failed(key, err)
	}
	if len(reply) != 3 {
		return End{}, fmt.Errorf("%s: unexpected reply %.100q", key, fmt.Sprint(reply))
	}
	last, _ := reply[0].(string)
	entries, _ := reply[1].(int64)
	at, err := parsePosition(last)
	if err != nil {
		return End{}, fmt.Errorf("%s: %w", key, err)
	}
	end := End{At: at, Empty: entries == 0}
	if record, _ := reply[2].(string); record != "" {
		end.Record = []byte(record)
	}
	return end, nil
}

func (s *Redis) Reclaim(ctx context.Context, site string, end Position) error {
	key, last := s.StreamKey(site), ""
	if end != (Position{}) {
		last = end.String()
	}
	keys := []string{key, s.ForeignKey(site), s.ManifestKey(site), s.HeadsKey(), s.TailsKey(), s.VotesKey(),
		s.SlotKey(site, FirstSlot), s.SlotKey(site, SecondSlot)}
	if err := reclaimScript.Run(ctx, s.redis, keys, last).Err(); err != nil {
		return failed(key, err)
	}
	return nil
}

func (s *Redis) Spread(ctx context.Context, record []byte) error {
	if err := s.redis.Publish(ctx, s.Channel(), record).Err(); err != nil {
		return failed(s.Channel(), err)
	}
	return nil
}

func (s *Redis) Head(ctx context.Context, site string) ([]byte, error) {
	return s.field(ctx, s.HeadsKey(), site)
}

func (s *Redis) Publish(ctx context.Context, d wire.Delta, before Position, length int64) error {
	at, carried := Position{d.Epoch, d.Seq}, 0
	if len(d.Data) <= MaxNews {
		carried = 1
	}
	key := s.StreamKey(d.Site)
	last, err := publishScript.Run(ctx, s.redis, []string{key, s.ForeignKey(d.Site), s.TailsKey()},
		d.Site, before.String(), at.String(), d.Data, length, s.Channel(), carried).Text()
	return moved(key, at, last, err)
}

func (s *Redis) Heartbeat(ctx context.Context, site string, record []byte, tail Position, p *Place) error {
	key := s.StreamKey(site)
	keys := []string{key, s.ForeignKey(site), s.HeadsKey(), s.TailsKey()}
	if p != nil {
		keys = append(keys, s.ManifestKey(site))
		if p.Chunks > 0 {
			keys = append(keys, s.SlotKey(site, p.Slot))
		}
	}
	last, err := heartbeatScript.Run(ctx, s.redis, keys, site, tail.String(), s.Channel(), record).Text()
	if err == nil && last == "no snapshot" {
		return fmt.Errorf("%s: %w", keys[4], ErrSnapshotLost)
	}
	return moved(key, tail, last, err)
}

func moved(key string, want Position, last string, err error) error {
	if err != nil {
		return failed(key, err)
	}
	if last != want.String() {
		return fmt.Errorf("%s: %w: ends with %.100q, not %v", key, ErrMoved, last, want)
	}
	return nil
}

func (s *Redis) Read(ctx context.Context, site string, after Position) ([]Entry, error) {
	key := s.StreamKey(site)
	reply, err := readScript.Run(ctx, s.redis, []string{key, s.ForeignKey(site)},
		after.String(), batchEntries, batchBytes, MaxRecord).Slice()
	if err != nil {
		return nil, failed(key, err)
	}
	batch := make([]Entry, 0, len(reply))
	for _, r := range reply {
		e, err := parseEntry(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		batch = append(batch, e)
	}
	return batch, nil
}

func parseEntry(reply any) (Entry, error) {
	field, _ := reply.([]any)
	if len(field) != 3 {
		return Entry{}, fmt.Errorf("unexpected reply %.100q", fmt.Sprint(reply))
	}
	id, _ := field[0].(string)
	at, err := parsePosition(id)
	if err != nil {
		return Entry{}, err
	}
	size, _ := field[1].(int64)
	e := Entry{At: at, Size: int(size)}
	if record, _ := field[2].(string); record != "" {
		e.Record = []byte(record)
	}
	return e, nil
}

// Heads continues each time where it ended: another client may have left so many invented names
// that not all sites are among the first MaxSites.
func (s *Redis) Heads(ctx context.Context) (heads []Head, bad int, err error) {
	begin := s.heads.Add(MaxSites) - MaxSites
	reply, err := headsScript.Run(ctx, s.redis, []string{s.HeadsKey(), s.TailsKey()}, MaxSites, MaxHeartbeat, begin).StringSlice()
	if err != nil {
		return nil, 0, failed(s.HeadsKey(), err)
	}
	for i := 0; i+2 < len(reply); i += 3 {
		h := Head{Site: reply[i], Heartbeat: []byte(reply[i+1])}
		h.Tail, err = parsePosition(reply[i+2])
		if err != nil || !layout.ValidSite(h.Site) || len(h.Heartbeat) == 0 {
			bad++
			continue
		}
		heads = append(heads, h)
	}
	return heads, bad, nil
}
