package exchange

import (
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
)

// writeSlot writes a snapshot's chunks.
func writeSlot(t *testing.T, s *streams, slot byte, chunks ...string) {
	t.Helper()
	if err := s.clearSlot(t.Context(), "a", slot); err != nil {
		t.Fatal(err)
	}
	for i, chunk := range chunks {
		if err := s.writeChunk(t.Context(), "a", slot, i, []byte(chunk)); err != nil {
			t.Fatal(err)
		}
	}
}

func mustCommit(t *testing.T, s *streams, slot byte, chunks int, manifest string, trim Position) {
	t.Helper()
	c := commit{site: "a", place: place{slot, chunks}, manifest: []byte(manifest), heartbeat: []byte("alive " + manifest), trim: trim}
	if err := s.commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// expectSlot checks which chunks a slot contains; none: it does not exist.
func expectSlot(t *testing.T, s *streams, slot byte, chunks ...string) {
	t.Helper()
	for i, want := range append(chunks, "") {
		if got, err := s.chunk(t.Context(), "a", slot, i); err != nil || string(got) != want {
			t.Errorf("chunk %d of slot %c is %q, %v; want %q", i, slot, got, err, want)
		}
	}
}

func expectManifest(t *testing.T, s *streams, want string) {
	t.Helper()
	if got, err := s.manifest(t.Context(), "a"); err != nil || string(got) != want {
		t.Errorf("the manifest is %q, %v; want %q", got, err, want)
	}
}

// A snapshot replaces the previous one in one step, and the stream loses the deltas that
// both contain.
func TestCommit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		var before Position
		for seq := uint64(1); seq <= 9; seq++ {
			mustPublish(t, s, delta("a", 5, seq, "x"), before)
			before = Position{5, seq}
		}
		expectManifest(t, s, "")
		writeSlot(t, s, firstSlot, "one", "two")
		expectManifest(t, s, "")
		mustCommit(t, s, firstSlot, 2, "first", Position{})
		expectManifest(t, s, "first")
		if n := s.redis.XLen(t.Context(), s.stream("a")).Val(); n != 9 {
			t.Errorf("%d entries are left of 9", n)
		}

		writeSlot(t, s, secondSlot, "left by", "one who", "died")
		writeSlot(t, s, secondSlot, "three")
		expectSlot(t, s, firstSlot, "one", "two")
		mustCommit(t, s, secondSlot, 1, "second", Position{5, 4})
		expectManifest(t, s, "second")
		expectSlot(t, s, firstSlot)
		expectSlot(t, s, secondSlot, "three")
		batch, err := s.read(t.Context(), "a", Position{})
		if err != nil || len(batch) != 6 || batch[0].at != (Position{5, 4}) {
			t.Errorf("the stream holds %v, %v", batch, err)
		}
		mustCommit(t, s, secondSlot, 1, "second", Position{5, 4}) // the answer was lost
		expectSlot(t, s, secondSlot, "three")
		heads, _, err := s.heads(t.Context())
		if err != nil || len(heads) != 1 || string(heads[0].heartbeat) != "alive second" {
			t.Errorf("heads %v, %v", heads, err)
		}
	})
}

// Data lost in Redis is detected, before and after a snapshot is committed.
func TestSnapshotLost(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		ctx := t.Context()
		writeSlot(t, s, firstSlot, "one")
		mustCommit(t, s, firstSlot, 1, "first", Position{})
		writeSlot(t, s, secondSlot, "one")
		s.redis.Del(ctx, s.slot("a", secondSlot))
		if err := s.writeChunk(ctx, "a", secondSlot, 1, []byte("two")); err != nil {
			t.Fatal(err)
		}
		if err := s.commit(ctx, commit{site: "a", place: place{secondSlot, 2}, manifest: []byte("second")}); !errors.Is(err, errSnapshotLost) {
			t.Errorf("a chunk was lost: %v", err)
		}
		expectManifest(t, s, "first")
		expectSlot(t, s, firstSlot, "one")

		at := &place{firstSlot, 1}
		if err := s.heartbeat(ctx, "a", []byte("alive"), Position{}, at); err != nil {
			t.Errorf("all is there: %v", err)
		}
		s.redis.Del(ctx, s.slot("a", firstSlot))
		if err := s.heartbeat(ctx, "a", []byte("x"), Position{}, at); !errors.Is(err, errSnapshotLost) {
			t.Errorf("the slot was lost: %v", err)
		}
		if err := s.heartbeat(ctx, "a", []byte("empty"), Position{}, &place{firstSlot, 0}); err != nil {
			t.Errorf("a snapshot without chunks needs no slot: %v", err)
		}
		s.redis.Del(ctx, s.manifestKey("a"))
		if err := s.heartbeat(ctx, "a", []byte("x"), Position{}, &place{firstSlot, 0}); !errors.Is(err, errSnapshotLost) {
			t.Errorf("the manifest was lost: %v", err)
		}
	})
}

// Data that is too large, or of another type, is refused and is not a fault of Redis.
func TestRecordsAreNotBelieved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *streams) {
		ctx := t.Context()
		large := strings.Repeat("m", maxRecord+1)
		s.redis.Set(ctx, s.manifestKey("a"), large, 0)
		s.redis.HSet(ctx, s.slot("a", firstSlot), "0", large, "1", large[1:])
		s.redis.HSet(ctx, s.votesKey(), "a", large, "b", "votes")
		s.redis.HSet(ctx, s.manifestKey("b"), "not", "a string")
		s.redis.XAdd(ctx, &redis.XAddArgs{Stream: s.slot("b", firstSlot), Values: []any{"no", "hash"}})
		read := map[string]func() ([]byte, error){
			"a manifest":        func() ([]byte, error) { return s.manifest(ctx, "a") },
			"a chunk":           func() ([]byte, error) { return s.chunk(ctx, "a", firstSlot, 0) },
			"votes":             func() ([]byte, error) { return s.votes(ctx, "a") },
			"a manifest's hash": func() ([]byte, error) { return s.manifest(ctx, "b") },
			"an invalid slot":   func() ([]byte, error) { return s.chunk(ctx, "b", firstSlot, 0) },
		}
		for what, f := range read {
			if data, err := f(); !errors.Is(err, errNotOurs) || data != nil {
				t.Errorf("%s: %d bytes, %v", what, len(data), err)
			}
		}
		if chunk, err := s.chunk(ctx, "a", firstSlot, 1); len(chunk) != maxRecord || err != nil {
			t.Errorf("the largest chunk: %d bytes, %v", len(chunk), err)
		}
		if votes, err := s.votes(ctx, "b"); string(votes) != "votes" || err != nil {
			t.Errorf("votes %q, %v", votes, err)
		}
		if votes, err := s.votes(ctx, "c"); votes != nil || err != nil {
			t.Errorf("votes that do not exist: %q, %v", votes, err)
		}
	})
}
