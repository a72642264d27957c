package bloomdb

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/signature"
)

// Retouching is the cost of a retouch of one message.
type Retouching struct {
	// Listings are those that the message is taken out of: for each of its
	// signatures, the generations that list it, newest first. Empty where nothing
	// lists the message.
	Listings []RetouchedListing

	// Loss is how many reported signatures, in expectation, are no longer found, if
	// the message itself was never reported: then it was found by their bits.
	Loss float64
	// LossOfOthers is the same if it was reported: its own are not counted.
	LossOfOthers float64
}

// RetouchedListing is one signature in one generation.
type RetouchedListing struct {
	Signature    signature.Signature
	Generation   int64
	Start        time.Time // begin of the generation's period
	Loss         float64   // as in Retouching; 0 where the bit was masked before
	LossOfOthers float64
}

// Retouch takes a message out of the listings, here only: it is not published
// (Donnet, Baynat, Friedman, "Retouched Bloom Filters", 2006). In every live
// generation that lists one of its signatures, and has no revocation of it, one
// of its bits is masked, in this site's spam filter and in those of all others:
// the one by which the fewest other listings are lost (minimum-FN selection,
// section IV). No report of another site lists the signature in that generation
// again. An own report does: its bits are unmasked, and other retouched signatures
// that used them get other bits.
//
// When it returns nil, that is on disk. ErrNothing, ErrFull, ErrClosed, or a
// wrapped I/O error, after which nothing was retouched.
func (db *DB) Retouch(set signature.Set) (Retouching, error) {
	if err := db.ks.writable(set); err != nil {
		return Retouching{}, err
	}
	var sum Retouching
	err := db.update(func(ks *keyspace) (update, error) {
		u, r, err := ks.prepareRetouch(set)
		sum.add(r)
		return u, err
	})
	if err != nil {
		return Retouching{}, err
	}
	sum.sortAs(set)
	return sum, nil
}

// PlanRetouch returns what Retouch would do, and does nothing. Errors as for Retouch.
func (db *DB) PlanRetouch(set signature.Set) (Retouching, error) {
	if err := db.ks.writable(set); err != nil {
		return Retouching{}, err
	}
	var sum Retouching
	for _, ks := range db.keys {
		u, r, err := ks.prepareRetouch(set)
		defer u.release()
		if err != nil {
			return Retouching{}, err
		}
		sum.add(r)
	}
	sum.sortAs(set)
	return sum, nil
}

// prepareRetouch chooses the bits. Until release is called, nobody else changes masks.
func (ks *keyspace) prepareRetouch(set signature.Set) (update, Retouching, error) {
	ks.store.retouchMu.Lock()
	var at lsn // of the records; 0: they are not in the journal
	u := update{ready: ks.journal.ready, release: func() {
		if at != 0 {
			ks.journal.done(at)
		}
		ks.store.retouchMu.Unlock()
	}}
	p, err := ks.planRetouch(set)
	u.write = func() (err error) {
		if len(p.records) == 0 {
			return nil
		}
		if at, err = ks.journal.append(p.records...); err != nil {
			return err
		}
		return ks.journal.sync(at)
	}
	u.show = func() error { return ks.store.applyMasks(p.records) }
	return u, p.Retouching, err
}

// retouchPlan is a Retouching and the journal records that make it so.
type retouchPlan struct {
	Retouching
	records []record
}

// add sums up what is lost in several keyspaces. It is an upper bound: what is listed in
// both keeps its listing in the other one.
func (r *Retouching) add(o Retouching) {
	r.Loss += o.Loss
	r.LossOfOthers += o.LossOfOthers
	for _, l := range o.Listings {
		i := slices.IndexFunc(r.Listings, func(k RetouchedListing) bool {
			return k.Signature == l.Signature && k.Generation == l.Generation
		})
		if i < 0 {
			r.Listings = append(r.Listings, l)
			continue
		}
		r.Listings[i].Loss += l.Loss
		r.Listings[i].LossOfOthers += l.LossOfOthers
	}
}

// planRetouch chooses the bits. retouchMu is held.
func (ks *keyspace) planRetouch(set signature.Set) (p retouchPlan, err error) {
	v := ks.store.current()
	now := ks.opt.Now()
	for i, g := range v.reports {
		c := ks.store.chooser(g)
		var keys []retouchedKey
		for _, s := range set.Signatures {
			h := ks.ring.reportHash(s)
			if !v.retouchable(i, h, ks.opt.Site) {
				continue
			}
			bit, load, ok := c.choose(h)
			if !ok {
				continue // it can't be: nothing is forbidden
			}
			keys = append(keys, retouchedKey{h, bit, newShortID(s), now.Unix()})
			p.Listings = append(p.Listings, RetouchedListing{s, g.num, ks.opt.start(target{spamFilter, g.num}), load.Keys, load.Others})
			p.Loss += load.Keys
			p.LossOfOthers += load.Others
		}
		held := 0
		if g.mask != nil {
			held, _, _ = g.mask.size()
		}
		if held+len(keys) > maxRetouched {
			return retouchPlan{}, fmt.Errorf("mask of spam generation %d: %w: %d signatures are retouched, at most %d", g.num, ErrFull, held, maxRetouched)
		}
		p.records = appendMaskRecords(p.records, g.num, keys)
	}
	return p, nil
}

// sortAs puts the listings into the order of the set's signatures, those of one newest
// generation first.
func (r *Retouching) sortAs(set signature.Set) {
	slices.SortStableFunc(r.Listings, func(a, b RetouchedListing) int {
		return cmp.Or(slices.Index(set.Signatures, a.Signature)-slices.Index(set.Signatures, b.Signature),
			cmp.Compare(b.Generation, a.Generation))
	})
}

