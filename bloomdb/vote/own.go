package vote

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter/generalized"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/wire"
)

// Own contains this site's recent reports. It has a filter for each generation with which
// published votes may begin: the one that is published begins with the previous generation,
// and its successor is filled at the same time. The one published before is kept for a generation more,
// because the clock may have been ahead, and be set back (package clock). Each takes 512 KiB.
//
// The content of a filter depends on the order of reports and revocations. Each is a sequence of
// bits to set and reset, independent of the bits before. A snapshot may therefore contain changes
// that the journal replays: in the end, every bit has the value of the last record that names it.
// If two concurrent reports change the same bit, the one applied last decides. After a crash,
// that is the order of the journal, which is as good.
type Own struct {
	key keyring.Sip

	mu           sync.Mutex
	filters      map[int64]*generalized.Filter // by first generation
	stamp        uint64                        // time of the last change in milliseconds since 1970, increased if necessary to be unique
	changes      int64                         // since the start
	expiredTicks int                           // calls of Expire in a row that found expired filters
}

func newOwn(key keyring.Sip) *Own {
	return &Own{key: key, filters: make(map[int64]*generalized.Filter)}
}

// apply applies a record of the journal.
func (o *Own) apply(r journal.Record, now time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.Target.Kind == layout.SpamFilter {
		for _, gen := range [...]int64{r.Target.Gen - 1, r.Target.Gen} {
			if err := o.begin(gen); err != nil {
				return err
			}
		}
	}
	var buf [16]uint64
	for gen, f := range o.filters {
		for _, seed := range r.Votes {
			switch p := Positions(seed, buf[:0]); {
			case r.Target.Kind == layout.RevokedFilter:
				f.Retract(p)
			case gen == r.Target.Gen || gen == r.Target.Gen-1:
				f.Insert(p)
			}
		}
	}
	o.changes++
	o.stamp = max(o.stamp+1, uint64(max(0, now.UnixMilli())))
	return nil
}

// Apply applies records of reports and revocations, in the order of the journal.
func (vs *Register) Apply(records []journal.Record) error {
	for _, r := range records {
		if err := vs.Own.apply(r, vs.opt.Now()); err != nil {
			return err
		}
	}
	return nil
}

// begin creates a filter. The caller holds mu.
func (o *Own) begin(gen int64) error {
	if o.filters[gen] != nil {
		return nil
	}
	f, err := generalized.New(wire.VotesShape)
	if err != nil {
		return fmt.Errorf("votes: %w", err)
	}
	o.filters[gen] = f
	return nil
}

// Expire drops filters that begin before a generation, after layout.KeepExpired calls in a row.
func (o *Own) Expire(oldest int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := false
	for gen := range o.filters {
		due = due || gen < oldest
	}
	if !due {
		o.expiredTicks = 0
	} else if o.expiredTicks++; o.expiredTicks >= layout.KeepExpired {
		o.expiredTicks = 0
		for gen := range o.filters {
			if gen < oldest {
				delete(o.filters, gen)
			}
		}
	}
}

// Body encodes the filter that begins with a generation; if there is none, an empty one. The
// stamp identifies its state. It changes with every report, and when the filter becomes the
// published one.
func (o *Own) Body(gen int64, period time.Duration) (body []byte, stamp uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.filters[gen]
	if f == nil {
		if f, err = generalized.New(wire.VotesShape); err != nil {
			return nil, 0, err
		}
	}
	return wire.AppendVotes(nil, wire.VotesBody{Gen: gen, Period: int64(period / time.Second), Filter: f}), o.stampOf(gen, period), nil
}

// stampOf returns the stamp of the filter that begins with a generation. The filter is published
// from the next generation on. The caller holds mu.
func (o *Own) stampOf(gen int64, period time.Duration) uint64 {
	return max(o.stamp, uint64(max(0, gen+1))*uint64(period/time.Millisecond))
}

// Encode returns this site's record of votes, at most 513 KiB, and the stamp of its state. A
// different stamp means different votes. Stamps grow, unless the clock is set back. h is the head
// of a record that the site makes now.
func (vs *Register) Encode(h wire.Head) (data []byte, stamp uint64, err error) {
	body, stamp, err := vs.Own.Body(vs.opt.VotesGeneration(), vs.opt.Reports.Period)
	if err != nil {
		return nil, 0, err
	}
	h.Seq = stamp
	return vs.sealer.EncodeRecord(h, body), stamp, nil
}

// Stamp returns the stamp that Encode would return.
func (vs *Register) Stamp() uint64 {
	vs.Own.mu.Lock()
	defer vs.Own.mu.Unlock()
	return vs.Own.stampOf(vs.opt.VotesGeneration(), vs.opt.Reports.Period)
}

var OwnVotesFiles = folder.GenerationFiles{Prefix: "own-", Suffix: ".votes"}

func ownVotesPath(dir string, gen int64) string { return OwnVotesFiles.Path(dir, gen) }

// ParseOwnVotesPath is the inverse of OwnVotesFiles.Path.
func ParseOwnVotesPath(name string) (gen int64, ok bool) { return OwnVotesFiles.Parse(name) }

// LoadOwn reads one of this site's filters. If the identity does not name it, the journal contains
// what can be restored.
func (vs *Register) LoadOwn(path string, gen int64) error {
	v, stamp, err := wire.ReadOwnVotes(path, vs.ring.KeyID, gen, int64(vs.opt.Reports.Period/time.Second))
	if err != nil {
		return err
	}
	vs.Own.filters[gen] = v.Filter
	vs.Own.stamp = max(vs.Own.stamp, stamp)
	return nil
}

// Snapshots returns this site's filters, one for each file.
func (vs *Register) Snapshots() []folder.Pending {
	o := vs.Own
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []folder.Pending
	for gen := range o.filters {
		list = append(list, folder.Pending{
			Path:  ownVotesPath(vs.opt.Dir, gen),
			State: folder.Saved{Changes: o.changes + 1, Sections: 1},
			Write: func(w io.Writer) error {
				b, err := vs.encodeOwnVotes(gen)
				if err != nil {
					return err
				}
				return folder.WriteChecked(w, b)
			},
		})
	}
	return list
}

// encodeOwnVotes returns the file of one of this site's filters, without its checksum.
func (vs *Register) encodeOwnVotes(gen int64) ([]byte, error) {
	body, _, err := vs.Own.Body(gen, vs.opt.Reports.Period)
	if err != nil {
		return nil, err
	}
	vs.Own.mu.Lock()
	stamp := vs.Own.stamp
	vs.Own.mu.Unlock()
	b := binary.BigEndian.AppendUint64(wire.OwnVotesForm.Begin(vs.ring.KeyID), stamp)
	return append(b, body...), nil
}
