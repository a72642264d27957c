package exchange

import (
	"context"
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// entryField holds the record in a stream entry.
const entryField = "delta"

// streams contains a federation's keys in Redis and the commands on them. All keys have one
// hash tag, so that a cluster stores them on one node and scripts may access them together.
type streams struct {
	redis *Client
	tag   string
}

var _ transport = (*streams)(nil)

func newStreams(c *Client, keyID string) *streams {
	return &streams{redis: c, tag: "{spambloom:" + keyID + "}"}
}

func (s *streams) stream(site string) string      { return s.tag + ":stream:" + site }
func (s *streams) foreign(site string) string     { return s.tag + ":foreign:" + site }
func (s *streams) headsKey() string               { return s.tag + ":heads" }
func (s *streams) tailsKey() string               { return s.tag + ":tails" }
func (s *streams) votesKey() string               { return s.tag + ":votes" }
func (s *streams) channel() string                { return s.tag + ":news" }
func (s *streams) manifestKey(site string) string { return s.tag + ":manifest:" + site }
func (s *streams) slot(site string, slot byte) string {
	return s.tag + ":snapshot:" + site + ":" + string(slot)
}

// failed adds the key to an error of Redis. A key of another type is the fault of another
// client, not of the link.
func failed(key string, err error) error {
	switch text := err.Error(); {
	case strings.Contains(text, "WRONGTYPE"):
		return fmt.Errorf("%s: %w", key, errNotOurs)
	case strings.Contains(text, "OOM command not allowed"):
		return fmt.Errorf("%s: %w: %w", key, errNoRoom, err)
	}
	return fmt.Errorf("%s: %w", key, err)
}

func (s *streams) tail(ctx context.Context, site string) (streamEnd, error) {
	key := s.stream(site)
	reply, err := tailScript.Run(ctx, s.redis, []string{key}, maxRecord).Slice()
	if err != nil {
		return streamEnd{}, failed(key, err)
	}
	if len(reply) != 3 {
		return streamEnd{}, fmt.Errorf("%s: unexpected reply %.100q", key, fmt.Sprint(reply))
	}
	last, _ := reply[0].(string)
	entries, _ := reply[1].(int64)
	at, err := parsePosition(last)
	if err != nil {
		return streamEnd{}, fmt.Errorf("%s: %w", key, err)
	}
	end := streamEnd{at: at, empty: entries == 0}
	if record, _ := reply[2].(string); record != "" {
		end.record = []byte(record)
	}
	return end, nil
}

func (s *streams) reclaim(ctx context.Context, site string, end Position) error {
	key, last := s.stream(site), ""
	if end != (Position{}) {
		last = end.String()
	}
	keys := []string{key, s.foreign(site), s.manifestKey(site), s.headsKey(), s.tailsKey(), s.votesKey(),
		s.slot(site, firstSlot), s.slot(site, secondSlot)}
	if err := reclaimScript.Run(ctx, s.redis, keys, last).Err(); err != nil {
		return failed(key, err)
	}
	return nil
}

func (s *streams) spread(ctx context.Context, record []byte) error {
	if err := s.redis.Publish(ctx, s.channel(), record).Err(); err != nil {
		return failed(s.channel(), err)
	}
	return nil
}

func (s *streams) head(ctx context.Context, site string) ([]byte, error) {
	return s.field(ctx, s.headsKey(), site)
}

func (s *streams) publish(ctx context.Context, d wire.Delta, before Position, length int64) error {
	at, carried := Position{d.Epoch, d.Seq}, 0
	if len(d.Data) <= maxNews {
		carried = 1
	}
	key := s.stream(d.Site)
	last, err := publishScript.Run(ctx, s.redis, []string{key, s.tailsKey()},
		d.Site, before.String(), at.String(), d.Data, length, s.channel(), carried).Text()
	return moved(key, at, last, err)
}

func (s *streams) heartbeat(ctx context.Context, site string, record []byte, tail Position, p *place) error {
	key := s.stream(site)
	keys := []string{key, s.headsKey(), s.tailsKey()}
	if p != nil {
		keys = append(keys, s.manifestKey(site))
		if p.chunks > 0 {
			keys = append(keys, s.slot(site, p.slot))
		}
	}
	last, err := heartbeatScript.Run(ctx, s.redis, keys, site, tail.String(), s.channel(), record).Text()
	if err == nil && last == "no snapshot" {
		return fmt.Errorf("%s: %w", keys[3], errSnapshotLost)
	}
	return moved(key, tail, last, err)
}

func moved(key string, want Position, last string, err error) error {
	if err != nil {
		return failed(key, err)
	}
	if last != want.String() {
		return fmt.Errorf("%s: %w: ends with %.60q, not %v", key, errMoved, last, want)
	}
	return nil
}

func (s *streams) read(ctx context.Context, site string, after Position) ([]entry, error) {
	key := s.stream(site)
	reply, err := readScript.Run(ctx, s.redis, []string{key},
		after.String(), batchEntries, batchBytes, maxRecord).Slice()
	if err != nil {
		return nil, failed(key, err)
	}
	batch := make([]entry, 0, len(reply))
	for _, r := range reply {
		e, err := parseEntry(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		batch = append(batch, e)
	}
	return batch, nil
}

func parseEntry(reply any) (entry, error) {
	field, _ := reply.([]any)
	if len(field) != 3 {
		return entry{}, fmt.Errorf("unexpected reply %.100q", fmt.Sprint(reply))
	}
	id, _ := field[0].(string)
	at, err := parsePosition(id)
	if err != nil {
		return entry{}, err
	}
	size, _ := field[1].(int64)
	e := entry{at: at, size: int(size)}
	if record, _ := field[2].(string); record != "" {
		e.record = []byte(record)
	}
	return e, nil
}

func (s *streams) heads(ctx context.Context) (heads []head, bad int, err error) {
	reply, err := headsScript.Run(ctx, s.redis, []string{s.headsKey(), s.tailsKey()}, maxSites, maxHeartbeat).StringSlice()
	if err != nil {
		return nil, 0, failed(s.headsKey(), err)
	}
	for i := 0; i+2 < len(reply); i += 3 {
		h := head{site: reply[i], heartbeat: []byte(reply[i+1])}
		h.tail, err = parsePosition(reply[i+2])
		if err != nil || !bloomdb.ValidSite(h.site) || len(h.heartbeat) == 0 {
			bad++
			continue
		}
		heads = append(heads, h)
	}
	return heads, bad, nil
}
