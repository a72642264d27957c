package keyspace

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spambloom/spambloom/bloomdb/commonness"
	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/bloomdb/journal"
	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/mask"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/repair"
	"github.com/spambloom/spambloom/bloomdb/snapshot"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/bloomdb/vote"
)

// Load reads the state folder into an empty database: identity, snapshots, then the journal.
func (ks *Keyspace) Load() error {
	id, err := ks.loadIdentity()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(ks.Settings.Dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	ks.Files.FindDamaged(entries)
	if err := repair.CheckNames(id, ks.Settings.Dir, entries); err != nil {
		return err
	}
	if err := errors.Join(repair.CheckIdentityAge(id, ks.Settings.Dir, entries), ks.checkPresent(id, entries), ks.checkCompanions(id)); err != nil {
		return err
	}
	listed, err := ks.listedSegments(id)
	if err != nil {
		return err
	}
	segments := make(map[uint32]int64)
	if err := ks.loadFiles(entries, segments); err != nil {
		return err
	}
	if err := ks.checkSegments(listed, segments); err != nil {
		return err
	}
	if err := ks.loadBesideFilters(entries, id); err != nil {
		return err
	}
	if err := ks.replay(segments, listed); err != nil {
		return err
	}
	if err := ks.checkJournal(segments); err != nil {
		return err
	}
	if ks.Journal, err = journal.Open(ks.Settings.Dir, ks.Ring.KeyID, segments, id.LastSegment(), ks.newFile); err != nil {
		return err
	}
	ks.Outbox.Journal = ks.Journal
	ks.Outbox.Opened(ks.Journal.Mark(), ks.Files.DomainsLost)
	if len(ks.Files.DamagedFiles()) > 0 {
		ks.lastSave = ks.lastSave.Add(-saveInterval) // Save soon: the identity must not name files that were set aside
	}
	return nil
}

// loadIdentity reads who this site is, and where it stands with other sites. A new folder gets an
// identity.
func (ks *Keyspace) loadIdentity() (folder.Identity, error) {
	id, err := folder.ReadIdentity(ks.Settings.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		id, err = ks.begin()
	}
	if err == nil {
		err = id.Check(ks.Settings, ks.Ring.KeyID)
	}
	if err == nil {
		err = ks.Peers.Begin(id)
	}
	if err != nil {
		return id, err
	}
	ks.Outbox.Begin(id, ks.Settings.Exchange)
	return id, nil
}

// loadBesideFilters reads the files of what is no filter: masks, never-list, votes and what is
// common here.
func (ks *Keyspace) loadBesideFilters(entries []os.DirEntry, id folder.Identity) error {
	if err := ks.dropDomains(); err != nil {
		return err
	}
	if err := ks.loadMasks(entries, id.Snapshots); err != nil {
		return err
	}
	if err := ks.loadNever(entries); err != nil {
		return err
	}
	return errors.Join(ks.Files.LoadGenerations(vote.OwnVotesFiles, entries, id.Snapshots, ks.Votes.LoadOwn),
		ks.Files.LoadGenerations(commonness.Files, entries, id.Snapshots, ks.Common.Load),
		ks.Votes.Load(entries, ks.Files.Contain))
}

// checkPresent returns an error for a snapshot that is missing: otherwise its loss would go
// unnoticed.
func (ks *Keyspace) checkPresent(id folder.Identity, entries []os.DirEntry) error {
	for _, name := range id.Snapshots {
		if t, own := snapshot.ParseOwnPath(name); own && ks.Settings.Unwanted(t.Kind) {
			continue
		}
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
			continue
		}
		if err := ks.Files.Missing(name, entries); err != nil {
			return err
		}
	}
	return nil
}

