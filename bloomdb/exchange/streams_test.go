package exchange

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// onBoth runs a test on miniredis and on a real Redis: the scripts must behave alike on
// both, or the fast tests would prove nothing.
func onBoth(t *testing.T, test func(*testing.T, *streams)) {
	t.Run("miniredis", func(t *testing.T) {
		_, c := startMini(t)
		test(t, newStreams(c, "k"))
	})
	t.Run("redis", func(t *testing.T) {
		s := startRedis(t)
		test(t, newStreams(dialed(t, s.url()+patient), "k"))
	})
}

func delta(site string, epoch, seq uint64, record string) wire.Delta {
	return wire.Delta{Site: site, Epoch: epoch, Seq: seq, Data: []byte(record)}
}

func mustPublish(t *testing.T, s *streams, d wire.Delta, before Position) {
	t.Helper()
	if err := s.publish(t.Context(), d, before, 1000); err != nil {
		t.Fatal(err)
	}
}

func mustTail(t *testing.T, s *streams, site string, want Position) {
	t.Helper()
	if got, err := s.tail(t.Context(), site); got.at != want || err != nil {
		t.Fatalf("the stream of %s ends with %v, %v; want %v", site, got, err, want)
	}
}

func TestPublishTwiceIsOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		ctx := t.Context()
		ps := s.redis.Subscribe(ctx, s.channel())
		defer ps.Close()
		if _, err := ps.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		mustTail(t, s, "a", Position{})
		for range 3 { // a client that retries
			mustPublish(t, s, delta("a", 5, 1, "one\x00\r\n"), Position{})
		}
		mustTail(t, s, "a", Position{5, 1})
		batch, err := s.read(ctx, "a", Position{})
		if err != nil || len(batch) != 1 || string(batch[0].record) != "one\x00\r\n" {
			t.Fatalf("the stream holds %v, %v", batch, err)
		}
		msg, err := ps.ReceiveMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if msg.Payload != "one\x00\r\n" {
			t.Fatalf("the news were %q", msg.Payload)
		}
		if err := s.heartbeat(ctx, "a", []byte("alive"), Position{5, 1}, nil); err != nil {
			t.Fatal(err)
		}
		if msg, err = ps.ReceiveMessage(ctx); err != nil || msg.Payload != "alive" {
			t.Fatalf("the news were %q, %v", msg, err)
		}
		heads, bad, err := s.heads(ctx)
		if err != nil || bad != 0 || len(heads) != 1 || heads[0].site != "a" || string(heads[0].heartbeat) != "alive" || heads[0].tail != (Position{5, 1}) {
			t.Fatalf("heads %v, %d, %v", heads, bad, err)
		}
	})
}

func TestLargeRecordIsNotCarried(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		ctx := t.Context()
		ps := s.redis.Subscribe(ctx, s.channel())
		defer ps.Close()
		if _, err := ps.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		record := strings.Repeat("r", maxNews+1)
		mustPublish(t, s, delta("a", 5, 1, record), Position{})
		if err := s.heartbeat(ctx, "a", []byte("alive"), Position{5, 1}, nil); err != nil {
			t.Fatal(err)
		}
		msg, err := ps.ReceiveMessage(ctx)
		if err != nil || msg.Payload != "alive" {
			t.Fatalf("the news were %.60q, %v", msg, err)
		}
		batch, err := s.read(ctx, "a", Position{})
		if err != nil || len(batch) != 1 || string(batch[0].record) != record {
			t.Fatalf("%d entries, %v", len(batch), err)
		}
	})
}

func TestPublishNoticesAMovedStream(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		ctx := t.Context()
		publish := func(d wire.Delta, before Position) error { return s.publish(ctx, d, before, 1000) }
		mustPublish(t, s, delta("a", 5, 1, "one"), Position{})
		mustPublish(t, s, delta("a", 5, 2, "two"), Position{5, 1})

		if err := publish(delta("a", 5, 4, "four"), Position{5, 3}); !errors.Is(err, errMoved) {
			t.Errorf("the stream lost writes: %v", err)
		}
		if err := publish(delta("a", 5, 2, "2"), Position{5, 1}); !errors.Is(err, errMoved) {
			t.Errorf("another record has the id: %v", err)
		}
		if err := publish(delta("a", 4, 9, "nine"), Position{4, 8}); !errors.Is(err, errMoved) {
			t.Errorf("another epoch was started: %v", err)
		}
		if err := s.heartbeat(ctx, "a", []byte("x"), Position{5, 1}, nil); !errors.Is(err, errMoved) {
			t.Errorf("heartbeat behind the stream: %v", err)
		}
		mustTail(t, s, "a", Position{5, 2})
		mustPublish(t, s, delta("a", 6, 1, "new epoch"), Position{5, 2})

		s.redis.FlushAll(ctx)
		if err := s.heartbeat(ctx, "a", []byte("x"), Position{6, 1}, nil); !errors.Is(err, errMoved) {
			t.Errorf("heartbeat after FLUSHALL: %v", err)
		}
		if err := publish(delta("a", 6, 2, "x"), Position{6, 1}); !errors.Is(err, errMoved) {
			t.Errorf("publish after FLUSHALL: %v", err)
		}
		if n := s.redis.Exists(ctx, s.stream("a"), s.headsKey()).Val(); n != 0 {
			t.Errorf("%d keys were written nevertheless", n)
		}
	})
}

