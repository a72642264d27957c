package bloomdb

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// ownVotes are this site's recent reports. There is a filter for each generation
// with which one may begin: what is published begins with the generation before the
// current one, and its successor is being filled beside it. They take 512 KiB each.
//
// The order of reports and revocations decides what a filter holds. Each of them is a
// sequence of bits set and reset that does not depend on the bits before. So a
// snapshot may hold changes that the journal tells again: in the end every bit has
// the value of the last record that names it. What two reports at the same moment do
// to one bit depends on which is applied first. After a crash that is the order of
// the journal, which is as good.
type ownVotes struct {
	key sipKey

	mu      sync.Mutex
	filters map[int64]*filter.Generalized // by the generation they begin with
	stamp   uint64                        // of the last change: milliseconds since 1970, never twice the same
	changes int64                         // since the start
	aged    int                           // how often expire saw filters that aged out
}

func newOwnVotes(key sipKey) *ownVotes {
	return &ownVotes{key: key, filters: make(map[int64]*filter.Generalized)}
}

// apply takes a record of the journal.
func (o *ownVotes) apply(r record, now time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.target.kind == spamFilter {
		for _, gen := range [...]int64{r.target.gen - 1, r.target.gen} {
			if err := o.begin(gen); err != nil {
				return err
			}
		}
	}
	var buf [16]uint64
	for gen, f := range o.filters {
		for _, seed := range r.votes {
			switch p := votePositions(seed, buf[:0]); {
			case r.target.kind == revokedFilter:
				f.Retract(p)
			case gen == r.target.gen || gen == r.target.gen-1:
				f.Insert(p)
			}
		}
	}
	o.changes++
	o.stamp = max(o.stamp+1, uint64(max(0, now.UnixMilli())))
	return nil
}

// applyVotes takes records of reports and revocations, in the order of the journal.
func (vs *votes) applyVotes(records []record) error {
	for _, r := range records {
		if err := vs.own.apply(r, vs.opt.Now()); err != nil {
			return err
		}
	}
	return nil
}

// begin makes a filter. The lock is held.
func (o *ownVotes) begin(gen int64) error {
	if o.filters[gen] != nil {
		return nil
	}
	f, err := filter.NewGeneralized(votesShape)
	if err != nil {
		return fmt.Errorf("votes: %w", err)
	}
	o.filters[gen] = f
	return nil
}

// expire drops filters that begin before a generation, when it has seen them at
// keepAged calls in turn.
func (o *ownVotes) expire(oldest int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	due := false
	for gen := range o.filters {
		due = due || gen < oldest
	}
	if !due {
		o.aged = 0
	} else if o.aged++; o.aged >= keepAged {
		o.aged = 0
		for gen := range o.filters {
			if gen < oldest {
				delete(o.filters, gen)
			}
		}
	}
}

// body codes the filter that begins with a generation, empty where there is none,
// and names its state: it changes with every report, and when the filter begins to be
// what is published.
func (o *ownVotes) body(gen int64, period time.Duration) (body []byte, stamp uint64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.filters[gen]
	if f == nil {
		if f, err = filter.NewGeneralized(votesShape); err != nil {
			return nil, 0, err
		}
	}
	return appendVotes(nil, votesBody{gen, int64(period / time.Second), f}), o.stampOf(gen, period), nil
}

// stampOf is that of the filter that begins with a generation. It is published from
// the begin of the next one on. The lock is held.
func (o *ownVotes) stampOf(gen int64, period time.Duration) uint64 {
	return max(o.stamp, uint64(max(0, gen+1))*uint64(period/time.Millisecond))
}

// votesGeneration is the one with which what is published begins.
func (o *settings) votesGeneration() int64 { return o.generation(spamFilter, o.Now()) - 1 }

// Votes is this site's record of votes, at most 513 KiB, and the stamp that names its
// state: another stamp, other votes. It grows, unless the clock is set
// back. The head is that of a record that the site makes now.
func (vs *votes) Votes(h Head) (data []byte, stamp uint64, err error) {
	body, stamp, err := vs.own.body(vs.opt.votesGeneration(), vs.opt.Reports.Period)
	if err != nil {
		return nil, 0, err
	}
	h.Seq = stamp
	return vs.sealer.encodeRecord(h, body), stamp, nil
}

// VotesStamp is the stamp that Votes would give.
func (vs *votes) VotesStamp() uint64 {
	vs.own.mu.Lock()
	defer vs.own.mu.Unlock()
	return vs.own.stampOf(vs.opt.votesGeneration(), vs.opt.Reports.Period)
}

var ownVotesFiles = generationFiles{"own-", ".votes"}

func ownVotesPath(dir string, gen int64) string { return ownVotesFiles.path(dir, gen) }

// parseOwnVotesPath is the inverse of ownVotesPath.
func parseOwnVotesPath(name string) (gen int64, ok bool) { return ownVotesFiles.parse(name) }

// loadOwn reads one of this site's filters. Of one that the identity does not name, the
// journal has what can still be had.
func (vs *votes) loadOwn(path string, gen int64) error {
	v, stamp, err := readOwnVotes(path, vs.ring.keyID, gen, int64(vs.opt.Reports.Period/time.Second))
	if err != nil {
		return err
	}
	vs.own.filters[gen] = v.filter
	vs.own.stamp = max(vs.own.stamp, stamp)
	return nil
}

// voteSnapshots lists this site's filters, one a file.
func (vs *votes) voteSnapshots() []pendingSnapshot {
	o := vs.own
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []pendingSnapshot
	for gen := range o.filters {
		list = append(list, pendingSnapshot{
			path:  ownVotesPath(vs.opt.Dir, gen),
			state: savedState{changes: o.changes + 1, sections: 1},
			write: func(w io.Writer) error {
				b, err := vs.encodeOwnVotes(gen)
				if err != nil {
					return err
				}
				return writeChecked(w, b)
			},
		})
	}
	return list
}
