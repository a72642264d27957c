// Package presence shows which sites use a Redis, whatever their federation key: each writes
// its name, the id of its key and its parameters into one hash, and reads those of the others.
//
// Sites with different keys do not see each other otherwise, because all other keys in Redis
// contain the id. Anybody with access to Redis may have written the hash, so it is a hint
// for administrators and decides nothing. FORMAT.md of package exchange describes it.
// The lock is held for the list of the others only.
package presence

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/layout"
)

// Key is the hash. Its form fits the rights of the Redis user.
const Key = "{spambloom:presence}:sites"

const (
	interval = 20 * time.Second
	maxAge   = time.Minute // of an entry that counts; clocks are a reason for more
	maxEntry = 128         // bytes
	maxSites = 1024
)

// Entry is what a site writes about itself.
type Entry struct {
	Site       string
	KeyIDs     string // 16 hex digits; with a previous key, both with + between
	Parameters string // of [reports], for display and comparison; no blanks
	Seen       time.Time
}

// exchangeScript writes the own entry and returns those that were there before, as names and values in turn. A full hash, or
// other data in its place, is removed. It is full by the number of names, or by their length.
var exchangeScript = redis.NewScript(`
local n = redis.pcall('HLEN', KEYS[1])
local isFull, bytes, sites = type(n) ~= 'number' or n > tonumber(ARGV[3]), 0, {}
if not isFull then sites = redis.call('HKEYS', KEYS[1]) end
for _, site in ipairs(sites) do bytes = bytes + #site end
if isFull or bytes > 64 * tonumber(ARGV[3]) then
  redis.call('UNLINK', KEYS[1])
  sites = {}
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
local all = {}
for _, site in ipairs(sites) do
  if #site <= 64 and redis.call('HSTRLEN', KEYS[1], site) <= tonumber(ARGV[4]) then
    all[#all + 1] = site
    all[#all + 1] = redis.call('HGET', KEYS[1], site)
  end
end
return all`)

// Presence is the entry of one site. Others is safe for concurrent use.
type Presence struct {
	client redis.Scripter
	own    Entry

	mu     sync.Mutex
	others map[string]Entry
}

// New returns the presence of a site.
func New(client redis.Scripter, own Entry) *Presence {
	return &Presence{client: client, own: own}
}

// Run writes the entry and reads the others until ctx ends. Faults of Redis are not shown
// here: the exchange reports them.
func (p *Presence) Run(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		p.exchange(ctx, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (p *Presence) exchange(ctx context.Context, now time.Time) {
	all, err := exchangeScript.Run(ctx, p.client, []string{Key}, p.own.Site, p.own.value(now), maxSites, maxEntry).StringSlice()
	others := make(map[string]Entry)
	for i := 0; err == nil && i+1 < len(all); i += 2 {
		e, ok := parse(all[i], all[i+1])
		if ok && e.Site != p.own.Site && now.Sub(e.Seen).Abs() < maxAge {
			others[e.Site] = e
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.others = others // none after a fault: they may have gone
}

// Others returns the entries of other sites that were seen in the last minute, by name.
func (p *Presence) Others() []Entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]Entry, 0, len(p.others))
	for _, site := range slices.Sorted(maps.Keys(p.others)) {
		list = append(list, p.others[site])
	}
	return list
}

func (e Entry) value(now time.Time) string {
	return fmt.Sprintf("1 %s %d %s", e.KeyIDs, now.Unix(), e.Parameters)
}

// parse reads an entry. It rejects names and ids that would not be shown safely.
func parse(site, value string) (e Entry, ok bool) {
	words := strings.Fields(value)
	if len(value) > maxEntry || len(words) != 4 || words[0] != "1" || !layout.ValidSite(site) {
		return e, false
	}
	for id := range strings.SplitSeq(words[1], "+") {
		if raw, err := hex.DecodeString(id); err != nil || len(raw) != 8 {
			return e, false
		}
	}
	seconds, timeErr := strconv.ParseInt(words[2], 10, 64)
	if timeErr != nil || strings.ContainsFunc(words[3], isUnsafe) {
		return e, false
	}
	return Entry{Site: site, KeyIDs: words[1], Parameters: words[3], Seen: time.Unix(seconds, 0)}, true
}

// SharesKey reports whether two sites have a federation key in common.
func (e Entry) SharesKey(other Entry) bool {
	for id := range strings.SplitSeq(e.KeyIDs, "+") {
		if strings.Contains(other.KeyIDs, id) {
			return true
		}
	}
	return false
}

func isUnsafe(r rune) bool { return r <= ' ' || r > '~' }
