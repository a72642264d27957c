package outbox

import (
	"encoding/binary"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Heartbeat encodes this site's heartbeat: the positions of snapshot and votes in Redis, and the
// sites whose snapshot or votes are requested.
func (p *Outbox) Heartbeat(snapshot, votes uint64, wants ...string) []byte {
	h := p.RecordHead(wire.RecordHeartbeat)
	body := binary.BigEndian.AppendUint64(nil, snapshot)
	body = binary.BigEndian.AppendUint64(body, votes)
	for _, site := range wants[:min(len(wants), wire.MaxWants)] {
		body = append(body, p.Sealer.WantOf(site)...)
	}
	return p.Sealer.EncodeRecord(h, body)
}

// Self returns this site in its current epoch.
func (p *Outbox) Self() layout.Origin { return layout.Origin{Site: p.Opt.Site, Epoch: p.Epoch()} }

// RecordHead returns the head of a record that this site makes now.
func (p *Outbox) RecordHead(t wire.RecordType) wire.Head {
	epoch, seq := p.Head()
	return wire.Head{Type: t, Site: p.Opt.Site, Epoch: epoch, Seq: seq, Made: p.Opt.Now()}
}

// SetMuted records durably which sites are muted, and that the folder no longer needs the files of
// one that is gone.
func (p *Outbox) SetMuted(dir string, muted []folder.MutedSite, gone string) error {
	p.deltaMu.Lock()
	defer p.deltaMu.Unlock()
	before := p.ID
	p.ID.Muted = muted
	p.ID.Snapshots = slices.DeleteFunc(slices.Clone(p.ID.Snapshots), func(name string) bool { return store.IsSiteFile(name, gone) })
	if err := p.writeLocked(dir, p.written); err != nil {
		p.ID.Muted, p.ID.Snapshots = before.Muted, before.Snapshots
		return err
	}
	return nil
}
