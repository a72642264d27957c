package follower

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/bloomdb/bloomdbtest"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/exchange/streams/streamstest"
	"github.com/spambloom/spambloom/bloomdb/wire"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// metered counts what is read of snapshots.
type metered struct {
	streams.Transport
	manifests, bytes int
}

func (m *metered) Manifest(ctx context.Context, site string) ([]byte, error) {
	data, err := m.Transport.Manifest(ctx, site)
	m.manifests++
	m.bytes += len(data)
	return data, err
}

func (m *metered) Chunk(ctx context.Context, site string, slot byte, i int) ([]byte, error) {
	data, err := m.Transport.Chunk(ctx, site, slot, i)
	m.bytes += len(data)
	return data, err
}

// TestAnnouncedSnapshots is the attack "announced snapshots": a fully trusted site announces another
// snapshot with each of its heartbeats, of some bytes. Each other site reads a manifest of half a
// MiB for each, or a snapshot whose last chunk is missing.
func TestAnnouncedSnapshots(t *testing.T) {
	const last = 1 << 15
	for name, chunks := range map[string]int{"manifests": 0, "chunks": 40} {
		b := openSite(t, "b")
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log, s := newLog(), &wire.Sealer{Ring: bloomdbtest.Ring}
				f := follow(b, log)
				read := &metered{Transport: f.streams}
				f.streams = read
				head := wire.Head{Site: "a", Epoch: 1, Seq: 1 << 20, Made: time.Now()}
				ids := make([]byte, last*wire.ChunkDigest)
				log.Change(func(k streamstest.State) {
					k.Slots["a0"] = make(map[int][]byte)
					for i := range chunks {
						head.Type = wire.RecordChunk
						record := s.EncodeRecord(head, binary.BigEndian.AppendUint32(nil, uint32(i)))
						k.Slots["a0"][i] = record
						id := wire.ChunkID(record)
						copy(ids[i*wire.ChunkDigest:], id[:])
					}
					head.Type = wire.RecordManifest
					body := binary.BigEndian.AppendUint64([]byte{streams.FirstSlot, wire.Incomplete}, 0)
					k.Manifests["a"] = s.EncodeRecord(head, append(binary.BigEndian.AppendUint32(body, last), ids...))
				})
				begin := time.Now()
				for n := range 300 {
					h := wire.Head{Type: wire.RecordHeartbeat, Site: "a", Epoch: 1, Seq: 2 << 20, Made: time.Now()}
					f.receiveHeartbeat(s.EncodeRecord(h, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(1+n)), 0)), true)
					o := f.origins["a"]
					o.isExhausted = true
					for step := f.work(o, time.Now()); step != nil; step = f.work(o, time.Now()) {
						testenv.Check(t, step(f, t.Context(), o))
					}
					time.Sleep(time.Second)
				}
				t.Logf("%d manifests, %d MiB", read.manifests, read.bytes>>20)
				if most := snapshotRate*int(time.Since(begin)/time.Second) + 3*last*wire.ChunkDigest; read.bytes > most || read.manifests < 50 {
					t.Errorf("%d manifests, %d MiB, want at most %d MiB", read.manifests, read.bytes>>20, most>>20)
				}
			})
		})
	}
}

// TestManyManifests is the attack "manifests": a holder of the federation key announces snapshots of
// the largest number of chunks under many names, each has a first chunk, and then its clock is ahead.
// They take little memory, and the large snapshot of another site is read meanwhile.
func TestManyManifests(t *testing.T) {
	b := openSite(t, "b")
	synctest.Test(t, func(t *testing.T) {
		log, s := newLog(), &wire.Sealer{Ring: bloomdbtest.Ring}
		f := follow(b, log)
		announce := func(site string, chunks, stored int) *origin {
			head := wire.Head{Type: wire.RecordChunk, Site: site, Epoch: 2, Seq: 1, Made: time.Now()}
			ids, slot := make([]byte, chunks*wire.ChunkDigest), make(map[int][]byte)
			for i := range stored {
				slot[i] = s.EncodeRecord(head, binary.BigEndian.AppendUint32(nil, uint32(i)))
				id := wire.ChunkID(slot[i])
				copy(ids[i*wire.ChunkDigest:], id[:])
			}
			head.Type = wire.RecordManifest
			body := binary.BigEndian.AppendUint32(append([]byte{streams.FirstSlot, 0}, make([]byte, 8)...), uint32(chunks))
			manifest := s.EncodeRecord(head, append(body, ids...))
			log.Change(func(k streamstest.State) {
				k.Manifests[site], k.Slots[site+string(rune(streams.FirstSlot))] = manifest, slot
			})
			head.Type = wire.RecordHeartbeat
			body = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, 1), 0)
			f.receiveHeartbeat(s.EncodeRecord(head, body), true)
			o := f.origins[site]
			o.isExhausted = true
			return o
		}
		steps := func(o *origin, n int) {
			for range n {
				if step := f.work(o, time.Now()); step != nil {
					testenv.Check(t, step(f, t.Context(), o))
				}
			}
		}
		held := 0
		for i := range 100 {
			o := announce(fmt.Sprint("fake", i), wire.MaxChunks, 1)
			steps(o, 2)
			o.skew = 2 * maxSkew
			held += cap(o.loading.manifest.IDs)
		}
		if held > 100*heldChunks {
			t.Errorf("%d chunks are listed in memory, want at most %d", held, 100*heldChunks)
		}
		const chunks = 2*heldChunks + 10
		o := announce("large", chunks, chunks)
		steps(o, chunks+10)
		if o.loading != nil || o.took.Seq != 1 {
			t.Errorf("the large snapshot of another site is not read: %+v", f.siteStatus(o, time.Now()))
		}
	})
}
