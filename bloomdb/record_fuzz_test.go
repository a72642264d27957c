package bloomdb

import (
	"slices"
	"testing"
)

// FuzzRecord leaves the authentication code out of the way: it is made right for
// whatever the fuzzer wrote. Each record is taken for one of every type.
func FuzzRecord(f *testing.F) {
	o := small(f.TempDir())
	o.Site = "b"
	b := openTest(f, o)
	b.Report(message(1), ClassPhish)
	b.Count(message(1), 20)
	b.Resume(0, 0)
	for range 3 { // reports, counts, classes
		d, ok, err := b.NextDelta(true)
		if err != nil || !ok {
			f.Fatal(ok, err)
		}
		f.Add(d.Data[:len(d.Data)-32])
		b.Published(d)
	}
	p := publishSnapshot(f, b)
	for _, record := range slices.Concat(p.chunks, [][]byte{p.manifest, b.Heartbeat(3, 4), []byte("SBRC")}) {
		f.Add(record[:max(len(record)-32, len("SBRC"))])
	}
	a := openTest(f, small(f.TempDir()))
	f.Fuzz(func(t *testing.T, body []byte) {
		a.Apply(body, Skipped)
		mac := a.ks.ring.keyed.Sum(purposeRecord, body)
		record := append(body, mac[:]...)
		h, unread := DecodeHead(record)
		if err := a.Apply(record, Skipped); err == nil && (unread != nil || h.Type != RecordDelta) {
			t.Fatalf("applied %s: %v", h, unread)
		}
		if m, err := a.ReadManifest(record); err == nil && (h.Type != RecordManifest || m.Chunks() > len(record)/chunkDigest) {
			t.Fatalf("%s is a manifest of %d chunks", h, m.Chunks())
		}
		if _, err := a.ReadHeartbeat(record); err == nil && h.Type != RecordHeartbeat {
			t.Fatalf("%s is a heartbeat", h)
		}
		m := Manifest{Head: h, ids: [][chunkDigest]byte{chunkID(record)}}
		if err := a.ApplyChunk(m, 0, record); err == nil && h.Type != RecordChunk {
			t.Fatalf("%s is a chunk", h)
		}
	})
}
