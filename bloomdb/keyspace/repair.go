package keyspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/clock"
	"github.com/spambloom/spambloom/bloomdb/filter"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// Restore lists or revokes a message of the ledger, as of the time at. What other sites said after this
// site's word stays the last word, as far as this site's own filter still has that. A retouch that was made
// after the report still hides it. Unless another site had the last word, turns lead to its rung.
func (ks *Keyspace) Restore(t layout.Target, set signature.Set, class layout.Class, at time.Time, turns map[signature.Signature][]layout.Turn) error {
	for _, t := range ks.RestoreTargets(t, set, at) {
		if err := ks.restore(t, set, class, at, turns); err != nil {
			return err
		}
	}
	return nil
}

// RestoreTargets returns the generations in which a word of the ledger is missing: its own one, if that has not
// expired, and later ones in which this site's own filters say the opposite. These were begun while the clock
// was ahead, and the word was written to them, too, see listTargets. A generation that began long after
// the word is no such one: there the opposite may be newer than the ledger.
func (ks *Keyspace) RestoreTargets(t layout.Target, set signature.Set, at time.Time) (targets []layout.Target) {
	if !ks.Settings.Expired(t) {
		targets = append(targets, t)
	}
	for _, g := range ks.Store.View.Load().Reports {
		later := layout.Target{Kind: t.Kind, Gen: g.Num}
		isAhead := ks.Settings.Future(later, 0) || ks.Settings.Start(later).Sub(at) <= clock.StartGap
		if later.Gen > t.Gen && isAhead && !ks.Settings.Expired(later) && ks.contradicts(g, t.Kind, set) {
			targets = append(targets, later)
		}
	}
	return targets
}

// contradicts reports whether this site's own last word about one of a message's signatures in a generation is of
// the other kind. A message without signatures is compared by its sketches.
func (ks *Keyspace) contradicts(g *store.ReportGeneration, kind layout.Kind, set signature.Set) bool {
	differs := func(top int) bool { return top >= 0 && layout.IsRevocation(top) != (kind == layout.RevokedFilter) }
	if len(set.Signatures) == 0 {
		return slices.ContainsFunc(ks.groups(kind, set.Sketches), func(s sketch.KindGroups) bool { return differs(sketch.OwnTop(g, s, ks.Settings.Site)) })
	}
	return slices.ContainsFunc(set.Signatures, func(s signature.Signature) bool { return differs(g.OwnTop(ks.Ring.ReportHash(s))) })
}

// restore is Restore in one generation. more are its further records.
func (ks *Keyspace) restore(t layout.Target, set signature.Set, class layout.Class, at time.Time, turns map[signature.Signature][]layout.Turn, more ...journal.Record) error {
	most := layout.ReporterRungs
	g := ks.Store.View.Load().Report(t.Gen)
	isWord := g != nil && ks.isWord(t.Kind, set.Signatures, g.OwnTop)
	if isWord {
		most = layout.FirstRung
	}
	if !isWord || ks.isWord(t.Kind, set.Signatures, g.WriteTop) {
		more = append(more, ks.rungsAfter(t, set, turns)...)
	}
	r := journal.Record{Target: t, Class: ks.Store.KeptClass(class, t.Gen)}
	for _, s := range slices.Concat(set.Signatures, ks.domainSignatures(t.Kind, set)) {
		r.Hashes = append(r.Hashes, ks.Ring.ReportHash(s))
	}
	sketches, err := ks.restoredSketches(t, set)
	if err != nil {
		return err
	}
	rungs, err := ks.rungRecords(t, r.Hashes, most)
	if err != nil {
		return err
	}
	if err := ks.unmask(t, r.Hashes, at); err != nil {
		return err
	}
	before := ks.Store.OwnBitsSet()
	for _, r := range slices.Concat(sketches, []journal.Record{r}, rungs, more) {
		if err := ks.Store.Set(r, func(layout.Target, []uint64) {}); err != nil {
			return err
		}
	}
	if ks.Store.OwnBitsSet() == before {
		return nil
	}
	return ks.Outbox.Republish(ks.Settings.Dir, ks.Settings.Now())
}

// unmask takes back what hides a report of the time at. The journal may have the retouch, and be replayed
// over the snapshot of the mask, so it has this, too.
func (ks *Keyspace) unmask(t layout.Target, keys []filter.Hash, at time.Time) error {
	masks, release := ks.Store.Unmask(t, keys, at.Unix())
	defer release()
	if len(masks) == 0 {
		return nil
	}
	lsn, err := ks.Journal.Append(masks...)
	if err != nil {
		return err
	}
	defer ks.Journal.Done(lsn)
	return ks.Store.ApplyMasks(masks)
}

