package streams_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/redisclient"
	"github.com/spambloom/spambloom/bloomdb/exchange/redistest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// store is a federation in Redis, with the client that may change it in any way.
type store struct {
	*streams.Redis
	redis *redisclient.Client
}

func newStore(c *redisclient.Client) *store { return &store{streams.New(c, "k"), c} }

// onBoth runs a test on miniredis and on a real Redis: the scripts must behave alike on
// both, or the fast tests would prove nothing.
func onBoth(t *testing.T, test func(*testing.T, *store)) {
	t.Run("miniredis", func(t *testing.T) {
		_, c := redistest.Mini(t)
		test(t, newStore(c))
	})
	t.Run("redis", func(t *testing.T) {
		s := redistest.Start(t)
		test(t, newStore(redistest.Dial(t, s.URL()+redistest.Patient)))
	})
}

func delta(site string, epoch, seq uint64, record string) wire.Delta {
	return wire.Delta{Site: site, Epoch: epoch, Seq: seq, Data: []byte(record)}
}

func mustPublish(t *testing.T, s *store, d wire.Delta, before streams.Position) {
	t.Helper()
	testenv.Check(t, s.Publish(t.Context(), d, before, 1000))
}

func mustTail(t *testing.T, s *store, site string, want streams.Position) {
	t.Helper()
	if got, err := s.Tail(t.Context(), site); got.At != want || err != nil {
		t.Fatalf("the stream of %s ends with %v, %v; want %v", site, got, err, want)
	}
}

func TestPublishTwiceIsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		ps := s.redis.Subscribe(ctx, s.Channel())
		defer ps.Close()
		if _, err := ps.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		mustTail(t, s, "a", streams.Position{})
		for range 3 { // a client that retries
			mustPublish(t, s, delta("a", 5, 1, "one\x00\r\n"), streams.Position{})
		}
		mustTail(t, s, "a", streams.At(5, 1))
		batch, err := s.Read(ctx, "a", streams.Position{})
		if err != nil || len(batch) != 1 || string(batch[0].Record) != "one\x00\r\n" {
			t.Fatalf("the stream holds %v, %v", batch, err)
		}
		msg, err := ps.ReceiveMessage(ctx)
		testenv.Check(t, err)
		if msg.Payload != "one\x00\r\n" {
			t.Fatalf("the news were %q", msg.Payload)
		}
		testenv.Check(t, s.Heartbeat(ctx, "a", []byte("alive"), streams.At(5, 1), nil))
		if msg, err = ps.ReceiveMessage(ctx); err != nil || msg.Payload != "alive" {
			t.Fatalf("the news were %q, %v", msg, err)
		}
		heads, bad, err := s.Heads(ctx)
		if err != nil || bad != 0 || len(heads) != 1 || heads[0].Site != "a" || string(heads[0].Heartbeat) != "alive" || heads[0].Tail != (streams.At(5, 1)) {
			t.Fatalf("heads %v, %d, %v", heads, bad, err)
		}
	})
}

func TestLargeRecordIsNotInTheNews(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		ps := s.redis.Subscribe(ctx, s.Channel())
		defer ps.Close()
		if _, err := ps.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		record := strings.Repeat("r", streams.MaxNews+1)
		mustPublish(t, s, delta("a", 5, 1, record), streams.Position{})
		testenv.Check(t, s.Heartbeat(ctx, "a", []byte("alive"), streams.At(5, 1), nil))
		msg, err := ps.ReceiveMessage(ctx)
		if err != nil || msg.Payload != "alive" {
			t.Fatalf("the news were %.60q, %v", msg, err)
		}
		batch, err := s.Read(ctx, "a", streams.Position{})
		if err != nil || len(batch) != 1 || string(batch[0].Record) != record {
			t.Fatalf("%d entries, %v", len(batch), err)
		}
	})
}

