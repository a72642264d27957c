package bloomdb_test

import (
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/peers"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// FuzzRecord adds a correct authentication code to every input, and decodes each record as every
// type.
func FuzzRecord(f *testing.F) {
	o := small(f.TempDir())
	o.Site = "b"
	b := bloomdbtest.Open(f, o)
	b.Report(bloomdbtest.Message(1), layout.ClassPhish)
	b.Revoke(bloomdbtest.Message(1))
	b.Report(bloomdbtest.Message(1), layout.ClassPhish)
	b.Count(bloomdbtest.Message(1), 20)
	b.Resume(0, 0)
	for range 5 { // reports, revocations, counts, classes, ladder
		d, ok, err := b.NextDelta(true)
		if err != nil || !ok {
			f.Fatal(ok, err)
		}
		f.Add(d.Data[:len(d.Data)-32])
		b.Published(d)
	}
	p := bloomdbtest.PublishSnapshot(f, b)
	for _, record := range slices.Concat(p.Chunks, [][]byte{p.Manifest, b.Heartbeat(3, 4), []byte("SBRC")}) {
		f.Add(record[:max(len(record)-32, len("SBRC"))])
	}
	a := bloomdbtest.Open(f, small(f.TempDir()))
	f.Fuzz(func(t *testing.T, body []byte) {
		a.Apply(body, peers.Skipped)
		mac := bloomdbtest.Ring.Keyed.Sum(keyring.PurposeRecord, body)
		record := append(body, mac[:]...)
		h, unread := wire.DecodeHead(record)
		if err := a.Apply(record, peers.Skipped); err == nil && (unread != nil || h.Type != wire.RecordDelta) {
			t.Fatalf("applied %s: %v", h, unread)
		}
		if m, err := a.ReadManifest(record); err == nil && (h.Type != wire.RecordManifest || m.Chunks() > len(record)/wire.ChunkDigest) {
			t.Fatalf("%s is a manifest of %d chunks", h, m.Chunks())
		}
		if _, err := a.ReadHeartbeat(record); err == nil && h.Type != wire.RecordHeartbeat {
			t.Fatalf("%s is a heartbeat", h)
		}
		m := wire.Manifest{Head: h, IDs: [][wire.ChunkDigest]byte{wire.ChunkID(record)}}
		if err := a.ApplyChunk(m, 0, record); err == nil && h.Type != wire.RecordChunk {
			t.Fatalf("%s is a chunk", h)
		}
	})
}
