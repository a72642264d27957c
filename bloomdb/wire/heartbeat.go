package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/keyring"
)

// Heartbeat announces how far a site has published. Head.Seq is the last published number. The
// stream may end before it; the snapshot contains the rest.
type Heartbeat struct {
	Head
	Snapshot uint64 // position of its snapshot in Redis; 0: none
	Votes    uint64 // stamp of its votes in Redis; 0: none
	WantsUs  bool   // it lacks records of this site, and requests a snapshot and votes
}

// WantOf returns the bytes that stand for a site in a heartbeat.
func (s *Sealer) WantOf(site string) []byte {
	d := s.Ring.Keyed.Sum(keyring.PurposeWant, []byte(site))
	return d[:wantSize]
}

// ReadHeartbeat verifies and decodes a heartbeat.
func (s *Sealer) ReadHeartbeat(data []byte) (Heartbeat, error) {
	h, body, err := s.OpenRecord(data, RecordHeartbeat)
	if err != nil {
		return Heartbeat{}, err
	}
	s.Witness(h)
	wants := len(body) - 16
	if wants < 0 || wants%wantSize != 0 || wants > MaxWants*wantSize {
		return Heartbeat{}, fmt.Errorf("%s: body of %d bytes, must be 16 and up to %d times %d", h, len(body), MaxWants, wantSize)
	}
	beat := Heartbeat{Head: h, Snapshot: binary.BigEndian.Uint64(body), Votes: binary.BigEndian.Uint64(body[8:])}
	own := s.WantOf(s.Opt.Site)
	for want := range slices.Chunk(body[16:], wantSize) {
		beat.WantsUs = beat.WantsUs || bytes.Equal(want, own)
	}
	return beat, nil
}
