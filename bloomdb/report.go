package bloomdb

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// maxKeys bounds the signatures of one report: a journal record holds them.
const maxKeys = 256

// Report lists all of set's signatures and sketches as spam of a class, which is stored if
// ReportOptions.Classes is set. When it returns nil, the report is on disk under every key.
// Errors: ErrNothing, ErrNever, ErrFull, ErrClosed, or a wrapped I/O error, after which
// nothing was listed; reporting it again does no harm.
func (db *DB) Report(set signature.Set, class Class) error {
	err := db.ks.storable(set)
	if err == nil {
		set, err = db.reportable(set)
	}
	if err != nil {
		return err
	}
	return db.list(spamFilter, set, class)
}

// Revoke takes back the listing of all of set's signatures, and of its
// near-duplicates by their sketches; durable like Report, with the same errors. An
// exact listing of another message is not touched.
func (db *DB) Revoke(set signature.Set) error {
	if err := db.ks.storable(set); err != nil {
		return err
	}
	if !slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return isOfMessage(s.Kind) }) {
		set.Sketches = evenAskOnly(set.Sketches)
	}
	return db.list(revokedFilter, set, ClassOther)
}

// evenAskOnly are sketches that are reported, too. A message that was cut off may have
// no signature of its text: what is only asked for can list it then, and nothing else
// stands for a revocation of it.
func evenAskOnly(sketches []signature.Sketch) []signature.Sketch {
	sketches = slices.Clone(sketches)
	for i := range sketches {
		sketches[i].AskOnly = false
	}
	return sketches
}

// list makes a report or a revocation in all keyspaces.
func (db *DB) list(kind filterKind, set signature.Set, class Class) error {
	campaign := kind == spamFilter && db.isCampaign(set)
	return db.update(func(ks *keyspace) (update, error) { return ks.prepareReport(kind, set, class, campaign) })
}