// retouchable reports whether generation i lists a key, or would but for the bit of
// another one, which may be given back.
func (v *view) retouchable(i int, h filter.Hash, self string) bool {
	g := v.reports[i]
	revoked := func(g *reportGeneration) bool { return g.revoked.has(h) }
	return g.spam.has(h) && len(g.spam.sites(h, self)) > 0 && !g.mask.retouched(h) &&
		!slices.ContainsFunc(v.reports[:i+1], revoked)
}

// bitChooser finds the bit of a key in one generation that costs the least.
type bitChooser struct {
	shape       filter.BitsShape
	own, others *filter.Bits
	mask        *mask
	forbidden   map[uint64]bool // positions that must not be masked
	chosen      map[uint64]bool // those that this chooser has given out
}

func (st *store) chooser(g *reportGeneration) *bitChooser {
	return &bitChooser{
		shape: st.shapeFor(target{spamFilter, g.num}), own: g.spam.own, others: g.spam.others, mask: g.mask,
		forbidden: make(map[uint64]bool), chosen: make(map[uint64]bool),
	}
}

// choose returns the number of a key's bit, and how many others it costs. A bit
// that is masked already costs nothing. It is not ok when all are forbidden.
func (c *bitChooser) choose(h filter.Hash) (bit uint8, least filter.Load, ok bool) {
	least.Keys = math.Inf(1)
	positions := c.shape.Positions(h, nil)
	for i, pos := range positions {
		if c.forbidden[pos] {
			continue
		}
		var load filter.Load
		if !c.chosen[pos] && !c.mask.masks(pos) {
			load = filter.LoadAt(pos, c.own, c.others)
		}
		if load.Keys < least.Keys {
			bit, least, ok = uint8(i), load, true
		}
	}
	if ok {
		c.chosen[positions[bit]] = true
	}
	return bit, least, ok
}

// unmask returns the changes of the mask by which an own report of some keys is found: their
// own retouches are taken back, and other keys that rested on their bits get other bits.
// Until release is called, nobody else changes masks.
func (st *store) unmask(t target, keys []filter.Hash) (records []record, release func()) {
	release = func() {}
	g := st.view.Load().report(t.gen)
	if t.kind != spamFilter || g == nil || !slices.ContainsFunc(keys, g.mask.hides) {
		return nil, release
	}
	st.retouchMu.Lock()
	c := st.chooser(g)
	for _, h := range keys {
		for _, pos := range c.shape.Positions(h, nil) {
			c.forbidden[pos] = true
		}
	}
	changed := g.mask.restingOn(c.forbidden)
	for i := range changed {
		k := &changed[i]
		bit, _, ok := c.choose(k.hash)
		switch {
		case slices.Contains(keys, k.hash):
			k.bit = takenBack
		case ok:
			k.bit = bit
		default: // all its bits are the reported ones: nobody can tell it from them
			k.bit = takenBack
			st.opt.Log.Warn("a retouch is taken back: a report has the same bits", "id", k.name.String(), "generation", t.gen)
		}
	}
	return appendMaskRecords(nil, t.gen, changed), st.retouchMu.Unlock
}

// keysPerMaskRecord is what fits into a journal record.
const keysPerMaskRecord = (maxRecord - 64) / retouchedSize

// appendMaskRecords writes what is said of keys of one generation as records.
func appendMaskRecords(records []record, gen int64, keys []retouchedKey) []record {
	for some := range slices.Chunk(keys, keysPerMaskRecord) {
		records = append(records, record{target: target{spamFilter, gen}, retouched: some})
	}
	return records
}

// applyMasks takes records over into the masks of their generations.
func (st *store) applyMasks(records []record) error {
	for _, r := range records {
		m, err := st.maskOf(r.target)
		if err != nil {
			return err
		}
		m.set(r.retouched)
	}
	return nil
}

// maskOf returns a generation's mask, made where missing.
func (st *store) maskOf(t target) (*mask, error) {
	in := func(g *reportGeneration) **mask { return &g.mask }
	return findOrMake(st, t.gen, inReports(in), func() (*mask, error) { return newMask(st.shapeFor(t)), nil })
}

// RetouchedKey is a signature that is retouched in one generation.
type RetouchedKey struct {
	ID         string // as signature.Signature.ID writes it
	Generation int64
	Start      time.Time // begin of the generation's period
	At         time.Time // when it was retouched
}

// Retouched lists the retouched signatures of live generations: the newest
// generation first, in it the latest retouch.
func (db *DB) Retouched() []RetouchedKey {
	var list []RetouchedKey
	for i, ks := range db.keys {
		for _, k := range ks.retouchedKeys() {
			known := slices.ContainsFunc(list, func(o RetouchedKey) bool { return o.ID == k.ID && o.Generation == k.Generation })
			if !known || i == 0 {
				list = append(list, k)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b RetouchedKey) int {
		return cmp.Or(cmp.Compare(b.Generation, a.Generation), b.At.Compare(a.At))
	})
	return list
}

func (ks *keyspace) retouchedKeys() []RetouchedKey {
	var list []RetouchedKey
	v := ks.store.current()
	for _, g := range v.reports {
		if g.mask == nil {
			continue
		}
		for _, k := range g.mask.all() {
			list = append(list, RetouchedKey{k.name.String(), g.num, ks.opt.start(target{spamFilter, g.num}), unixTime(k.at)})
		}
	}
	return list
}
