package bloomdbtest

import (
	"bytes"
	"sync"
	"testing"
	"weak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// resumed are the databases that Drain has told where their streams end. It does not keep
// them in memory.
var resumed sync.Map // of weak.Pointer[bloomdb.DB]

// Drain takes all deltas that a site has, as the exchange would. If the test has not called
// Resume, Drain does, with what the site has published.
func Drain(t testing.TB, db *bloomdb.DB) []wire.Delta {
	t.Helper()
	var all []wire.Delta
	for {
		d, ok, err := db.NextDelta(true)
		if err != nil {
			t.Fatal(err)
		}
		if _, isResumed := resumed.LoadOrStore(weak.Make(db), true); !ok && !isResumed {
			if err := db.Resume(db.Head()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !ok {
			return all
		}
		again, _, _ := db.NextDelta(true)
		if !bytes.Equal(again.Data, d.Data) {
			t.Fatal("an unconfirmed delta came back changed")
		}
		if err := db.Published(d); err != nil {
			t.Fatal(err)
		}
		all = append(all, d)
	}
}

// Apply applies deltas, each of which must follow the one before.
func Apply(t testing.TB, db *bloomdb.DB, deltas ...wire.Delta) {
	t.Helper()
	for _, d := range deltas {
		if err := db.Apply(d.Data, peers.Next); err != nil {
			t.Fatal(err)
		}
	}
}

// Snapshot is a site's snapshot as others find it.
type Snapshot struct {
	Manifest []byte
	Chunks   [][]byte
}

// PublishSnapshot makes a site's snapshot and tells the site that it is published.
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

// Take joins a snapshot, as the exchange would.
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
