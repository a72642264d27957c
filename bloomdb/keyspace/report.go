package keyspace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// EvenAskOnly returns all sketches as sketches to report, including those that exist only for
// lookups. A truncated message may have no signature of its text. Lookup sketches can then list it,
// so a revocation must include them.
func EvenAskOnly(sketches []signature.Sketch) []signature.Sketch {
	sketches = slices.Clone(sketches)
	for i := range sketches {
		sketches[i].AskOnly = false
	}
	return sketches
}

// PrepareReport makes the records of a report or a revocation, and returns an error if there is no
// room for them. They use the first most rungs of each ladder. It counts a campaign's link domains,
// see DomainOptions.
func (ks *Keyspace) PrepareReport(kind layout.Kind, set signature.Set, class layout.Class, campaign bool, most int) (Update, error) {
	var reports []*report
	release := func() {
		for _, r := range reports {
			r.release()
		}
	}
	groups := ks.groups(kind, set.Sketches)
	for _, t := range ks.listTargets(kind, set) {
		r, err := ks.newReport(t, set, groups, class, most)
		if err != nil {
			return Update{Release: release}, err
		}
		reports = append(reports, r)
	}
	return Update{
		Ready: ks.Journal.Ready,
		Write: func() error {
			for _, r := range reports {
				if err := r.write(); err != nil {
					return err
				}
			}
			return nil
		},
		Show: func() error {
			for i, r := range reports {
				if err := r.show(); err != nil {
					return err
				}
				if i == 0 {
					ks.countListed(kind, set, campaign)
				}
			}
			return nil
		},
		Release: release,
	}, nil
}

// groups returns the groups of sketches that are stored. A revocation stores all, a report only
// what is not common here.
func (ks *Keyspace) groups(kind layout.Kind, sketches []signature.Sketch) []sketch.KindGroups {
	if kind == layout.SpamFilter {
		return ks.Sketches.ToReport(sketches)
	}
	return ks.Sketches.Reported(sketches)
}

// listTargets returns the generations that a report or a revocation is written to: the current one,
// and existing later ones. They were begun while the clock was ahead, or the clock is behind now, and
// would outweigh it until their time has come. A report is written only to those that revoke the
// message: in others it would be listed for longer than it should.
func (ks *Keyspace) listTargets(kind layout.Kind, set signature.Set) []layout.Target {
	now := ks.Settings.Generation(kind, ks.Settings.Now())
	targets := []layout.Target{{Kind: kind, Gen: now}}
	for _, g := range ks.Store.View.Load().Reports {
		if g.Num > now && (kind == layout.RevokedFilter || ks.revokes(g, set)) {
			targets = append(targets, layout.Target{Kind: kind, Gen: g.Num})
		}
	}
	return targets
}

// revokes reports whether a generation revokes one of a message's signatures or sketches. Odd rungs are
// revocations.
func (ks *Keyspace) revokes(g *store.ReportGeneration, set signature.Set) bool {
	return slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool {
		top := g.WriteTop(ks.Ring.ReportHash(s))
		return top > 0 && top&1 == 1
	}) || slices.ContainsFunc(ks.Sketches.Reported(set.Sketches), func(s sketch.KindGroups) bool {
		top := sketch.WriteTop(g, s, ks.Settings.Site)
		return top > 0 && top&1 == 1
	})
}

// report is a report or a revocation in one generation of one keyspace.
type report struct {
	ks         *Keyspace
	signatures journal.Record
	sketches   []journal.Record
	rungs      []journal.Record
	masks      []journal.Record
	votes      []journal.Record
	at         folder.LSN // position in the journal; 0: it is not there
	unlock     func()     // releases the masks
}