// begin creates the identity of a new folder. If the folder contains other state, its identity was
// lost.
func (ks *Keyspace) begin() (folder.Identity, error) {
	entries, err := os.ReadDir(ks.Settings.Dir)
	if err != nil {
		return folder.Identity{}, fmt.Errorf("state folder: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".snapshot") || strings.HasPrefix(e.Name(), "journal-") {
			return folder.Identity{}, folder.Damaged(folder.IdentityPath(ks.Settings.Dir), 0, fmt.Errorf("identity is missing, but %s exists", e.Name()))
		}
	}
	id := folder.Identity{
		Version:      folder.IdentityVersion,
		Site:         ks.Settings.Site,
		Epoch:        folder.NewEpoch(ks.Settings.Now()),
		KeyID:        hex.EncodeToString(ks.Ring.KeyID[:]),
		ReportPeriod: int64(ks.Settings.Reports.Period / time.Second),
		CountPeriod:  int64(ks.Settings.Counts.Period / time.Second),
		Relist:       ks.relists,
		Snapshots:    []string{journal.SegmentsFile},
	}
	// The list is written before the identity that names it.
	list := journal.SegmentList{Dir: ks.Settings.Dir, KeyID: ks.Ring.KeyID}
	if err := list.Change(func(map[uint32]int64) {}); err != nil {
		return id, err
	}
	return id, id.Write(ks.Settings.Dir)
}

// loadFiles loads the files of the folder. Most of the data is in this site's own snapshots. They
// are read by one goroutine for each processor.
func (ks *Keyspace) loadFiles(entries []os.DirEntry, segments map[uint32]int64) error {
	own := make(map[string]layout.Target) // by path
	for _, e := range entries {
		t, isOwn, err := ks.loadFile(e.Name(), segments)
		if err != nil {
			return err
		}
		if isOwn {
			own[filepath.Join(ks.Settings.Dir, e.Name())] = t
		}
	}
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for path, t := range own {
		reading.Go(func() error { return ks.loadOwn(path, t) })
	}
	return reading.Wait()
}

// loadFile loads one file of the folder. It reads another site's snapshot, returns the target of an
// own one, records a journal segment, and removes a temporary file left by a crash. It ignores all
// other files.
func (ks *Keyspace) loadFile(name string, segments map[uint32]int64) (t layout.Target, own bool, err error) {
	path := filepath.Join(ks.Settings.Dir, name)
	if n, ok := journal.ParseSegment(name); ok {
		segments[n] = 0
		return t, false, nil
	}
	if isTemporary(name) {
		return t, false, os.Remove(path)
	}
	if !strings.HasSuffix(name, ".snapshot") {
		return t, false, nil
	}
	if ks.Store.IsDropped(name) { // a crash prevented the removal of its file
		return t, false, os.Remove(path)
	}
	if repair.IsMisnamed(name) {
		return t, false, ks.Files.Contain(folder.Damaged(path, 0, repair.ErrName))
	}
	ks.Files.Saved[path] = folder.Saved{} // on disk; the next Save writes or removes it
	if t, own = snapshot.ParseOwnPath(name); own {
		return t, !ks.Settings.Unwanted(t.Kind), nil // the next Save removes an unwanted file
	}
	s, err := snapshot.Read(path, ks.Ring.KeyID, func(s *snapshot.File) snapshot.Loader { return &store.SiteLoader{Store: ks.Store, Origin: s.Origin} })
	if err == nil {
		err = ks.checkOrigin(path, t, s.Origin)
	}
	if err != nil {
		if err := ks.Files.Contain(err); err != nil {
			return t, false, err
		}
		return t, false, ks.dropOrigin(s.Origin)
	}
	ks.Peers.Restore(s.Origin, s.Seq, s.Gaps, s.Hole)
	return t, false, nil
}

// isTemporary reports whether a file is one that a crash left unfinished.
func isTemporary(name string) bool {
	if !strings.HasPrefix(name, ".") {
		return false
	}
	for _, prefix := range []string{".identity", ".never-", ".clock", "." + journal.SegmentsFile} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.Contains(name, ".snapshot") || strings.Contains(name, ".mask") || strings.Contains(name, ".votes") || strings.Contains(name, ".set")
}

// loadOwn reads one of this site's own filters.
func (ks *Keyspace) loadOwn(path string, t layout.Target) error {
	own := &store.OwnLoader{Store: ks.Store, Want: t, Path: path}
	s, err := snapshot.Read(path, ks.Ring.KeyID, func(s *snapshot.File) snapshot.Loader { own.Site = s.Origin.Site; return own })
	if err == nil {
		err = ks.checkOrigin(path, t, s.Origin)
	}
	if err == nil {
		err = ks.Outbox.CheckAge(path, folder.LSN(s.Seq))
	}
	if err = ks.Files.Contain(err); err != nil && ks.Files.Mending != nil {
		return ks.mendSnapshot(own, err)
	}
	return err
}

