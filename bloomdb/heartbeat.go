package bloomdb

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// Heartbeat is a site's word on where it stands. Head.Seq is the number up to which
// it has published; the stream may end before it, where a snapshot has the rest.
type Heartbeat struct {
	Head
	Snapshot uint64 // position of its snapshot in Redis; 0: none
	Votes    uint64 // stamp of its votes in Redis; 0: none
	WantsUs  bool   // it misses records of this site, and asks for a snapshot and votes
}

// Heartbeat makes this site's: snapshot and votes are what stands in Redis, wants the sites whose
// snapshot or votes this one misses.
func (p *publisher) Heartbeat(snapshot, votes uint64, wants ...string) []byte {
	h := p.recordHead(RecordHeartbeat)
	body := binary.BigEndian.AppendUint64(nil, snapshot)
	body = binary.BigEndian.AppendUint64(body, votes)
	for _, site := range wants[:min(len(wants), maxWants)] {
		body = append(body, p.sealer.wantOf(site)...)
	}
	return p.sealer.encodeRecord(h, body)
}

// wantOf stands for a site in a heartbeat.
func (s *sealer) wantOf(site string) []byte {
	d := s.ring.keyed.Sum(purposeWant, []byte(site))
	return d[:wantSize]
}

// ReadHeartbeat checks and reads one.
func (s *sealer) ReadHeartbeat(data []byte) (Heartbeat, error) {
	h, body, err := s.openRecord(data, RecordHeartbeat)
	if err != nil {
		return Heartbeat{}, err
	}
	s.witness(h)
	wants := len(body) - 16
	if wants < 0 || wants%wantSize != 0 || wants > maxWants*wantSize {
		return Heartbeat{}, fmt.Errorf("%s: body of %d bytes, must be 16 and up to %d times %d", h, len(body), maxWants, wantSize)
	}
	beat := Heartbeat{Head: h, Snapshot: binary.BigEndian.Uint64(body), Votes: binary.BigEndian.Uint64(body[8:])}
	own := s.wantOf(s.opt.Site)
	for want := range slices.Chunk(body[16:], wantSize) {
		beat.WantsUs = beat.WantsUs || bytes.Equal(want, own)
	}
	return beat, nil
}
