package keyspace

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/signature"
)

// newEntry converts a message to an entry.
func (ks *Keyspace) newEntry(set signature.Set, note string) *never.Entry {
	e := &never.Entry{Name: layout.NewShortID(set.Signatures[0]), At: ks.Settings.Now().Unix(), Note: note}
	for _, s := range set.Signatures {
		e.Exact = append(e.Exact, never.Signature{Kind: s.Kind, Hash: ks.Ring.ReportHash(s)})
	}
	for _, s := range never.OfMessage(set.Sketches) {
		keys := ks.Never.Keyed(s)
		if kept := keys[:min(len(keys), never.MostKeys)]; len(kept) > 0 {
			e.Sketches = append(e.Sketches, never.Sketch{Kind: s.Kind, Keys: slices.Clone(kept), All: len(kept) == len(keys)})
		}
	}
	return e
}

// PrepareNever makes the entry if there is room. No other goroutine can change the list until
// release is called.
func (ks *Keyspace) PrepareNever(set signature.Set, note string) (never.Declared, Update, error) {
	ks.Never.Changing.Lock()
	e := ks.newEntry(set, note)
	return e.Public(), Update{
		Write:   func() error { return never.Write(ks.Settings.Dir, ks.Ring.KeyID, e) },
		Show:    func() error { ks.Never.Put(e); return nil },
		Release: ks.Never.Changing.Unlock,
	}, ks.Never.Fits(e)
}

func (ks *Keyspace) RemoveNeverSet(set signature.Set) ([]never.Declared, error) {
	onlyParts := !slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return !never.IsPart(s.Kind) })
	asked := make(map[filter.Hash]bool)
	for _, s := range set.Signatures {
		if onlyParts || !never.IsPart(s.Kind) {
			asked[ks.Ring.ReportHash(s)] = true
		}
	}
	return ks.RemoveNever(func(e *never.Entry) bool {
		return slices.ContainsFunc(e.Exact, func(s never.Signature) bool { return asked[s.Hash] })
	})
}

func (ks *Keyspace) RemoveNever(chosen func(*never.Entry) bool) (removed []never.Declared, err error) {
	ks.Never.Changing.Lock()
	defer ks.Never.Changing.Unlock()
	var names []layout.ShortID
	for _, e := range ks.Never.All() {
		if !chosen(e) {
			continue
		}
		if err = os.Remove(never.Path(ks.Settings.Dir, e.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			err = fmt.Errorf("never-list: %w", err)
			break
		}
		err = nil
		names = append(names, e.Name)
		removed = append(removed, e.Public())
	}
	if len(names) == 0 {
		return nil, err
	}
	ks.Never.Remove(names)
	return removed, errors.Join(err, folder.Sync(ks.Settings.Dir))
}
