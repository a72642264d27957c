package exchange

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb"
)

// Bounds of one read from a stream: what is held at once, and how long news wait
// for it to be applied. A batch may pass batchBytes by one record.
const (
	batchEntries = 64
	batchBytes   = 512 << 10
)

// entryField holds the record in a stream entry.
const entryField = "delta"

// errMoved says that a stream does not end where this site left it: Redis lost
// writes (restart, failover, FLUSHALL), or somebody else wrote.
var errMoved = errors.New("the stream does not end where this site left it")

// streams are a federation's keys in Redis and the commands on them. All keys
// have one hash tag, so that a cluster keeps them on one node and scripts may
// touch them together.
type streams struct {
	redis redis.UniversalClient
	tag   string
}

func newStreams(c redis.UniversalClient, keyID string) *streams {
	return &streams{redis: c, tag: "{spambloom:" + keyID + "}"}
}

func (s *streams) stream(site string) string { return s.tag + ":stream:" + site }
func (s *streams) heads() string             { return s.tag + ":heads" }
func (s *streams) channel() string           { return s.tag + ":news" }

// luaTail defines tail(key), the last id a stream ever had: an empty stream
// still knows it, so XINFO and not XREVRANGE.
const luaTail = `
local function tail(key)
  if redis.call('EXISTS', key) == 0 then return '0-0' end
  local info = redis.call('XINFO', 'STREAM', key)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then return info[i + 1] end
  end
end
`

var tailScript = redis.NewScript(luaTail + `return tail(KEYS[1])`)

// publishScript adds one entry behind ARGV[2]. A command may reach Redis twice
// (the answer was lost, the client tried again): then the entry stands there
// already with the same record, and nothing is to do. It returns the id that
// the stream ends with: ARGV[3] is success.
var publishScript = redis.NewScript(luaTail + `
local site, before, id, record, length, channel, line, carried = unpack(ARGV)
local last = tail(KEYS[1])
if last == id then
  local entry = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if entry and entry[1] == id and entry[2][2] == record then return id end
  return 'other ' .. last
end
if last ~= before then return last end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', length, id, '` + entryField + `', record)
redis.call('HSET', KEYS[2], site, id)
if carried == '1' then line = line .. record end
redis.call('PUBLISH', channel, line)
return id`)

// heartbeatScript announces the head, if the stream still ends with it.
var heartbeatScript = redis.NewScript(luaTail + `
local site, head, channel, line = unpack(ARGV)
local last = tail(KEYS[1])
if last ~= head then return last end
if head ~= '0-0' then redis.call('HSET', KEYS[2], site, head) end
redis.call('PUBLISH', channel, line)
return head`)

// readScript returns how many entries have the id ARGV[1] itself, 0 or 1, and
// then those after it as {id, size of the record, record}, the record empty where
// it is larger than ARGV[4]: what is too large never leaves Redis. Size -1: the
// entry holds something else.
var readScript = redis.NewScript(`
local after, entries, bytes, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local batch, held = {#redis.call('XRANGE', KEYS[1], after, after)}, 0
while #batch <= entries and held < bytes do
  local reply = redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], after)
  if not reply then break end
  local entry = reply[1][2][1]
  local id, field = entry[1], entry[2]
  local record, size = '', -1
  if #field == 2 and field[1] == '` + entryField + `' then
    size = #field[2]
    if size <= limit then record = field[2] end
  end
  batch[#batch + 1] = {id, size, record}
  held = held + #record
  after = id
end
return batch`)

// headsScript returns at most ARGV[1] heads, as SITE, EPOCH-SEQ, ...; what is too
// long for either never leaves Redis, only the empty strings in its place.
var headsScript = redis.NewScript(`
local all, heads = redis.call('HGETALL', KEYS[1]), {}
for i = 1, math.min(#all, 2 * tonumber(ARGV[1])), 2 do
  local site, id = all[i], all[i + 1]
  if #site > 64 or #id > 41 then site, id = '', '' end
  heads[i], heads[i + 1] = site, id
end
return heads`)

// tail is the last position the site's stream ever had; zero where there is no
// stream.
func (s *streams) tail(ctx context.Context, site string) (Position, error) {
	key := s.stream(site)
	last, err := tailScript.Run(ctx, s.redis, []string{key}).Text()
	if err != nil {
		return Position{}, fmt.Errorf("%s: %w", key, err)
	}
	return parsePosition(last)
}

// publish adds the delta to its site's stream, which must end with before, and
// spreads the news. Doing it twice is doing it once. errMoved: the stream ends
// elsewhere.
func (s *streams) publish(ctx context.Context, d bloomdb.Delta, before Position, length int64) error {
	at := Position{d.Epoch, d.Seq}
	n, carried := news{site: d.Site, head: at}, 0
	if len(d.Data) <= maxNewsRecord {
		n.record, carried = d.Data, 1
	}
	key := s.stream(d.Site)
	last, err := publishScript.Run(ctx, s.redis, []string{key, s.heads()},
		d.Site, before.String(), at.String(), d.Data, length, s.channel(), n.line(), carried).Text()
	return moved(key, at, last, err)
}

// heartbeat spreads the site's head, which its stream must end with.
func (s *streams) heartbeat(ctx context.Context, site string, head Position) error {
	key := s.stream(site)
	last, err := heartbeatScript.Run(ctx, s.redis, []string{key, s.heads()},
		site, head.String(), s.channel(), news{site: site, head: head}.line()).Text()
	return moved(key, head, last, err)
}

func moved(key string, want Position, last string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	if last != want.String() {
		return fmt.Errorf("%s: %w: it ends with %.60q, not %v", key, errMoved, last, want)
	}
	return nil
}

// entry is one entry of a stream as it was found.
type entry struct {
	at     Position
	size   int    // of the record; -1: the entry has none
	record []byte // nil where size is over maxRecord or -1
}

// read returns the entries after a position: at most batchEntries, about
// batchBytes; none at the stream's end. whole says that the stream still has the
// entry at that position, so that nothing between is gone.
func (s *streams) read(ctx context.Context, site string, after Position) (batch []entry, whole bool, err error) {
	key := s.stream(site)
	reply, err := readScript.Run(ctx, s.redis, []string{key},
		after.String(), batchEntries, batchBytes, maxRecord).Slice()
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", key, err)
	}
	if len(reply) == 0 {
		return nil, false, fmt.Errorf("%s: empty reply", key)
	}
	batch = make([]entry, 0, len(reply)-1)
	for _, r := range reply[1:] {
		e, err := parseEntry(r)
		if err != nil {
			return nil, false, fmt.Errorf("%s: %w", key, err)
		}
		batch = append(batch, e)
	}
	return batch, reply[0] == int64(1), nil
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

// readHeads returns the heads of the sites that ever published, of at most
// maxSites. What is no name or no position is left out and counted.
func (s *streams) readHeads(ctx context.Context) (heads map[string]Position, bad int, err error) {
	reply, err := headsScript.Run(ctx, s.redis, []string{s.heads()}, maxSites).StringSlice()
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", s.heads(), err)
	}
	heads = make(map[string]Position, len(reply)/2)
	for i := 0; i+1 < len(reply); i += 2 {
		site := reply[i]
		at, err := parsePosition(reply[i+1])
		if err != nil || !bloomdb.ValidSite(site) {
			bad++
			continue
		}
		heads[site] = at
	}
	return heads, bad, nil
}