// checkOrigin compares a snapshot's name with its content.
func (ks *Keyspace) checkOrigin(path string, t layout.Target, o layout.Origin) error {
	own := path == snapshot.OwnPath(ks.Settings.Dir, t)
	if own == (o.Site == ks.Settings.Site) && (own || path == snapshot.SitePath(ks.Settings.Dir, o)) {
		return nil
	}
	return folder.Damaged(path, 0, fmt.Errorf("it belongs to site %s, epoch %d", o.Site, o.Epoch))
}

// replay applies the journal's segments in order. listed contains the sizes that were on disk. It
// sets the valid sizes in segments, and cuts off a tail torn by a crash.
func (ks *Keyspace) replay(segments, listed map[uint32]int64) error {
	order := slices.Sorted(maps.Keys(segments))
	for i, n := range order {
		path := journal.SegmentPath(ks.Settings.Dir, n)
		last := i == len(order)-1
		apply := func(at int64, r journal.Record) error { return ks.redo(folder.MakeLSN(n, at), r) }
		size, torn, err := journal.ReadSegment(path, ks.Ring.KeyID, last, listed[n], apply)
		if err != nil && ks.Files.Mending != nil {
			if err = ks.mendSegment(path, err); err == nil {
				size, torn, err = journal.ReadSegment(path, ks.Ring.KeyID, last, 0, apply)
			}
		}
		if err != nil {
			return err
		}
		if torn > 0 {
			ks.Settings.Log.Warn("journal ends in an unfinished record, as after a crash; it is cut off", "path", path, "offset", size, "bytes", torn)
		}
		if ks.Outbox.LosesEnd(n, size) {
			ks.Settings.Log.Warn("journal has lost its end: the reports of the ledger are listed again; retouches and counts of the last minutes may be gone", "path", path, "offset", size)
		}
		if last { // its records may not be on disk yet, so it is synced before it is listed
			if err := folder.CutPath(path, size); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
		}
		if segments[n] = size; size == 0 {
			delete(segments, n)
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("journal: %w", err)
			}
		}
	}
	return nil
}

// checkJournal detects that the newest segments of a journal without a list were lost, or all of
// them.
func (ks *Keyspace) checkJournal(segments map[uint32]int64) error {
	newest, id := uint32(0), ks.Outbox.ID
	for n := range segments {
		newest = max(newest, n)
	}
	saved := slices.ContainsFunc(id.Snapshots, func(name string) bool { return name != journal.SegmentsFile })
	if newest >= id.Segment() && (newest > 0 || !saved) {
		return nil
	}
	path := journal.SegmentPath(ks.Settings.Dir, max(id.Segment(), newest+1))
	if ks.Files.Mending != nil {
		return ks.mendSegmentGone(path)
	}
	return folder.Damaged(path, 0, fmt.Errorf("%w, or a later segment is", folder.ErrMissing))
}

// redo applies a record of the journal.
func (ks *Keyspace) redo(at folder.LSN, r journal.Record) error {
	if r.Target.Kind == layout.DomainFilter {
		if ks.Files.DomainsLost || at < ks.Outbox.ID.DomainsLSN {
			return nil
		}
		own, err := ks.Store.OwnDomains(r.Target.Gen, store.DomainsShape())
		if err == nil && !ks.Settings.Unwanted(layout.DomainFilter) {
			own.Raise(r.Hashes[0], r.Count)
		}
		return err
	}
	if r.Target.Kind == layout.CountFilter {
		own, err := ks.Store.OwnCounts(r.Target.Gen)
		if err != nil {
			return err
		}
		own.Raise(r.Hashes[0], r.Count)
		p := own.Shape().Positions(r.Hashes[0])
		ks.Outbox.Redo(at, r.Target, p[:])
		return nil
	}
	switch {
	case len(r.Retouched) > 0:
		return ks.Store.ApplyMasks([]journal.Record{r})
	case len(r.Votes) > 0:
		return ks.Votes.Apply([]journal.Record{r})
	}
	return ks.Store.Set(r, func(t layout.Target, positions []uint64) { ks.Outbox.Redo(at, t, positions) })
}

