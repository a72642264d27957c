package streams

import (
	"strconv"

	"github.com/redis/go-redis/v9"
)

// maxEntry is the weight up to which an entry may be a site's: the bytes of its fields and values, and 16
// for each. The longest record has half of it.
const maxEntry = 2 * MaxRecord

// luaAside defines weight(entry), which is more than most for an entry that no site can have written, and
// aside(stream, foreign), which moves the stream to another name. Redis needs up to a second for
// each MiB of such an entry, and tells no stream's end without it: the first script that
// meets one moves the stream, even if the client has stopped waiting for that script, so that
// none meets it again.
var luaAside = `
local most = ` + strconv.Itoa(maxEntry) + `
local function weight(entry)
  local fields = entry and entry[2] or {}
  local sum = 16 * #fields
  for i = 1, #fields do
    if sum > most then break end
    sum = sum + #fields[i]
  end
  return sum
end
local function aside(stream, foreign)
  redis.call('UNLINK', foreign)
  redis.call('RENAME', stream, foreign)
end
`

// luaTail defines tail(key, foreign), the last id a stream ever had, and a note for people. It uses
// XINFO and not XREVRANGE, because an empty stream still has that id. A stream that begins or
// ends with an entry of too much weight is moved aside, and has none.
var luaTail = luaAside + `
local function tail(key, foreign)
  if redis.call('EXISTS', key) == 0 then return '0-0', '' end
  local info, last, isForeign = redis.call('XINFO', 'STREAM', key), '0-0', false
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then last = info[i + 1] end
    if info[i] == 'first-entry' or info[i] == 'last-entry' then isForeign = isForeign or weight(info[i + 1]) > most end
  end
  if not isForeign then return last, '' end
  aside(key, foreign)
  return '0-0', ' (it had an entry larger than any of a site, and was moved aside)'
end
`

// tailScript returns the last id, the number of its entries (0 or 1), and the record of
// that entry. The record is empty if the entry contains something else or more than ARGV[1]
// bytes. KEYS: stream, destination for the moved data.
var tailScript = redis.NewScript(luaTail + `
local last = tail(KEYS[1], KEYS[2])
local entry = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if not entry then return {last, 0, ''} end
local field = entry[2]
if entry[1] ~= last or #field ~= 2 or field[1] ~= '` + EntryField + `' or #field[2] > tonumber(ARGV[1]) then
  return {last, 1, ''}
end
return {last, 1, field[2]}`)

// reclaimScript frees this site's keys. KEYS: stream, destination for the moved data,
// manifest, and five hashes. The stream is moved if it ends with ARGV[1] or is of another
// type.
var reclaimScript = redis.NewScript(luaTail + `
local function isOther(key, want)
  local kind = redis.call('TYPE', key)
  if type(kind) == 'table' then kind = kind['ok'] end
  return kind ~= 'none' and kind ~= want
end
if redis.call('EXISTS', KEYS[1]) == 1 and (isOther(KEYS[1], 'stream') or tail(KEYS[1], KEYS[2]) == ARGV[1]) then
  aside(KEYS[1], KEYS[2])
end
if isOther(KEYS[3], 'string') then redis.call('UNLINK', KEYS[3]) end
for i = 4, #KEYS do
  if isOther(KEYS[i], 'hash') then redis.call('UNLINK', KEYS[i]) end
end
return 0`)

// publishScript adds one entry after ARGV[2]. A command may reach Redis twice (the answer
// was lost, the client retried). The entry then already exists with the same record, and
// nothing changes. It returns the id of the stream's last entry: ARGV[3] means success. KEYS: stream,
// destination for moved data, tails.
var publishScript = redis.NewScript(luaTail + `
local site, before, id, record, length, channel, carried = unpack(ARGV)
local last, note = tail(KEYS[1], KEYS[2])
if last == id then
  local entry = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
  if entry and entry[1] == id and entry[2][2] == record then return id end
  return 'other ' .. last
end
if note ~= '' or last ~= before then return last .. note end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', length, id, '` + EntryField + `', record)
redis.call('HSET', KEYS[3], site, id)
if carried == '1' then redis.call('PUBLISH', channel, record) end
return id`)