// An administrator may empty a stream; it still has its last id.
func TestTailOfATrimmedStream(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		mustPublish(t, s, delta("a", 5, 1, "one"), Position{})
		if err := s.redis.XTrimMaxLen(t.Context(), s.stream("a"), 0).Err(); err != nil {
			t.Fatal(err)
		}
		mustTail(t, s, "a", Position{5, 1})
		mustPublish(t, s, delta("a", 5, 2, "two"), Position{5, 1})
	})
}

func TestStreamIsTrimmed(t *testing.T) {
	s := newStreams(dialed(t, startRedis(t).url()+patient), "k")
	const length, published = 200, 1000
	var before Position
	for seq := uint64(1); seq <= published; seq++ {
		if err := s.publish(t.Context(), delta("a", 1, seq, "x"), before, length); err != nil {
			t.Fatal(err)
		}
		before = Position{1, seq}
	}
	// MAXLEN ~ trims whole nodes, of 100 entries by default.
	if n := s.redis.XLen(t.Context(), s.stream("a")).Val(); n < length || n > length+100 {
		t.Fatalf("%d entries are kept, about %d were wanted", n, length)
	}
}

func TestReadIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		ctx := t.Context()
		add := func(id string, values ...any) {
			t.Helper()
			if err := s.redis.XAdd(ctx, &redis.XAddArgs{Stream: s.stream("a"), ID: id, Values: values}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		mega := strings.Repeat("m", maxRecord)
		for seq := 1; seq <= 4; seq++ {
			add(fmt.Sprintf("1-%d", seq), entryField, mega)
		}
		add("1-5", entryField, mega+"m")
		add("1-6", "garbage", "x", "more", "y")
		add("1-7", entryField, "")
		for seq := 8; seq < 8+2*batchEntries; seq++ {
			add(fmt.Sprintf("1-%d", seq), entryField, "x")
		}

		var sizes []int
		var at Position
		batches := 0
		for {
			batch, err := s.read(ctx, "a", at)
			if err != nil {
				t.Fatal(err)
			}
			if len(batch) == 0 {
				break
			}
			batches++
			held := 0
			for _, e := range batch {
				if !e.at.after(at) {
					t.Fatalf("%v after %v", e.at, at)
				}
				at, held = e.at, held+len(e.record)
				sizes = append(sizes, e.size)
				if e.size > maxRecord && e.record != nil {
					t.Fatal("an oversize record left Redis")
				}
			}
			if held > batchBytes+maxRecord || len(batch) > batchEntries {
				t.Fatalf("a batch of %d entries, %d bytes", len(batch), held)
			}
		}
		want := []int{maxRecord, maxRecord, maxRecord, maxRecord, maxRecord + 1, -1, 0}
		if len(sizes) != 7+2*batchEntries || !slices.Equal(sizes[:7], want) {
			t.Fatalf("%d entries: %v", len(sizes), sizes[:7])
		}
		if batches < 4 {
			t.Fatalf("all in %d batches", batches)
		}
	})
}

func TestHeadsAreNotBelieved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		ctx := t.Context()
		s.redis.HSet(ctx, s.headsKey(), "a", "alive", "b/c", "alive", "d", "", "e", strings.Repeat("e", maxHeartbeat+1),
			strings.Repeat("f", 65), "alive", "g", "alive", "h", "alive")
		s.redis.HSet(ctx, s.tailsKey(), "a", "1-1", "g", "x-y", "h", strings.Repeat("1", 42), "not in heads", "1-1")
		heads, bad, err := s.heads(ctx)
		if err != nil || bad != 6 || len(heads) != 1 || heads[0].tail != (Position{1, 1}) {
			t.Fatalf("%v, %d, %v", heads, bad, err)
		}
		for i := range 2 * maxSites {
			s.redis.HSet(ctx, s.headsKey(), fmt.Sprint("site", i), "alive")
		}
		heads, _, err = s.heads(ctx)
		if err != nil || len(heads) > maxSites || len(heads) < maxSites-7 {
			t.Fatalf("%d heads, %v", len(heads), err)
		}
	})
}

func TestKeysShareOneClusterSlot(t *testing.T) {
	s := newStreams(nil, "0123456789abcdef")
	for _, key := range []string{s.stream("a"), s.stream("b"), s.headsKey(), s.tailsKey(), s.votesKey(), s.channel(), s.manifestKey("a"), s.slot("a", '0')} {
		if !strings.HasPrefix(key, "{spambloom:0123456789abcdef}:") {
			t.Error(key)
		}
	}
}
