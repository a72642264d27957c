package streams_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// writeSlot writes a snapshot's chunks.
func writeSlot(t *testing.T, s *store, slot byte, chunks ...string) {
	t.Helper()
	testenv.Check(t, s.ClearSlot(t.Context(), "a", slot))
	for i, chunk := range chunks {
		testenv.Check(t, s.WriteChunk(t.Context(), "a", slot, i, []byte(chunk)))
	}
}

func mustCommit(t *testing.T, s *store, slot byte, chunks int, manifest string, trim streams.Position) {
	t.Helper()
	c := streams.Commit{Site: "a", Place: streams.Place{Slot: slot, Chunks: chunks}, Manifest: []byte(manifest), Heartbeat: []byte("alive " + manifest), Trim: trim}
	testenv.Check(t, s.Commit(t.Context(), c))
}

// expectSlot checks which chunks a slot contains; none: it does not exist.
func expectSlot(t *testing.T, s *store, slot byte, chunks ...string) {
	t.Helper()
	for i, want := range append(chunks, "") {
		if got, err := s.Chunk(t.Context(), "a", slot, i); err != nil || string(got) != want {
			t.Errorf("chunk %d of slot %c is %q, %v; want %q", i, slot, got, err, want)
		}
	}
}

func expectManifest(t *testing.T, s *store, want string) {
	t.Helper()
	if got, err := s.Manifest(t.Context(), "a"); err != nil || string(got) != want {
		t.Errorf("the manifest is %q, %v; want %q", got, err, want)
	}
}

// A snapshot replaces the previous one in one step, and the deltas that both contain are removed
// from the stream.
func TestCommit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		var before streams.Position
		for seq := uint64(1); seq <= 9; seq++ {
			mustPublish(t, s, delta("a", 5, seq, "x"), before)
			before = streams.At(5, seq)
		}
		expectManifest(t, s, "")
		writeSlot(t, s, streams.FirstSlot, "one", "two")
		expectManifest(t, s, "")
		mustCommit(t, s, streams.FirstSlot, 2, "first", streams.Position{})
		expectManifest(t, s, "first")
		if n := s.redis.XLen(t.Context(), s.StreamKey("a")).Val(); n != 9 {
			t.Errorf("%d entries are left of 9", n)
		}

		writeSlot(t, s, streams.SecondSlot, "left by", "one who", "died")
		writeSlot(t, s, streams.SecondSlot, "three")
		expectSlot(t, s, streams.FirstSlot, "one", "two")
		mustCommit(t, s, streams.SecondSlot, 1, "second", streams.At(5, 4))
		expectManifest(t, s, "second")
		expectSlot(t, s, streams.FirstSlot)
		expectSlot(t, s, streams.SecondSlot, "three")
		batch, err := s.Read(t.Context(), "a", streams.Position{})
		if err != nil || len(batch) != 6 || batch[0].At != (streams.At(5, 4)) {
			t.Errorf("the stream holds %v, %v", batch, err)
		}
		mustCommit(t, s, streams.SecondSlot, 1, "second", streams.At(5, 4)) // the answer was lost
		expectSlot(t, s, streams.SecondSlot, "three")
		heads, _, err := s.Heads(t.Context())
		if err != nil || len(heads) != 1 || string(heads[0].Heartbeat) != "alive second" {
			t.Errorf("heads %v, %v", heads, err)
		}
	})
}

// Data lost in Redis is detected, before and after a snapshot is committed.
func TestSnapshotLost(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		writeSlot(t, s, streams.FirstSlot, "one")
		mustCommit(t, s, streams.FirstSlot, 1, "first", streams.Position{})
		writeSlot(t, s, streams.SecondSlot, "one")
		s.redis.Del(ctx, s.SlotKey("a", streams.SecondSlot))
		testenv.Check(t, s.WriteChunk(ctx, "a", streams.SecondSlot, 1, []byte("two")))
		if err := s.Commit(ctx, streams.Commit{Site: "a", Place: streams.Place{Slot: streams.SecondSlot, Chunks: 2}, Manifest: []byte("second")}); !errors.Is(err, streams.ErrSnapshotLost) {
			t.Errorf("a chunk was lost: %v", err)
		}
		expectManifest(t, s, "first")
		expectSlot(t, s, streams.FirstSlot, "one")

		at := &streams.Place{Slot: streams.FirstSlot, Chunks: 1}
		if err := s.Heartbeat(ctx, "a", []byte("alive"), streams.Position{}, at); err != nil {
			t.Errorf("a complete snapshot: %v", err)
		}
		s.redis.Del(ctx, s.SlotKey("a", streams.FirstSlot))
		if err := s.Heartbeat(ctx, "a", []byte("x"), streams.Position{}, at); !errors.Is(err, streams.ErrSnapshotLost) {
			t.Errorf("the slot was lost: %v", err)
		}
		if err := s.Heartbeat(ctx, "a", []byte("empty"), streams.Position{}, &streams.Place{Slot: streams.FirstSlot, Chunks: 0}); err != nil {
			t.Errorf("a snapshot without chunks needs no slot: %v", err)
		}
		s.redis.Del(ctx, s.ManifestKey("a"))
		if err := s.Heartbeat(ctx, "a", []byte("x"), streams.Position{}, &streams.Place{Slot: streams.FirstSlot, Chunks: 0}); !errors.Is(err, streams.ErrSnapshotLost) {
			t.Errorf("the manifest was lost: %v", err)
		}
	})
}

// Data that is too large, or of another type, is refused and is not a fault of Redis.
func TestRecordsAreChecked(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		ctx := t.Context()
		large := strings.Repeat("m", streams.MaxRecord+1)
		s.redis.Set(ctx, s.ManifestKey("a"), large, 0)
		s.redis.HSet(ctx, s.SlotKey("a", streams.FirstSlot), "0", large, "1", large[1:])
		s.redis.HSet(ctx, s.VotesKey(), "a", large, "b", "votes")
		s.redis.HSet(ctx, s.ManifestKey("b"), "not", "a string")
		s.redis.XAdd(ctx, &redis.XAddArgs{Stream: s.SlotKey("b", streams.FirstSlot), Values: []any{"no", "hash"}})
		read := map[string]func() ([]byte, error){
			"a manifest":        func() ([]byte, error) { return s.Manifest(ctx, "a") },
			"a chunk":           func() ([]byte, error) { return s.Chunk(ctx, "a", streams.FirstSlot, 0) },
			"votes":             func() ([]byte, error) { return s.Votes(ctx, "a") },
			"a manifest's hash": func() ([]byte, error) { return s.Manifest(ctx, "b") },
			"an invalid slot":   func() ([]byte, error) { return s.Chunk(ctx, "b", streams.FirstSlot, 0) },
		}
		for what, f := range read {
			if data, err := f(); !errors.Is(err, streams.ErrNotOurs) || data != nil {
				t.Errorf("%s: %d bytes, %v", what, len(data), err)
			}
		}
		if chunk, err := s.Chunk(ctx, "a", streams.FirstSlot, 1); len(chunk) != streams.MaxRecord || err != nil {
			t.Errorf("the largest chunk: %d bytes, %v", len(chunk), err)
		}
		if votes, err := s.Votes(ctx, "b"); string(votes) != "votes" || err != nil {
			t.Errorf("votes %q, %v", votes, err)
		}
		if votes, err := s.Votes(ctx, "c"); votes != nil || err != nil {
			t.Errorf("votes that do not exist: %q, %v", votes, err)
		}
	})
}