func TestPublishNoticesAMovedStream(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		publish := func(d wire.Delta, before streams.Position) error { return s.Publish(ctx, d, before, 1000) }
		mustPublish(t, s, delta("a", 5, 1, "one"), streams.Position{})
		mustPublish(t, s, delta("a", 5, 2, "two"), streams.At(5, 1))

		if err := publish(delta("a", 5, 4, "four"), streams.At(5, 3)); !errors.Is(err, streams.ErrMoved) {
			t.Errorf("the stream lost writes: %v", err)
		}
		if err := publish(delta("a", 5, 2, "2"), streams.At(5, 1)); !errors.Is(err, streams.ErrMoved) {
			t.Errorf("another record has the id: %v", err)
		}
		if err := publish(delta("a", 4, 9, "nine"), streams.At(4, 8)); !errors.Is(err, streams.ErrMoved) {
			t.Errorf("another epoch was started: %v", err)
		}
		if err := s.Heartbeat(ctx, "a", []byte("x"), streams.At(5, 1), nil); !errors.Is(err, streams.ErrMoved) {
			t.Errorf("heartbeat behind the stream: %v", err)
		}
		mustTail(t, s, "a", streams.At(5, 2))
		mustPublish(t, s, delta("a", 6, 1, "new epoch"), streams.At(5, 2))

		s.redis.FlushAll(ctx)
		if err := s.Heartbeat(ctx, "a", []byte("x"), streams.At(6, 1), nil); !errors.Is(err, streams.ErrMoved) {
			t.Errorf("heartbeat after FLUSHALL: %v", err)
		}
		if err := publish(delta("a", 6, 2, "x"), streams.At(6, 1)); !errors.Is(err, streams.ErrMoved) {
			t.Errorf("publish after FLUSHALL: %v", err)
		}
		if n := s.redis.Exists(ctx, s.StreamKey("a"), s.HeadsKey()).Val(); n != 0 {
			t.Errorf("%d keys were written nevertheless", n)
		}
	})
}

// An administrator may empty a stream; it still has its last id.
func TestTailOfATrimmedStream(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		mustPublish(t, s, delta("a", 5, 1, "one"), streams.Position{})
		testenv.Check(t, s.redis.XTrimMaxLen(t.Context(), s.StreamKey("a"), 0).Err())
		mustTail(t, s, "a", streams.At(5, 1))
		mustPublish(t, s, delta("a", 5, 2, "two"), streams.At(5, 1))
	})
}

func TestStreamIsTrimmed(t *testing.T) {
	s := newStore(redistest.Dial(t, redistest.Start(t).URL()+redistest.Patient))
	const length, published = 200, 1000
	var before streams.Position
	for seq := uint64(1); seq <= published; seq++ {
		testenv.Check(t, s.Publish(t.Context(), delta("a", 1, seq, "x"), before, length))
		before = streams.At(1, seq)
	}
	// MAXLEN ~ trims whole nodes, of 100 entries by default.
	if n := s.redis.XLen(t.Context(), s.StreamKey("a")).Val(); n < length || n > length+100 {
		t.Fatalf("%d entries are kept, about %d were wanted", n, length)
	}
}

func TestReadIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		add := func(id string, values ...any) {
			t.Helper()
			testenv.Check(t, s.redis.XAdd(ctx, &redis.XAddArgs{Stream: s.StreamKey("a"), ID: id, Values: values}).Err())
		}
		mega := strings.Repeat("m", streams.MaxRecord)
		for seq := 1; seq <= 4; seq++ {
			add(fmt.Sprintf("1-%d", seq), streams.EntryField, mega)
		}
		add("1-5", streams.EntryField, mega+"m")
		add("1-6", "garbage", "x", "more", "y")
		add("1-7", streams.EntryField, "")
		for seq := 8; seq < 8+2*streams.BatchEntries; seq++ {
			add(fmt.Sprintf("1-%d", seq), streams.EntryField, "x")
		}

		var sizes []int
		var at streams.Position
		batches := 0
		for {
			batch, err := s.Read(ctx, "a", at)
			testenv.Check(t, err)
			if len(batch) == 0 {
				break
			}
			batches++
			held := 0
			for _, e := range batch {
				if !e.At.After(at) {
					t.Fatalf("%v after %v", e.At, at)
				}
				at, held = e.At, held+len(e.Record)
				sizes = append(sizes, e.Size)
				if e.Size > streams.MaxRecord && e.Record != nil {
					t.Fatal("an oversize record left Redis")
				}
			}
			if held > streams.BatchBytes+streams.MaxRecord || len(batch) > streams.BatchEntries {
				t.Fatalf("a batch of %d entries, %d bytes", len(batch), held)
			}
		}
		want := []int{streams.MaxRecord, streams.MaxRecord, streams.MaxRecord, streams.MaxRecord, streams.MaxRecord + 1, -1, 0}
		if len(sizes) != 7+2*streams.BatchEntries || !slices.Equal(sizes[:7], want) {
			t.Fatalf("%d entries: %v", len(sizes), sizes[:7])
		}
		if batches < 4 {
			t.Fatalf("all in %d batches", batches)
		}
	})
}