// prepareReport makes the records of a report or a revocation, and checks that there is
// room for them. A campaign's link domains are counted, see DomainOptions.
func (ks *keyspace) prepareReport(kind filterKind, set signature.Set, class Class, campaign bool) (update, error) {
	var reports []*report
	release := func() {
		for _, r := range reports {
			r.release()
		}
	}
	groups := ks.sketches.reported(set.Sketches)
	for _, t := range ks.listTargets(kind) {
		r, err := ks.newReport(t, set, groups, class)
		if err != nil {
			return update{release: release}, err
		}
		reports = append(reports, r)
	}
	return update{
		ready: ks.journal.ready,
		write: func() error {
			for _, r := range reports {
				if err := r.write(); err != nil {
					return err
				}
			}
			return nil
		},
		show: func() error {
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
		release: release,
	}, nil
}

// listTargets returns the generations that a report or a revocation is written to: the
// present one. A revocation is also written to the later ones that are held: they were
// begun while the clock was ahead, and would outweigh it until their time has come.
func (ks *keyspace) listTargets(kind filterKind) []target {
	now := ks.opt.generation(kind, ks.opt.Now())
	targets := []target{{kind, now}}
	if kind == revokedFilter {
		for _, g := range ks.store.view.Load().reports {
			if g.num > now {
				targets = append(targets, target{kind, g.num})
			}
		}
	}
	return targets
}

// report is a report or a revocation in one generation of a keyspace.
type report struct {
	ks         *keyspace
	signatures record
	sketches   []record
	masks      []record
	votes      []record
	at         lsn    // in the journal; 0: it is not there
	unlock     func() // lets others change masks
}

// newReport makes the records. The caller calls release in the end.
func (ks *keyspace) newReport(t target, set signature.Set, groups []kindGroups, class Class) (*report, error) {
	own, err := ks.store.ownBits(t, ks.store.shapeFor(t))
	if err != nil {
		return nil, err
	}
	if err := ks.opt.fits(t.kind.String()+" filter", own.Shape(), own.Ones(), t); err != nil {
		return nil, err
	}
	r := &report{ks: ks, signatures: record{target: t, class: ks.store.keptClass(class, t.gen)}}
	if r.sketches, err = ks.sketches.sketchRecords(groups, sketchListOf(t.kind), t.gen); err != nil {
		return nil, err
	}
	for _, s := range slices.Concat(set.Signatures, ks.domainSignatures(t.kind, set)) {
		r.signatures.hashes = append(r.signatures.hashes, ks.ring.reportHash(s))
	}
	r.votes = ks.votes.voteRecord(t.kind, set.Signatures, t.gen)
	r.masks, r.unlock = ks.store.unmask(t, r.signatures.hashes)
	return r, nil
}

// release ends the report, whether or not it was shown.
func (r *report) release() {
	if r.at != 0 {
		r.ks.journal.done(r.at)
	}
	r.unlock()
}

// write returns when the records are on disk.
func (r *report) write() (err error) {
	var records []record
	if len(r.signatures.hashes) > 0 {
		records = append(records, r.signatures)
	}
	if records = slices.Concat(records, r.sketches, r.masks, r.votes); len(records) == 0 {
		return nil // its sketch is known
	}
	if r.at, err = r.ks.journal.append(records...); err != nil {
		return err
	}
	return r.ks.journal.sync(r.at)
}

// show sets the bits: those of the sketches first, so that a reader that finds the listing
// finds them, too.
func (r *report) show() error {
	if err := r.ks.store.applyMasks(r.masks); err != nil {
		return err
	}
	for _, s := range r.sketches {
		if err := r.ks.store.set(s, r.ks.pub.note); err != nil {
			return err
		}
	}
	if err := r.ks.store.set(r.signatures, r.ks.pub.note); err != nil {
		return err
	}
	return r.ks.votes.applyVotes(r.votes)
}

// set sets the bits of a report or a revocation. It sets the class first, so that the class
// of a listing is never missing. It calls done with the positions that it has set.
func (st *store) set(r record, done func(t target, positions []uint64)) error {
	if r.target.kind == sketchFilter {
		if st.opt.unwanted(sketchFilter) {
			return nil
		}
		return st.setBits(r.target, stretchAll(r.seeds), done)
	}
	if r.class.Named() && st.opt.Reports.Classes {
		labels := make([]filter.Hash, len(r.hashes))
		for i, h := range r.hashes {
			labels[i] = st.ring.labels(h)[r.class]
		}
		if err := st.setBits(target{classFilter, r.target.gen}, labels, done); err != nil {
			return err
		}
	}
	return st.setBits(r.target, r.hashes, done)
}

func (st *store) setBits(t target, keys []filter.Hash, done func(t target, positions []uint64)) error {
	own, err := st.ownBits(t, st.shapeFor(t))
	if err != nil {
		return err
	}
	var positions []uint64
	for _, h := range keys {
		own.Set(h)
		positions = own.Shape().Positions(h, positions)
	}
	done(t, positions)
	return nil
}

// storable is writable for a set that was reportable before: of a message of which only
// near-duplicates were reported, it may contain the sketches alone.
func (ks *keyspace) storable(set signature.Set) error {
	if err := ks.writable(set); !errors.Is(err, ErrNothing) || len(set.Sketches) == 0 {
		return err
	}
	return nil
}

// writable returns why a set cannot be written.
func (ks *keyspace) writable(set signature.Set) error {
	switch {
	case ks.closed.Load():
		return ErrClosed
	case len(set.Signatures) == 0:
		return ErrNothing
	case len(set.Signatures) > maxKeys:
		return fmt.Errorf("%d signatures in one report, must be at most %d", len(set.Signatures), maxKeys)
	}
	return nil
}

// Count adds n sightings of a message, under each of its counting keys, to the
// current counting generation. It does not wait for the disk: a crash loses up to a
// second of counts. After an error (disk full) the count is in memory only.
func (db *DB) Count(set signature.Set, n uint32) error {
	if n == 0 || len(set.Counting) == 0 {
		return nil
	}
	if db.ks.closed.Load() {
		return ErrClosed
	}
	now := db.ks.opt.Now()
	return db.all(func(ks *keyspace) error {
		hashes := make([]filter.Hash, 0, 8)
		for _, s := range set.Counting {
			hashes = append(hashes, ks.ring.countHash(s))
		}
		if ks == db.ks {
			for _, h := range hashes {
				db.burst.add(h, n, now)
			}
		}
		return ks.count(hashes, n, now)
	})
}

// count adds n to the counts of some keys.
func (ks *keyspace) count(hashes []filter.Hash, n uint32, now time.Time) error {
	t := target{countFilter, ks.opt.generation(countFilter, now)}
	own, err := ks.store.ownCounts(t.gen, ks.store.countsShape)
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

func (ks *keyspace) countKey(own *filter.Counts, t target, h filter.Hash, n uint32) error {
	reached := own.Add(h, n)
	at, err := ks.journal.append(record{target: t, hashes: []filter.Hash{h}, count: reached})
	p := own.Shape().Positions(h)
	ks.pub.note(t, p[:])
	if err == nil {
		ks.journal.done(at)
	}
	return err
}