// Save writes snapshots of all changes. It removes the files of expired generations, and the part
// of the journal that is no longer needed.
func (ks *Keyspace) Save() (err error) {
	ks.SnapshotMu.Lock()
	defer ks.SnapshotMu.Unlock()
	defer func() { ks.saveFault = err }()
	ks.triedSave = ks.Settings.Now()
	begin, err := ks.Journal.Rotate()
	if err != nil {
		return err
	}
	live, err := ks.writeSnapshots(begin)
	if err != nil {
		return err
	}
	for path := range ks.Files.Saved {
		if _, ok := live[path]; !ok {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("snapshot: %w", err)
			}
		}
	}
	ks.Files.Saved, ks.lastSave = live, ks.Settings.Now()
	ks.Journal.Saved()
	ks.journalBase.Store(ks.Journal.BytesFrom(0))
	keep, err := ks.Outbox.KeepFrom(begin)
	if err != nil {
		return err
	}
	if err := ks.Journal.Drop(keep); err != nil {
		return err
	}
	ks.journalBase.Store(ks.Journal.BytesFrom(0))
	return nil
}

// loadMasks reads the masks of a folder, after the filters, whose shape they need. It skips masks
// that the identity does not name: the journal contains them. If it does not, the folder has since
// been used by a program that does not support masks, and the mask would hide newer own reports.
func (ks *Keyspace) loadMasks(entries []os.DirEntry, named []string) error {
	return ks.Files.LoadGenerations(mask.Files, entries, named, func(path string, gen int64) error {
		keys, at, err := mask.Read(path, ks.Ring.KeyID, gen)
		if err == nil {
			err = ks.Outbox.CheckAge(path, at)
		}
		if err != nil {
			return err
		}
		if err := ks.Store.ApplyMasks([]journal.Record{{Target: layout.Target{Kind: layout.SpamFilter, Gen: gen}, Retouched: keys}}); err != nil {
			return fmt.Errorf("mask %s: %w", path, err)
		}
		return nil
	})
}

// loadNever reads the never-list of a folder.
func (ks *Keyspace) loadNever(entries []os.DirEntry) error {
	var list []*never.Entry
	for _, entry := range entries {
		if !never.IsPath(entry.Name()) {
			continue
		}
		e, err := never.Read(filepath.Join(ks.Settings.Dir, entry.Name()), ks.Ring.KeyID)
		if err != nil {
			if err := ks.Files.Contain(err); err != nil {
				return err
			}
			continue
		}
		if list = append(list, e); len(list) > never.Most {
			return fmt.Errorf("%s: more than %d messages on the never-list", ks.Settings.Dir, never.Most)
		}
	}
	ks.Never.Put(list...)
	return nil
}

// writeSnapshots writes the snapshots of what has changed, and lists all in the identity. They contain
// all records of the journal before begin. The caller holds SnapshotMu.
func (ks *Keyspace) writeSnapshots(begin folder.LSN) (live map[string]folder.Saved, err error) {
	live = make(map[string]folder.Saved)
	fresh := make(map[string]bool)
	write := func(list []folder.Pending, dated bool) error {
		for _, s := range list {
			live[s.Path] = s.State
			if ks.Files.Saved[s.Path] == s.State {
				continue
			}
			if err := folder.WriteSnapshot(s.Path, s.Write); err != nil {
				return err
			}
			ks.Files.Saved[s.Path] = s.State
			fresh[s.Path] = dated
		}
		return nil
	}
	own := slices.Concat(ks.Store.OwnSnapshots(ks.Outbox.Self(), begin), ks.Store.MaskSnapshots(begin))
	if err := write(own, true); err != nil {
		return nil, err
	}
	if err := write(slices.Concat(ks.Peers.Snapshots(), ks.Votes.Snapshots(), ks.Common.Snapshots()), false); err != nil {
		return nil, err
	}
	names := append(slices.Sorted(maps.Keys(live)), journal.SegmentsFile)
	return live, ks.Outbox.SetSnapshots(ks.Settings.Dir, names, fresh, begin, ks.Settings.Now())
}