// heartbeatScript stores and publishes a heartbeat if the stream ends with ARGV[2] and the
// keys of the snapshot exist. KEYS: stream, destination for moved data, heads, tails, and those of the
// snapshot.
var heartbeatScript = redis.NewScript(luaTail + `
local site, want, channel, record = unpack(ARGV)
local last, note = tail(KEYS[1], KEYS[2])
if note ~= '' or last ~= want then return last .. note end
for i = 5, #KEYS do
  if redis.call('EXISTS', KEYS[i]) == 0 then return 'no snapshot' end
end
redis.call('HSET', KEYS[3], site, record)
redis.call('HSET', KEYS[4], site, last)
redis.call('PUBLISH', channel, record)
return last`)

// readScript returns the entries after ARGV[1] as {id, size of the record, record}. The
// record is empty if it is larger than ARGV[4]: oversize data never leaves Redis. Size -1:
// the entry contains something else. KEYS: stream, destination for the moved data.
var readScript = redis.NewScript(luaAside + `
local after, entries, bytes, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local batch, held = {}, 0
while #batch < entries and held < bytes do
  local reply = redis.call('XREAD', 'COUNT', 1, 'STREAMS', KEYS[1], after)
  if not reply then break end
  local entry = reply[1][2][1]
  local taken = weight(entry)
  if taken > most then
    aside(KEYS[1], KEYS[2])
    break
  end
  held = held + taken
  local id, field = entry[1], entry[2]
  local record, size = '', -1
  if #field == 2 and field[1] == '` + EntryField + `' then
    size = #field[2]
    if size <= limit then record = field[2] end
  end
  batch[#batch + 1] = {id, size, record}
  after = id
end
return batch`)

// headsScript returns SITE, heartbeat, end of the stream, ... of at most ARGV[1] sites. It begins with
// site ARGV[3], and after the last one with the first.
// Values too long to be valid never leave Redis; they are replaced by empty strings. If
// there are four times as many, or names as long as so many can be, another client has filled the
// hashes with invented names: the hashes are removed, and every site writes its own entry again within
// seconds. Otherwise each site would have Redis read these names again and again.
var headsScript = redis.NewScript(`
local limit, heads = tonumber(ARGV[1]), {}
local n, bytes, sites = redis.call('HLEN', KEYS[1]), 0, {}
if n <= 4 * limit then sites = redis.call('HKEYS', KEYS[1]) end
for _, site in ipairs(sites) do bytes = bytes + #site end
if n > 4 * limit or bytes > 64 * 4 * limit then
  redis.call('UNLINK', KEYS[1], KEYS[2])
  return heads
end
for i = 0, math.min(limit, n) - 1 do
  local site, record, tail = sites[(tonumber(ARGV[3]) + i) % n + 1], '', ''
  if #site > 64 or redis.call('HSTRLEN', KEYS[1], site) > tonumber(ARGV[2]) then
    site = ''
  else
    record = redis.call('HGET', KEYS[1], site)
    if redis.call('HSTRLEN', KEYS[2], site) <= 41 then
      tail = redis.call('HGET', KEYS[2], site) or '0-0'
    end
  end
  heads[#heads + 1], heads[#heads + 2], heads[#heads + 3] = site, record, tail
end
return heads`)

// commitScript turns the chunks in a slot into a snapshot if all of them exist. It returns
// how many exist. KEYS: manifest, slot, other slot, heads, stream.
var commitScript = redis.NewScript(`
local site, chunks, manifest, heartbeat, channel, trim = unpack(ARGV)
local found = redis.call('HLEN', KEYS[2])
if found ~= tonumber(chunks) then return found end
redis.call('SET', KEYS[1], manifest)
redis.call('HSET', KEYS[4], site, heartbeat)
redis.call('PUBLISH', channel, heartbeat)
if trim ~= '' and redis.call('EXISTS', KEYS[5]) == 1 then
  redis.call('XTRIM', KEYS[5], 'MINID', trim)
end
redis.call('UNLINK', KEYS[3])
return found`)

// fieldScript returns the size of a hash's field ARGV[1] and its value, or an empty value
// if it is larger than ARGV[2]. Size 0: there is none.
var fieldScript = redis.NewScript(`
local size = redis.call('HSTRLEN', KEYS[1], ARGV[1])
if size == 0 or size > tonumber(ARGV[2]) then return {size, ''} end
return {size, redis.call('HGET', KEYS[1], ARGV[1])}`)
