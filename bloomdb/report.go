package bloomdb

import (
	"errors"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// maxKeys bounds the signatures of one report: a journal record holds them.
const maxKeys = 256

// Report lists all of set's signatures and sketches as spam of a class, which is kept
// where ReportOptions.Classes says so. When it returns nil, the report is on disk, in
// the previous key's database too. ErrNothing, ErrNever, ErrFull, ErrClosed, or a
// wrapped I/O error, after which nothing was listed; reporting it again does no harm.
func (db *DB) Report(set signature.Set, class Class) error {
	err := db.storable(set)
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
	if err := db.storable(set); err != nil {
		return err
	}
	if len(db.messageHashes(set.Signatures)) == 0 {
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

// list writes a report or a revocation to the journal, waits for the disk, and then
// sets its bits: nobody sees a listing that a crash could take back. Where there are
// two databases, no bit of either is set before both have it on disk, and nothing is
// written while one of them has a fault. The write by which the second one's fault is
// found leaves the record in the first one's journal: a restart may bring back there
// what was acknowledged to nobody.
func (db *DB) list(kind filterKind, set signature.Set, class Class) error {
	campaign := kind == spamFilter && db.isCampaign(set)
	var postings []*posting
	for _, d := range db.both() {
		for i, t := range d.listTargets(kind) {
			p, err := d.newPosting(t, set, d.reported(set.Sketches), class)
			if err != nil {
				return err
			}
			defer p.release()
			p.again = i > 0
			postings = append(postings, p)
		}
	}
	if err := db.ready(); err != nil {
		return err
	}
	return post(postings, func(d *DB) { d.countListed(kind, set, campaign) })
}

// post makes postings durable, then seen; done follows each.
func post(postings []*posting, done func(*DB)) error {
	for _, p := range postings {
		if err := p.write(); err != nil {
			return err
		}
	}
	for _, p := range postings {
		if err := p.show(); err != nil {
			return err
		}
		if !p.again {
			done(p.db)
		}
	}
	return nil
}

// listTargets are the generations that a report or a revocation is written to: the present
// one. A revocation is written to the later ones that are held, too: they were begun while
// the clock was ahead, and would outweigh it until their time has come.
func (db *DB) listTargets(kind filterKind) []target {
	now := db.opt.generation(kind, db.opt.Now())
	targets := []target{{kind, now}}
	if kind == revokedFilter {
		for _, g := range db.view.Load().reports {
			if g.num > now {
				targets = append(targets, target{kind, g.num})
			}
		}
	}
	return targets
}

// posting is a report or a revocation on its way into one database.
type posting struct {
	db       *DB
	report   record
	sketches []record
	masks    []record
	votes    []record
	again    bool   // another generation's posting of the same revocation came before
	at       lsn    // in the journal; 0: not there
	release  func() // must be called in the end
}

// newPosting makes the records, and finds what speaks against them.
func (db *DB) newPosting(t target, set signature.Set, groups []kindGroups, class Class) (*posting, error) {
	kind := t.kind
	own, err := db.ownBits(t, db.shapeFor(t))
	if err != nil {
		return nil, err
	}
	if err := db.fits(kind.String()+" filter", own.Shape(), own.Ones(), t); err != nil {
		return nil, err
	}
	p := &posting{db: db, report: record{target: t, class: db.keptClass(class, t.gen)}}
	if p.sketches, err = db.sketchRecords(groups, sketchListOf(kind), t.gen); err != nil {
		return nil, err
	}
	for _, s := range slices.Concat(set.Signatures, db.domainSignatures(kind, set)) {
		p.report.hashes = append(p.report.hashes, db.reportHash(s))
	}
	p.votes = db.voteRecord(kind, set.Signatures, t.gen)
	masks, unlock := db.heardThrough(t, p.report.hashes)
	p.masks = masks
	p.release = func() {
		if p.at != 0 {
			db.journal.done(p.at)
		}
		unlock()
	}
	return p, nil
}

// write returns when the records are on disk.
func (p *posting) write() (err error) {
	var records []record
	if len(p.report.hashes) > 0 {
		records = append(records, p.report)
	}
	if records = slices.Concat(records, p.sketches, p.masks, p.votes); len(records) == 0 {
		return nil // its sketch is known
	}
	if p.at, err = p.db.journal.append(records...); err != nil {
		return err
	}
	return p.db.journal.sync(p.at)
}

// show sets the bits: those of the sketches first, so that who sees the listing sees
// them, too.
func (p *posting) show() error {
	if err := p.db.applyMasks(p.masks); err != nil {
		return err
	}
	for _, s := range p.sketches {
		if err := p.db.set(s, p.db.pub.note); err != nil {
			return err
		}
	}
	if err := p.db.set(p.report, p.db.pub.note); err != nil {
		return err
	}
	return p.db.applyVotes(p.votes)
}

// set sets the bits of a report or a revocation. It sets the label first, so that the class
// of a listing is never missing. It calls done with the positions that it has set.
func (db *DB) set(r record, done func(t target, positions []uint64)) error {
	if r.target.kind == sketchFilter {
		if db.unwanted(sketchFilter) {
			return nil
		}
		return db.setBits(r.target, stretchAll(r.seeds), done)
	}
	if r.class.Named() && db.opt.Reports.Classes {
		labels := make([]filter.Hash, len(r.hashes))
		for i, h := range r.hashes {
			labels[i] = db.labels(h)[r.class]
		}
		if err := db.setBits(target{classFilter, r.target.gen}, labels, done); err != nil {
			return err
		}
	}
	return db.setBits(r.target, r.hashes, done)
}

func (db *DB) setBits(t target, keys []filter.Hash, done func(t target, positions []uint64)) error {
	own, err := db.ownBits(t, db.shapeFor(t))
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

// storable is writable for what was found to be reportable before: of a message of which
// only near-duplicates were reported, it may be the sketches alone.
func (db *DB) storable(set signature.Set) error {
	if err := db.writable(set); !errors.Is(err, ErrNothing) || len(set.Sketches) == 0 {
		return err
	}
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
	return db.inBoth(func(d *DB) error { return d.count(set, n) })
}

func (db *DB) count(set signature.Set, n uint32) error {
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
