package wire

import (
	"fmt"
	"slices"
)

const (
	MaxChunkBody = MaxDelta - maxRecordHead - 64 - recordTail
	maxChunks    = 1 << 15 // of one snapshot
	ChunkDigest  = 16      // bytes by which a manifest knows a chunk
	Incomplete   = 1       // flag of a manifest: not all filters are in the chunks
)

// ChunkID is how a manifest knows a chunk: the end of its HMAC.
func ChunkID(chunk []byte) [ChunkDigest]byte {
	return [ChunkDigest]byte(chunk[len(chunk)-ChunkDigest:])
}

// Manifest says of what a site's snapshot consists.
type Manifest struct {
	Head
	Slot  byte
	Whole bool  // nothing is left out
	Bytes int64 // of all chunks
	IDs   [][ChunkDigest]byte
}

// Chunks is how many chunks there are.
func (m *Manifest) Chunks() int { return len(m.IDs) }

// ReadManifest checks and reads a manifest, of a site that is heard in full.
func (s *Sealer) ReadManifest(data []byte) (m Manifest, err error) {
	h, body, err := s.OpenRecord(data, RecordManifest)
	if err == nil {
		err = s.CheckClock(h)
	}
	if err == nil {
		err = s.HeardInFull(h.Site)
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
	case r.Fail || n > maxChunks || len(r.B) != int(n)*ChunkDigest:
		return m, fmt.Errorf("%s: %d chunks, %d bytes left for their ids", h, n, len(r.B))
	case flags&^Incomplete != 0 || m.Bytes < 0 || m.Bytes > int64(n)*MaxDelta:
		return m, fmt.Errorf("%s: flags %#x, %d chunks of %d bytes", h, flags, n, m.Bytes)
	}
	m.Whole = flags&Incomplete == 0
	for id := range slices.Chunk(r.B, ChunkDigest) {
		m.IDs = append(m.IDs, [ChunkDigest]byte(id))
	}
	return m, nil
}
