package exchange_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// attacker has the documented user's password, but no key.
type attacker struct {
	t      *testing.T
	client *redisclient.Client
	keys   *streams.Redis
	sites  []string
	rights []string // commands permitted to the user

	given, refused atomic.Int64

	cancel context.CancelFunc
	work   sync.WaitGroup

	mu     sync.Mutex
	stolen [][]byte // genuine records stored in Redis
}

func newAttacker(t *testing.T, f *federation) *attacker {
	a := &attacker{t: t, client: redistest.Dial(t, f.user)}
	a.keys = streams.New(a.client, keyring.ID(testKey))
	for _, s := range f.sites {
		a.sites = append(a.sites, s.db.Status().Site)
	}
	for _, word := range aclLines(t, "")[0] {
		if right, ok := strings.CutPrefix(word.(string), "+"); ok {
			if a.command(rand.New(rand.NewPCG(1, 1)), right) == nil {
				t.Fatalf("no attack is known for the permitted command %s", right)
			}
			a.rights = append(a.rights, right)
		}
	}
	return a
}

// begin starts that many attackers.
func (a *attacker) begin(many int) {
	ctx, cancel := context.WithCancel(a.t.Context())
	a.cancel = cancel
	seed := rand.Uint64()
	a.t.Logf("seed %d", seed)
	for i := range many {
		a.work.Go(func() { a.attack(ctx, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
}

func (a *attacker) leave() {
	a.cancel()
	a.work.Wait()
}

// attack sends a command every few milliseconds, with pauses in which the sites produce new data
// to damage.
func (a *attacker) attack(ctx context.Context, r *rand.Rand) {
	for ctx.Err() == nil {
		if r.IntN(20) == 0 {
			a.steal(ctx, r)
		}
		right := a.rights[r.IntN(len(a.rights))]
		if right == "subscribe" {
			a.client.Subscribe(ctx, a.keys.Channel()).Close()
		} else if err := a.client.Do(ctx, a.command(r, right)...).Err(); err != nil && err != redis.Nil {
			a.refused.Add(1)
		}
		a.given.Add(1)
		pause := time.Duration(r.Int64N(int64(4 * time.Millisecond)))
		if r.IntN(200) == 0 {
			pause = time.Duration(r.Int64N(int64(time.Second)))
		}
		link.Sleep(ctx, pause)
	}
}

// steal copies genuine records from Redis.
func (a *attacker) steal(ctx context.Context, r *rand.Rand) {
	site := a.sites[r.IntN(len(a.sites))]
	var found [][]byte
	if batch, err := a.keys.Read(ctx, site, streams.Position{}); err == nil {
		for _, e := range batch {
			found = append(found, e.Record)
		}
	}
	for _, read := range []func(context.Context, string) ([]byte, error){a.keys.Manifest, a.keys.Head, a.keys.Votes} {
		if record, err := read(ctx, site); err == nil {
			found = append(found, record)
		}
	}
	if chunk, err := a.keys.Chunk(ctx, site, "01"[r.IntN(2)], 0); err == nil {
		found = append(found, chunk)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, record := range found {
		switch {
		case len(record) == 0:
		case len(a.stolen) < 1000:
			a.stolen = append(a.stolen, record)
		default:
			a.stolen[r.IntN(len(a.stolen))] = record
		}
	}
}

// value returns garbage or a genuine record: whole, torn, truncated, or with other numbers.
func (a *attacker) value(r *rand.Rand) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.stolen) == 0 || r.IntN(4) == 0 {
		length := r.IntN(300)
		if r.IntN(500) == 0 {
			length = streams.MaxRecord + r.IntN(1000)
		}
		return bytes.Repeat([]byte{byte(r.Uint32())}, length)
	}
	record := bytes.Clone(a.stolen[r.IntN(len(a.stolen))])
	switch r.IntN(4) {
	case 0:
		record[r.IntN(len(record))] ^= 1 << r.IntN(8)
	case 1:
		record = record[:r.IntN(len(record))]
	case 2: // epoch and numbers follow magic, version, type, key id and name
		if at := 4 + 2 + 8; len(record) > at+1+64+32 {
			record[at+1+min(int(record[at]), 64)+r.IntN(32)] = byte(r.Uint32())
		}
	}
	return record
}

// key returns a key of the federation, of one site or of all.
func (a *attacker) key(r *rand.Rand) string {
	site := a.site(r)
	all := []string{a.keys.StreamKey(site), a.keys.StreamKey(site), a.keys.ManifestKey(site), a.keys.SlotKey(site, '0'),
		a.keys.SlotKey(site, '1'), a.keys.HeadsKey(), a.keys.TailsKey(), a.keys.VotesKey(), a.keys.ForeignKey(site)}
	return all[r.IntN(len(all))]
}

// site returns the name of a site or, rarely, of none.
func (a *attacker) site(r *rand.Rand) string {
	if r.IntN(20) == 0 {
		return fmt.Sprint("nobody", r.IntN(100))
	}
	return a.sites[r.IntN(len(a.sites))]
}

// id returns the next id of a stream, one far ahead, or an arbitrary one.
func (a *attacker) id(r *rand.Rand) string {
	now := uint64(time.Now().UnixMilli())
	epochs := []uint64{now, now &^ 1, 1, math.MaxUint64, math.MaxUint64 - 2, r.Uint64()}
	seqs := []uint64{1, 2, uint64(r.IntN(100)), math.MaxUint64, r.Uint64()}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.stolen) > 0 && r.IntN(2) == 0 {
		if h, err := wire.DecodeHead(a.stolen[r.IntN(len(a.stolen))]); err == nil {
			return streams.At(h.Epoch, h.Seq+uint64(r.IntN(3))).String()
		}
	}
	return streams.At(epochs[r.IntN(len(epochs))], seqs[r.IntN(len(seqs))]).String()
}

// field returns a field of a hash: a site or a chunk.
func (a *attacker) field(r *rand.Rand) string {
	if r.IntN(2) == 0 {
		return a.site(r)
	}
	return fmt.Sprint(r.IntN(3))
}

// spoil contains scripts for changes that need a script to be atomic.
var spoil = []string{
	`return redis.call('RENAME', KEYS[1], KEYS[2])`,
	`redis.call('UNLINK', KEYS[1]) return redis.call('SET', KEYS[1], ARGV[1])`,
	`redis.call('UNLINK', KEYS[1]) return redis.call('HSET', KEYS[1], '0', ARGV[1])`,
	`redis.call('UNLINK', KEYS[1]) return redis.call('XADD', KEYS[1], ARGV[2], 'delta', ARGV[1])`,
	`return redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)`,
	`redis.call('SET', KEYS[1], ARGV[1]) redis.call('UNLINK', KEYS[2]) return redis.call('XTRIM', KEYS[2], 'MINID', ARGV[2])`, // as a commit does
}

// command returns a command that uses a permission, or nil if the permission is unknown.
func (a *attacker) command(r *rand.Rand, right string) []any {
	switch right {
	case "eval":
		return []any{"EVAL", spoil[r.IntN(len(spoil))], 2, a.key(r), a.key(r), a.value(r), a.id(r)}
	case "evalsha":
		script := redis.NewScript(spoil[r.IntN(len(spoil))]) // loaded by eval
		return []any{"EVALSHA", script.Hash(), 2, a.key(r), a.key(r), a.value(r), a.id(r)}
	case "xadd":
		return []any{"XADD", a.keys.StreamKey(a.site(r)), a.id(r), streams.EntryField, a.value(r)}
	case "xread":
		return []any{"XREAD", "COUNT", 10, "STREAMS", a.key(r), "0"}
	case "xrevrange":
		return []any{"XREVRANGE", a.key(r), "+", "-", "COUNT", 10}
	case "xtrim":
		return []any{"XTRIM", a.keys.StreamKey(a.site(r)), "MINID", a.id(r)}
	case "xinfo|stream":
		return []any{"XINFO", "STREAM", a.key(r)}
	case "rename":
		return []any{"RENAME", a.key(r), a.key(r)}
	case "set":
		return []any{"SET", a.key(r), a.value(r)}
	case "getrange":
		return []any{"GETRANGE", a.key(r), 0, -1}
	case "hset":
		return []any{"HSET", a.key(r), a.field(r), a.value(r)}
	case "hget", "hstrlen":
		return []any{right, a.key(r), a.field(r)}
	case "exists", "type", "hkeys", "hlen", "unlink":
		return []any{right, a.key(r)}
	case "publish":
		return []any{"PUBLISH", a.keys.Channel(), a.value(r)}
	case "ping", "subscribe":
		return []any{right}
	case "hello":
		return []any{"HELLO", 3}
	}
	return nil
}
