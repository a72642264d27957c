package wire

import (
	"fmt"
	"slices"
)

const (
	MaxChunkBody = MaxDelta - maxRecordHead - 64 - recordTail
	MaxChunks    = 1 << 15 // chunks of one snapshot
	ChunkDigest  = 16      // size of a chunk's id
	Incomplete   = 1       // flag of a manifest: the chunks do not contain all filters
)

// ChunkID returns the id of a chunk in a manifest, or of the manifest: the end of its HMAC.
func ChunkID(chunk []byte) [ChunkDigest]byte {
	return [ChunkDigest]byte(chunk[len(chunk)-ChunkDigest:])
}

// Manifest lists the chunks of a site's snapshot.
type Manifest struct {
	Head
	Slot  byte
	Whole bool  // the chunks contain all filters
	Bytes int64 // of all chunks
	IDs   [][ChunkDigest]byte

	before, after int // number of chunks whose ids Part has left out
}

// Chunks returns the number of chunks.
func (m *Manifest) Chunks() int { return m.before + len(m.IDs) + m.after }

// Part returns the manifest with the ids of at most n chunks from one on, in memory of their own.
func (m Manifest) Part(from, n int) Manifest {
	from = min(max(from-m.before, 0), len(m.IDs))
	to := min(from+n, len(m.IDs))
	m.before, m.after = m.before+from, m.after+len(m.IDs)-to
	m.IDs = slices.Clone(m.IDs[from:to])
	return m
}

// Has reports whether the manifest contains the id of chunk i.
func (m *Manifest) Has(i int) bool { return i >= m.before && i < m.before+len(m.IDs) }

// Lists reports whether the manifest contains the id of chunk i, and it is the id of a record.
func (m *Manifest) Lists(i int, record []byte) bool {
	return m.Has(i) && ChunkID(record) == m.IDs[i-m.before]
}

// ReadManifest verifies and decodes a manifest of a fully trusted site.
func (s *Sealer) ReadManifest(data []byte) (m Manifest, err error) {
	h, body, err := s.OpenRecord(data, RecordManifest)
	if err == nil {
		err = s.CheckClock(h)
	}
	if err == nil {
		err = s.RequireFullTrust(h.Site)
	}
	if err != nil {
		return m, err
	}
	r := &RecordReader{B: body}
	m.Head, m.Slot = h, byte(r.u8())
	flags := r.u8()
	m.Bytes = int64(r.u64())
	n := r.U32()
	switch {
	case r.Fail || n > MaxChunks || len(r.B) != int(n)*ChunkDigest:
		return m, fmt.Errorf("%s: %d chunks, but %d bytes for their ids", h, n, len(r.B))
	case flags&^Incomplete != 0 || m.Bytes < 0 || m.Bytes > int64(n)*MaxDelta:
		return m, fmt.Errorf("%s: flags %#x, %d chunks of %d bytes", h, flags, n, m.Bytes)
	}
	m.Whole = flags&Incomplete == 0
	m.IDs = make([][ChunkDigest]byte, 0, n)
	for id := range slices.Chunk(r.B, ChunkDigest) {
		m.IDs = append(m.IDs, [ChunkDigest]byte(id))
	}
	return m, nil
}