func TestHeadsAreChecked(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		s.redis.HSet(ctx, s.HeadsKey(), "a", "alive", "b/c", "alive", "d", "", "e", strings.Repeat("e", streams.MaxHeartbeat+1),
			strings.Repeat("f", 65), "alive", "g", "alive", "h", "alive")
		s.redis.HSet(ctx, s.TailsKey(), "a", "1-1", "g", "x-y", "h", strings.Repeat("1", 42), "not in heads", "1-1")
		heads, bad, err := s.Heads(ctx)
		if err != nil || bad != 6 || len(heads) != 1 || heads[0].Tail != (streams.At(1, 1)) {
			t.Fatalf("%v, %d, %v", heads, bad, err)
		}
		for i := range 2 * streams.MaxSites {
			s.redis.HSet(ctx, s.HeadsKey(), fmt.Sprint("site", i), "alive")
		}
		heads, _, err = s.Heads(ctx)
		if err != nil || len(heads) > streams.MaxSites || len(heads) < streams.MaxSites-7 {
			t.Fatalf("%d heads, %v", len(heads), err)
		}
	})
}

func TestKeysShareOneClusterSlot(t *testing.T) {
	s := streams.NewKeys("0123456789abcdef")
	for _, key := range []string{s.StreamKey("a"), s.StreamKey("b"), s.HeadsKey(), s.TailsKey(), s.VotesKey(), s.Channel(), s.ManifestKey("a"), s.SlotKey("a", '0')} {
		if !strings.HasPrefix(key, "{spambloom:0123456789abcdef}:") {
			t.Error(key)
		}
	}
}

// Many or long invalid names in the hash of heads are removed: Redis would read them at each look.
func TestTooManyHeads(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		for n, length := range map[int]int{5 * streams.MaxSites: 1, 100: 10_000} {
			fields := make([]any, 0, 2*n)
			for i := range n {
				fields = append(fields, strings.Repeat("s", length)+fmt.Sprint(i), "x")
			}
			testenv.Check(t, s.redis.HSet(t.Context(), s.HeadsKey(), fields...).Err())
			if heads, bad, err := s.Heads(t.Context()); err != nil || bad != 0 || len(heads) != 0 {
				t.Fatalf("%d heads, %d bad, %v", len(heads), bad, err)
			}
			if n := s.redis.HLen(t.Context(), s.HeadsKey()).Val(); n != 0 {
				t.Fatalf("%d names of %d bytes remain", n, length)
			}
		}
		testenv.Check(t, s.Heartbeat(t.Context(), "a", []byte("alive"), streams.Position{}, nil))
		if heads, _, err := s.Heads(t.Context()); err != nil || len(heads) != 1 || heads[0].Site != "a" {
			t.Fatalf("%v, %v", heads, err)
		}
	})
}

// Invented names that are too few to be removed do not hide a site: it is away, and does not write its own
// name again.
func TestInventedNamesHideNoSite(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		fields := []any{"away", "alive"}
		for i := range 4*streams.MaxSites - 1 {
			fields = append(fields, fmt.Sprint("invented", i), "x")
		}
		testenv.Check(t, s.redis.HSet(t.Context(), s.HeadsKey(), fields...).Err())
		for round := range 2 {
			found := make(map[string]bool)
			for range 4 {
				heads, bad, err := s.Heads(t.Context())
				if err != nil || bad != 0 || len(heads) != streams.MaxSites {
					t.Fatalf("%d heads, %d bad, %v", len(heads), bad, err)
				}
				for _, h := range heads {
					found[h.Site] = true
				}
			}
			if len(found) != 4*streams.MaxSites || !found["away"] {
				t.Fatalf("round %d: %d names of %d, the site: %v", round, len(found), 4*streams.MaxSites, found["away"])
			}
		}
	})
}

// A stream is moved aside only if its end has not changed.
func TestReclaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		mustPublish(t, s, delta("a", 5, 1, "one"), streams.Position{})
		mustPublish(t, s, delta("a", 5, 2, "two"), streams.At(5, 1))
		if end, err := s.Tail(t.Context(), "a"); err != nil || end.Empty || string(end.Record) != "two" {
			t.Fatalf("%+v, %v", end, err)
		}
		for _, end := range []streams.Position{{}, {5, 1}} {
			testenv.Check(t, s.Reclaim(t.Context(), "a", end))
			mustTail(t, s, "a", streams.At(5, 2))
		}
		testenv.Check(t, s.Reclaim(t.Context(), "a", streams.At(5, 2)))
		mustTail(t, s, "a", streams.Position{})
		if n := s.redis.XLen(t.Context(), s.ForeignKey("a")).Val(); n != 2 {
			t.Errorf("%d entries were moved aside", n)
		}
		mustPublish(t, s, delta("a", 5, 3, "three"), streams.Position{})
	})
}
