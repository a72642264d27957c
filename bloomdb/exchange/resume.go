package exchange

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Foreign describes data found in the place of this site's stream and moved aside.
type Foreign struct {
	Times int64     `json:"times"` // since the start
	At    time.Time `json:"at"`    // the last time
	Tail  Position  `json:"tail"`  // last id of the stream at that time
}

// resume passes the end of this site's stream to the database, which then publishes again
// what the stream lacks, and looks for this site's snapshot. An entry that this site did
// not sign is not the end of its stream, whatever its id.
func (p *publisher) resume(ctx context.Context) error {
	end, err := p.wire.tail(ctx, p.site)
	if err != nil {
		return err
	}
	proof, err := p.recognise(end)
	if errors.Is(err, wire.ErrUnsigned) && p.isRivalled(proof.Made) {
		return fmt.Errorf("stream ends with %s: %w: %w", proof, err, errNameTaken)
	}
	if err != nil {
		if err := p.moveAside(ctx, end.at, err); err != nil {
			return err
		}
		proof, end = wire.Head{}, streamEnd{}
	}
	if err := p.advanceEpoch(ctx, proof); err != nil {
		return err
	}
	if err := p.db.Resume(end.at.Epoch, end.at.Seq); err != nil {
		return fmt.Errorf("resume after %v: %w", end.at, err)
	}
	if err := p.findSnapshot(ctx, end.at); err != nil {
		return err
	}
	p.writing, p.votes, p.votesAt = nil, 0, time.Time{}
	p.tail, p.started, p.resumed = end.at, true, true
	return nil
}

// errForeign is returned for a stream that another client has written to.
var errForeign = errors.New("last entry of the stream was not written by this site")

// recognise returns the head of the stream's last record if this site made it. The head is
// zero if only the database records the end: the stream was emptied, or the signing key was
// changed. Errors: wire.ErrUnsigned, with the head, if another daemon of this name made
// the record; errForeign.
func (p *publisher) recognise(end streamEnd) (wire.Head, error) {
	epoch, seq := p.db.Tail()
	known := !end.at.after(Position{epoch, seq})
	if end.empty || end.at == (Position{}) {
		if known {
			return wire.Head{}, nil
		}
		return wire.Head{}, errForeign
	}
	h, err := p.db.OwnRecord(end.record, wire.RecordDelta)
	switch {
	case h.Type != wire.RecordDelta || (Position{h.Epoch, h.Seq}) != end.at:
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
func (p *publisher) isRivalled(made time.Time) bool {
	if !p.started || made.Before(p.began) || !made.After(p.taken) {
		return false
	}
	p.taken = made
	return true
}

// moveAside makes room for this site's stream after another client has written its end.
func (p *publisher) moveAside(ctx context.Context, end Position, why error) error {
	if err := p.wire.reclaim(ctx, p.site, end); err != nil {
		return err
	}
	p.metrics.foreign.Inc()
	if p.logLimit.allow("foreign") {
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

// advanceEpoch looks for records of this site that are newer than its folder, which is then
// a backup or was recreated. If there are any, the site begins the epoch after the newest
// one. It returns errNameTaken if another daemon continues to make such records. The proof
// is the head of the stream's last record, or zero.
func (p *publisher) advanceEpoch(ctx context.Context, proof wire.Head) error {
	past := p.newerOwn.Load()
	said, err := p.ownHeads(ctx, proof, past)
	if err != nil {
		return err
	}
	var last Position
	var made time.Time // when the last record newer than the folder was made
	for _, h := range said {
		last = later(last, Position{h.Epoch, h.Seq})
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
	p.newerOwn.CompareAndSwap(past, nil)
	return nil
}

// ownHeads returns the heads of this site's records: the given ones, and those of the
// heartbeat and the manifest in Redis if this site signed them.
func (p *publisher) ownHeads(ctx context.Context, proof wire.Head, past *wire.Head) ([]wire.Head, error) {
	heads := []wire.Head{proof}
	if past != nil {
		heads = append(heads, *past)
	}
	for kind, read := range map[wire.RecordType]func(context.Context, string) ([]byte, error){
		wire.RecordHeartbeat: p.wire.head, wire.RecordManifest: p.wire.manifest,
	} {
		record, err := read(ctx, p.site)
		if err != nil && !errors.Is(err, errNotOurs) {
			return nil, err
		}
		if h, err := p.db.OwnRecord(record, kind); err == nil {
			heads = append(heads, h)
		}
	}
	return heads, nil
}

// receiveOwn handles news of this site: a record that comes back from Redis, or an earlier
// heartbeat that other sites repeat because they hold a newer epoch of this site.
func (x *Exchange) receiveOwn(n news) {
	h, err := x.db.OwnRecord(n.record, n.head.Type)
	if err != nil {
		x.refuse(nil, causeOf(err), err)
		return
	}
	x.echoedAt.Store(time.Now().UnixNano())
	if h.Type == wire.RecordHeartbeat && x.db.IsBeyond(h.Epoch, h.Seq) {
		x.newerOwn.Store(&h)
	}
}
