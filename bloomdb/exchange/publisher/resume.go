package publisher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/exchange/streams"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Foreign describes data found in the place of this site's stream and moved aside.
type Foreign struct {
	Times int64            `json:"times"` // since the start
	At    time.Time        `json:"at"`    // the last time
	Tail  streams.Position `json:"tail"`  // last id of the stream at that time
}

// resume passes the end of this site's stream to the database, which then publishes again
// what the stream lacks, and looks for this site's snapshot. An entry that this site did
// not sign is not the end of its stream, whatever its id.
func (p *Publisher) resume(ctx context.Context) error {
	end, err := p.streams.Tail(ctx, p.site)
	if err != nil {
		return err
	}
	proof, err := p.recognise(end)
	if errors.Is(err, wire.ErrUnsigned) && p.isRivalled(proof.Made) {
		return fmt.Errorf("stream ends with %s: %w: %w", proof, err, errNameTaken)
	}
	if err != nil {
		if err := p.moveAside(ctx, end.At, err); err != nil {
			return err
		}
		proof, end = wire.Head{}, streams.End{}
	}
	if err := p.yieldNumber(proof, end.Record); err != nil {
		return err
	}
	if err := p.advanceEpoch(ctx, proof); err != nil {
		return err
	}
	if err := p.db.Resume(end.At.Epoch, end.At.Seq); err != nil {
		return fmt.Errorf("resume after %v: %w", end.At, err)
	}
	if err := p.findSnapshot(ctx, end.At); err != nil {
		return err
	}
	p.writing, p.votes, p.votesAt = nil, 0, time.Time{}
	p.tail, p.started, p.resumed = end.At, true, true
	return nil
}

// errForeign is returned for a stream that another client has written to.
var errForeign = errors.New("last entry of the stream was not written by this site")

// recognise returns the head of the stream's last record if this site made it. The head is
// zero if only the database records the end: the stream was emptied, or the signing key was
// changed. Errors: wire.ErrUnsigned, with the head, if another daemon of this name made
// the record; errForeign.
func (p *Publisher) recognise(end streams.End) (wire.Head, error) {
	epoch, seq := p.db.Tail()
	known := !end.At.After(streams.At(epoch, seq))
	if end.Empty || end.At == (streams.Position{}) {
		if known {
			return wire.Head{}, nil
		}
		return wire.Head{}, errForeign
	}
	h, err := p.db.OwnRecord(end.Record, wire.RecordDelta)
	switch {
	case h.Type != wire.RecordDelta || streams.At(h.Epoch, h.Seq) != end.At:
		return wire.Head{}, errForeign
	case errors.Is(err, wire.ErrUnsigned) && known:
		return wire.Head{}, nil
	case err != nil && !errors.Is(err, wire.ErrUnsigned):
		return wire.Head{}, fmt.Errorf("%w: %w", errForeign, err)
	}
	return h, err
}

// isRivalled reports whether another daemon of this name has made a record since the last
// call that returned true. Made is the time of its latest known record.
func (p *Publisher) isRivalled(made time.Time) bool {
	if !p.started || made.Before(p.began) || !made.After(p.taken) {
		return false
	}
	p.taken = made
	return true
}

// moveAside makes room for this site's stream after another client has written its end.
func (p *Publisher) moveAside(ctx context.Context, end streams.Position, why error) error {
	if err := p.streams.Reclaim(ctx, p.site, end); err != nil {
		return err
	}
	p.metrics.foreign.Inc()
	if p.logLimit.Allow("foreign") {
		p.log.Warn("another client wrote to this site's stream in Redis; it was moved aside and is published again",
			"site", p.site, "tail", end.String(), "error", why)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = &Foreign{Times: p.moved.times() + 1, At: time.Now(), Tail: end}
	return nil
}

func (f *Foreign) times() int64 {
	if f == nil {
		return 0
	}
	return f.Times
}

// yieldNumber begins the next epoch if the stream ends with another delta under the number of the one
// that we tried to publish: a copy of this machine made it, or an earlier copy of this folder. It
// returns errNameTaken if the other daemon may still run.
func (p *Publisher) yieldNumber(proof wire.Head, record []byte) error {
	at := streams.At(proof.Epoch, proof.Seq)
	switch {
	case proof.Seq == 0 || at != p.sent || bytes.Equal(record, p.sentRecord):
		return nil
	case p.isRivalled(proof.Made):
		return fmt.Errorf("%s: its number is used here: %w", proof, errNameTaken)
	}
	p.sent = streams.Position{} // first: with an error the next epoch has begun all the same, and one is enough
	if err := p.db.BeginEpoch(); err != nil {
		return fmt.Errorf("epoch after %v: %w", at, err)
	}
	return nil
}

// advanceEpoch looks for records of this site that are newer than its folder, which is then
// a backup or was recreated. If there are any, the site begins the epoch after the newest
// one. It returns errNameTaken if another daemon continues to make such records. The proof
// is the head of the stream's last record, or zero.
func (p *Publisher) advanceEpoch(ctx context.Context, proof wire.Head) error {
	newer := p.newerOwn.Load()
	heads, err := p.ownHeads(ctx, proof, newer)
	if err != nil {
		return err
	}
	var last streams.Position
	var made time.Time // when the last record newer than the folder was made
	for _, h := range heads {
		last = streams.Later(last, streams.At(h.Epoch, h.Seq))
		if p.db.IsBeyond(h.Epoch, h.Seq) && h.Made.After(made) {
			made = h.Made
		}
	}
	if p.isRivalled(made) {
		return fmt.Errorf("%s has published up to %v: %w", p.site, last, errNameTaken)
	}
	if err := p.db.Supersede(last.Epoch, last.Seq); err != nil {
		return fmt.Errorf("epoch after %v: %w", last, err)
	}
	p.newerOwn.CompareAndSwap(newer, nil)
	return nil
}

// ownHeads returns the heads of this site's records: the given ones, and those of the
// heartbeat and the manifest in Redis if this site signed them.
func (p *Publisher) ownHeads(ctx context.Context, proof wire.Head, newer *wire.Head) ([]wire.Head, error) {
	heads := []wire.Head{proof}
	if newer != nil {
		heads = append(heads, *newer)
	}
	for kind, read := range map[wire.RecordType]func(context.Context, string) ([]byte, error){
		wire.RecordHeartbeat: p.streams.Head, wire.RecordManifest: p.streams.Manifest,
	} {
		record, err := read(ctx, p.site)
		if err != nil && !errors.Is(err, streams.ErrNotOurs) {
			return nil, err
		}
		if h, err := p.db.OwnRecord(record, kind); err == nil {
			heads = append(heads, h)
		}
	}
	return heads, nil
}
