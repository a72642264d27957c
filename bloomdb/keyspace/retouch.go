package keyspace

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/signature"
)

// Retouching is the cost of a retouch of one message.
type Retouching struct {
	// Listings are the listings that the retouch removes: for each of the message's signatures,
	// the generations that list it, newest first. Empty if none does.
	Listings []RetouchedListing

	// Loss is the expected number of reported signatures that are no longer found, if the
	// message itself was never reported and was found by their bits.
	Loss float64
	// LossOfOthers is the expected number if the message was reported, without its own signatures.
	LossOfOthers float64
}

// RetouchedListing is one signature in one generation.
type RetouchedListing struct {
	Signature    signature.Signature
	Generation   int64
	Start        time.Time // start of the generation's period
	Loss         float64   // as in Retouching; 0 if the bit was masked already
	LossOfOthers float64
}

// PrepareRetouch chooses the bits to mask. No other goroutine can change masks until release is called.
func (ks *Keyspace) PrepareRetouch(set signature.Set) (Update, Retouching, error) {
	ks.Store.RetouchMu.Lock()
	var at folder.LSN // position of the records; 0: they are not in the journal
	u := Update{Ready: ks.Journal.Ready, Release: func() {
		if at != 0 {
			ks.Journal.Done(at)
		}
		ks.Store.RetouchMu.Unlock()
	}}
	p, err := ks.planRetouch(set)
	u.Write = func() (err error) {
		if len(p.records) == 0 {
			return nil
		}
		if at, err = ks.Journal.Append(p.records...); err != nil {
			return err
		}
		return ks.Journal.Sync(at)
	}
	u.Show = func() error { return ks.Store.ApplyMasks(p.records) }
	return u, p.Retouching, err
}

// retouchPlan is a Retouching and its journal records.
type retouchPlan struct {
	Retouching
	records []journal.Record
}

// Add adds the losses in another keyspace. The sum is an upper bound: a signature that is listed in
// both keyspaces is still found in the other one.
func (r *Retouching) Add(o Retouching) {
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

// planRetouch chooses the bits to mask. The caller holds RetouchMu.
func (ks *Keyspace) planRetouch(set signature.Set) (p retouchPlan, err error) {
	v := ks.Store.Current()
	now := ks.Settings.Now()
	for i, g := range v.Reports {
		c := ks.Store.Chooser(g)
		var keys []journal.RetouchedKey
		for _, s := range set.Signatures {
			h := ks.Ring.ReportHash(s)
			if !v.Retouchable(i, h, ks.Settings.Site) {
				continue
			}
			bit, load, ok := c.Choose(h)
			if !ok {
				continue // cannot happen: no position is forbidden
			}
			keys = append(keys, journal.RetouchedKey{Hash: h, Bit: bit, Name: layout.NewShortID(s), At: now.Unix()})
			p.Listings = append(p.Listings, RetouchedListing{s, g.Num, ks.Settings.Start(layout.Target{Kind: layout.SpamFilter, Gen: g.Num}), load.Keys, load.Others})
			p.Loss += load.Keys
			p.LossOfOthers += load.Others
		}
		held := 0
		if g.Mask != nil {
			held, _, _ = g.Mask.Size()
		}
		if held+len(keys) > mask.MaxKeys {
			return retouchPlan{}, fmt.Errorf("mask of spam generation %d: %w: %d signatures are retouched, must be at most %d", g.Num, layout.ErrFull, held, mask.MaxKeys)
		}
		p.records = mask.AppendRecords(p.records, g.Num, keys)
	}
	return p, nil
}

// SortAs sorts the listings by the order of the set's signatures. Listings of one signature stay
// together, newest generation first.
func (r *Retouching) SortAs(set signature.Set) {
	slices.SortStableFunc(r.Listings, func(a, b RetouchedListing) int {
		return cmp.Or(slices.Index(set.Signatures, a.Signature)-slices.Index(set.Signatures, b.Signature),
			cmp.Compare(b.Generation, a.Generation))
	})
}

// RetouchedKey is a signature that is retouched in one generation.
type RetouchedKey struct {
	ID         string // as signature.Signature.ID writes it
	Generation int64
	Start      time.Time // start of the generation's period
	At         time.Time // when it was retouched
}

func (ks *Keyspace) RetouchedKeys() []RetouchedKey {
	var list []RetouchedKey
	v := ks.Store.Current()
	for _, g := range v.Reports {
		if g.Mask == nil {
			continue
		}
		for _, k := range g.Mask.All() {
			list = append(list, RetouchedKey{k.Name.String(), g.Num, ks.Settings.Start(layout.Target{Kind: layout.SpamFilter, Gen: g.Num}), layout.UnixTime(k.At)})
		}
	}
	return list
}
