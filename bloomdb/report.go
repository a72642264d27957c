package bloomdb

import (
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// maxKeys bounds the signatures of one report: a journal record holds them.
const maxKeys = 256

// Report lists all of set's signatures and sketches as spam of a class, which is kept
// where ReportOptions.Classes says so. When it returns nil, the report is on disk.
// ErrNothing, ErrNever, ErrFull, ErrClosed, or a wrapped I/O error, after which
// nothing was listed.
func (db *DB) Report(set signature.Set, class Class) error {
	err := db.writable(set)
	if err == nil {
		set, err = db.reportable(set)
	}
	if err != nil {
		return err
	}
	return db.list(spamFilter, set, db.reported(set.Sketches), class)
}

// Revoke takes back the listing of all of set's signatures, and of its
// near-duplicates by their sketches; durable like Report, with the same errors. An
// exact listing of another message is not touched.
func (db *DB) Revoke(set signature.Set) error {
	if err := db.writable(set); err != nil {
		return err
	}
	sketches := set.Sketches
	if len(db.messageHashes(set.Signatures)) == 0 {
		sketches = evenAskOnly(sketches)
	}
	return db.list(revokedFilter, set, db.reported(sketches), ClassOther)
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

// list writes the keys and the sketches' groups to the journal, waits for the disk,
// and then sets their bits: nobody sees a listing that a crash could take back.
func (db *DB) list(kind filterKind, set signature.Set, groups []kindGroups, class Class) error {
	t := target{kind, db.opt.generation(kind, db.opt.Now())}
	own, err := db.ownBits(t, db.shapeFor(t))
	if err != nil {
		return err
	}
	if err := db.fits(kind.String()+" filter", own.Shape(), own.Ones(), t); err != nil {
		return err
	}
	sketches, err := db.sketchRecords(groups, sketchListOf(kind), t.gen)
	if err != nil {
		return err
	}
	r := record{target: t, class: db.keptClass(class, t.gen)}
	for _, s := range slices.Concat(set.Signatures, db.domainSignatures(kind, set)) {
		r.hashes = append(r.hashes, db.reportHash(s))
	}
	campaign := kind == spamFilter && db.isCampaign(set)
	masks, release := db.heardThrough(t, r.hashes)
	defer release()
	at, err := db.journal.append(slices.Concat([]record{r}, sketches, masks)...)
	if err != nil {
		return err
	}
	defer db.journal.done(at)
	if err := db.journal.sync(at); err != nil {
		return err
	}
	if err := db.applyMasks(masks); err != nil {
		return err
	}
	for _, s := range sketches {
		if err := db.set(s, db.pub.note); err != nil {
			return err
		}
	}
	if err := db.set(r, db.pub.note); err != nil {
		return err
	}
	db.countListed(kind, set, campaign)
	return nil
}

// writable says why a set can't be written.
func (db *DB) writable(set signature.Set) error {
	switch {
	case db.closed.Load():
		return ErrClosed
	case len(set.Signatures) == 0:
		return ErrNothing
	case len(set.Signatures) > maxKeys:
		return fmt.Errorf("%d signatures in one report, must be at most %d", len(set.Signatures), maxKeys)
	}
	return nil
}

// Count adds n sightings of a message, under each of its counting keys, to the
// current counting generation. It does not wait for the disk: up to a second of
// counts is lost by a crash. An error (disk full) means that the count stands in
// memory only.
func (db *DB) Count(set signature.Set, n uint32) error {
	if n == 0 || len(set.Counting) == 0 {
		return nil
	}
	if db.closed.Load() {
		return ErrClosed
	}
	now := db.opt.Now()
	t := target{countFilter, db.opt.generation(countFilter, now)}
	own, err := db.ownCounts(t.gen, db.countsShape)
	if err != nil {
		return err
	}
	for _, s := range set.Counting {
		h := db.countHash(s)
		db.burst.add(h, n, now)
		if e := db.countKey(own, t, h, min(n, filter.MaxValue)); e != nil {
			err = e
		}
	}
	return err
}

func (db *DB) countKey(own *filter.Counts, t target, h filter.Hash, n uint32) error {
	reached := own.Add(h, n)
	at, err := db.journal.append(record{target: t, hashes: []filter.Hash{h}, count: reached})
	p := own.Shape().Positions(h)
	db.pub.note(t, p[:])
	if err == nil {
		db.journal.done(at)
	}
	return err
}