// newReport makes the records. The caller must call release.
func (ks *Keyspace) newReport(t layout.Target, set signature.Set, groups []sketch.KindGroups, class layout.Class, most int) (*report, error) {
	own, err := ks.Store.OwnBits(t, ks.Store.ShapeFor(t))
	if err != nil {
		return nil, err
	}
	if err := ks.Settings.Fits(t.Kind.String()+" filter", own.Shape(), own.Ones(), t); err != nil {
		return nil, err
	}
	r := &report{ks: ks, signatures: journal.Record{Target: t, Class: ks.Store.KeptClass(class, t.Gen)}}
	if r.sketches, err = ks.Sketches.Records(t.Kind, groups, t.Gen, most); err != nil {
		return nil, err
	}
	for _, s := range slices.Concat(set.Signatures, ks.domainSignatures(t.Kind, set)) {
		r.signatures.Hashes = append(r.signatures.Hashes, ks.Ring.ReportHash(s))
	}
	if r.rungs, err = ks.rungRecords(t, r.signatures.Hashes, most); err != nil {
		return nil, err
	}
	r.votes = ks.Votes.Record(t.Kind, set.Signatures, t.Gen, most)
	r.masks, r.unlock = ks.Store.Unmask(t, r.signatures.Hashes, math.MaxInt64)
	return r, nil
}

// release ends the report. The caller calls it whether or not the report was shown.
func (r *report) release() {
	if r.at != 0 {
		r.ks.Journal.Done(r.at)
	}
	r.unlock()
}

// write returns when the records are on disk.
func (r *report) write() (err error) {
	var records []journal.Record
	if len(r.signatures.Hashes) > 0 {
		records = append(records, r.signatures)
	}
	if records = slices.Concat(records, r.sketches, r.rungs, r.masks, r.votes); len(records) == 0 {
		return nil // its sketch is stored already
	}
	if r.at, err = r.ks.Journal.Append(records...); err != nil {
		return err
	}
	return r.ks.Journal.Sync(r.at)
}

// show sets the bits. It sets those of sketches first, so that a reader who finds the listing finds
// them, too.
func (r *report) show() error {
	if err := r.ks.Store.ApplyMasks(r.masks); err != nil {
		return err
	}
	for _, s := range r.sketches {
		if err := r.ks.Store.Set(s, r.ks.Outbox.Note); err != nil {
			return err
		}
	}
	for _, s := range append([]journal.Record{r.signatures}, r.rungs...) {
		if err := r.ks.Store.Set(s, r.ks.Outbox.Note); err != nil {
			return err
		}
	}
	return r.ks.Votes.Apply(r.votes)
}

// Storable is Writable for a set that was accepted before. If only near-duplicates of the message
// were reported, it may contain only sketches.
func (ks *Keyspace) Storable(set signature.Set) error {
	if err := ks.Writable(set); !errors.Is(err, ErrNothing) || len(set.Sketches) == 0 {
		return err
	}
	return nil
}

// Writable returns the reason why a set cannot be written, or nil.
func (ks *Keyspace) Writable(set signature.Set) error {
	switch {
	case ks.Closed.Load():
		return layout.ErrClosed
	case len(set.Signatures) == 0:
		return ErrNothing
	case len(set.Signatures) > journal.MaxKeys:
		return fmt.Errorf("%d signatures in one report, must be at most %d", len(set.Signatures), journal.MaxKeys)
	}
	return nil
}

// Count adds n to the counts of some keys.
func (ks *Keyspace) Count(hashes []filter.Hash, n uint32, now time.Time) error {
	t := layout.Target{Kind: layout.CountFilter, Gen: ks.Settings.Generation(layout.CountFilter, now)}
	own, err := ks.Store.OwnCounts(t.Gen)
	if err != nil {
		return err
	}
	for _, h := range hashes {
		if e := ks.countKey(own, t, h, min(n, filter.MaxValue)); e != nil {
			err = e
		}
	}
	return err
}

func (ks *Keyspace) countKey(own *filter.Counts, t layout.Target, h filter.Hash, n uint32) error {
	reached := own.Add(h, n)
	at, err := ks.Journal.Append(journal.Record{Target: t, Hashes: []filter.Hash{h}, Count: reached})
	p := own.Shape().Positions(h)
	ks.Outbox.Note(t, p[:])
	if err == nil {
		ks.Journal.Done(at)
	}
	return err
}