// restoredSketches makes the records of a message's sketches. Each one has its own last word: a
// near-duplicate may have been revoked, or only near-duplicates of the message have the quorum.
func (ks *Keyspace) restoredSketches(t layout.Target, set signature.Set) (records []journal.Record, err error) {
	g := ks.Store.View.Load().Report(t.Gen)
	for _, s := range ks.groups(t.Kind, set.Sketches) {
		most := layout.ReporterRungs
		if top := sketch.OwnTop(g, s, ks.Settings.Site); top >= 0 && layout.IsRevocation(top) == (t.Kind == layout.RevokedFilter) {
			most = layout.FirstRung
		}
		some, err := ks.Sketches.Records(t.Kind, []sketch.KindGroups{s}, t.Gen, most)
		if err != nil {
			return nil, err
		}
		records = append(records, some...)
	}
	return records, nil
}

// mendSnapshot loads the undamaged blocks of one of this site's own filters.
func (ks *Keyspace) mendSnapshot(l *store.OwnLoader, err error) error {
	var damage *folder.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	shape := layout.BitsShape(ks.Store.ShapeFor(l.Want))
	data, rest, err := repair.SalvageSnapshot(l.Path, ks.Settings.Site, snapshot.Section{Target: l.Want, Shape: shape})
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	sec, body, found := repair.SectionAt(data, ks.Settings.Site)
	length := int64(len(data)) + rest
	if ks.isOthers(l.Path) || found && sec.Target != l.Want {
		data, body, found = nil, 0, false // undamaged, but of another filter: its blocks are useless here
	}
	if !found {
		sec = snapshot.Section{Target: l.Want, Shape: shape}
	}
	sec.Period = int64(ks.Settings.Period(l.Want.Kind) / time.Second)
	if l.Bits == nil {
		l.Site = ks.Settings.Site
		if err := l.Section(sec); err != nil {
			return err
		}
	}
	sec.Shape = layout.BitsShape(l.Bits.Shape())
	lost := length - int64(len(data)) + int64(repair.SalvageBlocks(data[body:], sec, l))
	if err := folder.KeepDamaged(l.Path); err != nil {
		return fmt.Errorf("snapshot %s: %w", l.Path, err)
	}
	ks.Files.Mending.Note(l.Path, damage.Error(), fmt.Sprintf("%d of %d bytes: %s", lost, length, repair.CostOf(filepath.Base(l.Path))))
	return nil
}

// isOthers reports whether a snapshot belongs to another site or federation key.
func (ks *Keyspace) isOthers(path string) bool {
	s, keyID, ok := repair.SnapshotHead(path)
	return ok && (keyID != ks.Ring.KeyID || s.Origin.Site != ks.Settings.Site)
}

// mendSegment rewrites a segment of the journal with its undamaged records.
func (ks *Keyspace) mendSegment(path string, err error) error {
	var damage *folder.DamageError
	if !errors.As(err, &damage) {
		return err
	}
	data, lost, err := folder.Salvage(path, journal.MaxSegment)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	fresh := (&journal.Log{KeyID: ks.Ring.KeyID}).Header()
	length := int64(len(data)) + lost
	if id, ok := repair.JournalKey(data); ok && id != ks.Ring.KeyID {
		data, lost = nil, length // written by another site or key: its records are useless here
	}
	for at := len(fresh); at < len(data); {
		body, err := journal.FrameAt(data, at)
		if err == nil {
			_, _, err = journal.DecodeRecord(body)
		}
		if errors.Is(err, layout.ErrNewer) {
			return folder.Damaged(path, int64(at), err)
		}
		if err != nil {
			at, lost = at+1, lost+1
			continue
		}
		end := at + journal.FrameHeader + len(body)
		fresh = append(fresh, data[at:end]...)
		at = end
	}
	// Positions in the journal change. This is recorded first: if the repair is interrupted, the
	// next one finds the journal unchanged.
	if err := ks.Outbox.LackReports(ks.Settings.Dir, ks.Settings.Now()); err != nil {
		return err
	}
	if err := folder.KeepDamaged(path); err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	if err := renameio.WriteFile(path, fresh, 0o600, renameio.WithTempDir(ks.Settings.Dir)); err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	ks.Files.Mending.Note(path, damage.Error(), fmt.Sprintf("%d of %d bytes: %s", lost, length, repair.CostOf(filepath.Base(path))))
	return folder.Sync(ks.Settings.Dir)
}

// dropDomains discards all counts of link domains when those of one period are lost. The remaining
// ones would have campaigns without the sightings that make a domain ordinary. Earlier records of
// the journal are not counted again either.
func (ks *Keyspace) dropDomains() error {
	if !ks.Files.DomainsLost {
		return nil
	}
	return ks.Store.Change(func(v *store.View) error {
		return v.EditAll(func(g *store.ReportGeneration) { g.Domains = nil }, func(*store.CountGeneration) {})
	})
}

// dropOrigin discards what was read of another site's damaged file: listings may have been loaded
// without later revocations. The site's stream is then read from the beginning.
func (ks *Keyspace) dropOrigin(o layout.Origin) error {
	ks.Peers.Unload(o)
	return ks.Store.DropOrigin(o)
}
