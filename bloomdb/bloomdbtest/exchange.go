package bloomdbtest

import (
	"bytes"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Drain returns all pending changes as deltas, and confirms that they are published, like the
// exchange. It calls Resume first: the stream still ends as it did when the site last published.
func Drain(t testing.TB, db *bloomdb.DB) []wire.Delta {
	t.Helper()
	if err := db.Resume(db.Tail()); err != nil {
		t.Fatal(err)
	}
	var all []wire.Delta
	for {
		d, ok, err := db.NextDelta(true)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		again, _, _ := db.NextDelta(true)
		if !bytes.Equal(again.Data, d.Data) {
			t.Fatal("NextDelta returned another delta before the first one was published")
		}
		if err := db.Published(d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
}

// Apply applies deltas of another site, without gaps.
func Apply(t testing.TB, db *bloomdb.DB, deltas ...wire.Delta) {
	t.Helper()
	for _, d := range deltas {
		if err := db.Apply(d.Data, peers.Next); err != nil {
			t.Fatal(err)
		}
	}
}

// Snapshot is a site's snapshot as other sites read it.
type Snapshot struct {
	Manifest []byte
	Chunks   [][]byte
}

// PublishSnapshot encodes a site's snapshot, and confirms that it is published.
func PublishSnapshot(t testing.TB, db *bloomdb.DB) Snapshot {
	t.Helper()
	var p Snapshot
	w := db.NewSnapshot()
	for {
		chunk, ok, err := w.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if len(chunk) > wire.MaxDelta {
			t.Fatalf("chunk of %d bytes", len(chunk))
		}
		p.Chunks = append(p.Chunks, chunk)
	}
	p.Manifest = w.Manifest(1)
	if err := db.SnapshotPublished(w); err != nil {
		t.Fatal(err)
	}
	return p
}

// Take applies a snapshot, like the exchange.
func (p Snapshot) Take(t testing.TB, db *bloomdb.DB) {
	t.Helper()
	m, err := db.ReadManifest(p.Manifest)
	if err != nil {
		t.Fatal(err)
	}
	for i, chunk := range p.Chunks {
		if err := db.ApplyChunk(m, i, chunk); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.FinishSnapshot(m); err != nil {
		t.Fatal(err)
	}
}
