package bloomdb

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// savedState tells whether a snapshot file on disk still says what memory says:
// it is written again only when this has changed.
type savedState struct {
	changes   int64  // own filters: changes since the start, plus one
	seq, gaps uint64 // other sites: the cursor
	sections  int
}

// pendingSnapshot is a snapshot that may have to be written.
type pendingSnapshot struct {
	path  string
	state savedState
	write func(w io.Writer) error
}

// load reads the state folder into an empty database: identity, snapshots,
// then the journal.
func (ks *keyspace) load() error {
	dir := ks.opt.Dir
	id, err := readIdentity(dir)
	if errors.Is(err, fs.ErrNotExist) {
		id, err = ks.begin()
	}
	if err == nil {
		err = id.check(ks.opt, ks.ring.keyID)
	}
	if err != nil {
		return err
	}
	if err := ks.peers.beginSites(id); err != nil {
		return err
	}
	ks.pub.begin(id, ks.opt.Exchange)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	ks.files.findDamaged(entries)
	if err := errors.Join(ks.checkPresent(id, entries), ks.checkCompanions(id)); err != nil {
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
	if err := ks.dropDomains(); err != nil {
		return err
	}
	if err := ks.loadMasks(entries, id.Snapshots); err != nil {
		return err
	}
	if err := ks.loadNever(entries); err != nil {
		return err
	}
	if err := errors.Join(ks.files.loadGenerations(ownVotesFiles, entries, id.Snapshots, ks.votes.loadOwn),
		ks.votes.load(entries, ks.files.contain)); err != nil {
		return err
	}
	if err := ks.replay(segments, listed); err != nil {
		return err
	}
	if err := ks.missJournal(segments); err != nil {
		return err
	}
	if ks.journal, err = openJournal(dir, ks.ring.keyID, segments, id.segment(), ks.newFile); err != nil {
		return err
	}
	ks.pub.journal = ks.journal
	ks.pub.opened(ks.journal.mark(), ks.files.domainsLost)
	if len(ks.files.damagedFiles()) > 0 {
		ks.lastSave = ks.lastSave.Add(-saveInterval) // the identity must not name what was set aside
	}
	return nil
}

// checkPresent names a snapshot that is gone: what it held would be lost without
// a word.
func (ks *keyspace) checkPresent(id identity, entries []os.DirEntry) error {
	for _, name := range id.Snapshots {
		if t, own := parseOwnPath(name); own && ks.opt.unwanted(t.kind) {
			continue
		}
		if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
			continue
		}
		if err := ks.files.missing(name, entries); err != nil {
			return err
		}
	}
	return nil
}

// unwanted says that what the folder holds of a kind is forgotten: classes, sketches
// and counts of domains, where they are off now.
func (o *settings) unwanted(kind filterKind) bool {
	return kind == classFilter && !o.Reports.Classes || kind == sketchFilter && o.Reports.NoSketches ||
		kind == domainFilter && o.Domains.Campaigns < 0
}

// begin makes the identity of a new folder. A folder with state but without an
// identity has lost a file.
func (ks *keyspace) begin() (identity, error) {
	entries, err := os.ReadDir(ks.opt.Dir)
	if err != nil {
		return identity{}, fmt.Errorf("state folder: %w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".snapshot") || strings.HasPrefix(e.Name(), "journal-") {
			return identity{}, damaged(identityPath(ks.opt.Dir), 0, fmt.Errorf("identity is missing, but %s is there", e.Name()))
		}
	}
	id := identity{
		Version:      identityVersion,
		Site:         ks.opt.Site,
		Epoch:        newEpoch(ks.opt.Now()),
		KeyID:        hex.EncodeToString(ks.ring.keyID[:]),
		ReportPeriod: int64(ks.opt.Reports.Period / time.Second),
		CountPeriod:  int64(ks.opt.Counts.Period / time.Second),
		Snapshots:    []string{segmentsFile},
	}
	// The list is written before the identity, which names it.
	list := segmentList{dir: ks.opt.Dir, keyID: ks.ring.keyID}
	if err := list.change(func(map[uint32]int64) {}); err != nil {
		return id, err
	}
	return id, id.write(ks.opt.Dir)
}

// loadFiles takes the folder's files. This site's own snapshots, which hold most of
// it, are read by as many goroutines as there are processors.
func (ks *keyspace) loadFiles(entries []os.DirEntry, segments map[uint32]int64) error {
	own := make(map[string]target) // by path
	for _, e := range entries {
		t, isOwn, err := ks.loadFile(e.Name(), segments)
		if err != nil {
			return err
		}
		if isOwn {
			own[filepath.Join(ks.opt.Dir, e.Name())] = t
		}
	}
	var reading errgroup.Group
	reading.SetLimit(runtime.GOMAXPROCS(0))
	for path, t := range own {
		reading.Go(func() error { return ks.loadOwn(path, t) })
	}
	return reading.Wait()
}

// loadFile takes one file of the folder: another site's snapshot is read, one of our
// own is named, a journal segment noted, a temporary file of a crash removed, anything
// else left alone.
func (ks *keyspace) loadFile(name string, segments map[uint32]int64) (t target, own bool, err error) {
	path := filepath.Join(ks.opt.Dir, name)
	if n, ok := strings.CutPrefix(name, "journal-"); ok {
		num, err := strconv.ParseUint(n, 10, 32)
		if err == nil {
			segments[uint32(num)] = 0
		}
		return t, false, nil
	}
	if isTemporary(name) {
		return t, false, os.Remove(path)
	}
	if !strings.HasSuffix(name, ".snapshot") {
		return t, false, nil
	}
	if ks.store.isDropped(name) { // a crash kept its file from being removed
		return t, false, os.Remove(path)
	}
	ks.files.saved[path] = savedState{} // on disk, and to be written again or removed
	if t, own = parseOwnPath(name); own {
		return t, !ks.opt.unwanted(t.kind), nil // the next snapshot removes what is unwanted
	}
	s, err := readSnapshot(path, ks.ring.keyID, func(s *snapshot) loader { return &siteLoader{store: ks.store, origin: s.origin} })
	if err == nil {
		err = ks.checkOrigin(path, t, s.origin)
	}
	if err != nil {
		if err := ks.files.contain(err); err != nil {
			return t, false, err
		}
		return t, false, ks.dropOrigin(s.origin)
	}
	ks.peers.sites[s.origin] = &siteState{seq: s.seq, gaps: s.gaps, hole: s.hole}
	return t, false, nil
}

// isTemporary says that a file was being written when a crash came.
func isTemporary(name string) bool {
	if !strings.HasPrefix(name, ".") {
		return false
	}
	for _, prefix := range []string{".identity", ".never-", ".clock", "." + segmentsFile} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.Contains(name, ".snapshot") || strings.Contains(name, ".mask") || strings.Contains(name, ".votes")
}

// loadOwn reads one of this site's own filters.
func (ks *keyspace) loadOwn(path string, t target) error {
	own := &ownLoader{store: ks.store, want: t, path: path}
	s, err := readSnapshot(path, ks.ring.keyID, func(s *snapshot) loader { own.site = s.origin.site; return own })
	if err == nil {
		err = ks.checkOrigin(path, t, s.origin)
	}
	if err = ks.files.contain(err); err != nil && ks.files.mending != nil {
		return ks.mendSnapshot(own, err)
	}
	return err
}

// checkOrigin compares a snapshot's name with what it holds.
func (ks *keyspace) checkOrigin(path string, t target, o origin) error {
	own := path == ownPath(ks.opt.Dir, t)
	if own == (o.site == ks.opt.Site) && (own || path == sitePath(ks.opt.Dir, o)) {
		return nil
	}
	return damaged(path, 0, fmt.Errorf("it is of site %s, epoch %d", o.site, o.epoch))
}

// replay applies the journal's segments in order, of which so much was on disk as is
// listed. Their valid sizes come back in segments. A tail torn by a crash is cut off.
func (ks *keyspace) replay(segments, listed map[uint32]int64) error {
	order := slices.Sorted(maps.Keys(segments))
	for i, n := range order {
		path := segmentPath(ks.opt.Dir, n)
		last := i == len(order)-1
		apply := func(at int64, r record) error { return ks.redo(makeLSN(n, at), r) }
		size, torn, err := readSegment(path, ks.ring.keyID, last, listed[n], apply)
		if err != nil && ks.files.mending != nil {
			if err = ks.mendSegment(path, err); err == nil {
				size, torn, err = readSegment(path, ks.ring.keyID, last, 0, apply)
			}
		}
		if err != nil {
			return err
		}
		if torn > 0 {
			ks.opt.Log.Warn("journal ends in an unfinished record, as after a crash", "path", path, "offset", size, "bytes", torn)
		}
		if last { // what was read of it need not be on disk yet, and is listed as such
			if err := cutPath(path, size); err != nil {
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

// missJournal notices that a journal whose segments were not listed has lost its newest ones,
// or all of them.
func (ks *keyspace) missJournal(segments map[uint32]int64) error {
	newest, id := uint32(0), ks.pub.id
	for n := range segments {
		newest = max(newest, n)
	}
	saved := slices.ContainsFunc(id.Snapshots, func(name string) bool { return name != segmentsFile })
	if newest >= id.segment() && (newest > 0 || !saved) {
		return nil
	}
	path := segmentPath(ks.opt.Dir, max(id.segment(), newest+1))
	if ks.files.mending != nil {
		return ks.mendSegmentGone(path)
	}
	return damaged(path, 0, fmt.Errorf("%w, or a later one", errMissing))
}

func cutPath(path string, size int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(cutFile(f, size), f.Close())
}

// redo applies a record of the journal.
func (ks *keyspace) redo(at lsn, r record) error {
	if r.target.kind == domainFilter {
		if ks.files.domainsLost || at < ks.pub.id.DomainsLSN {
			return nil
		}
		own, err := ks.store.ownDomains(r.target.gen, domainsShape())
		if err == nil && !ks.opt.unwanted(domainFilter) {
			own.Raise(r.hashes[0], r.count)
		}
		return err
	}
	if r.target.kind == countFilter {
		own, err := ks.store.ownCounts(r.target.gen, ks.store.countsShape)
		if err != nil {
			return err
		}
		own.Raise(r.hashes[0], r.count)
		p := own.Shape().Positions(r.hashes[0])
		ks.pub.redo(at, r.target, p[:])
		return nil
	}
	switch {
	case len(r.retouched) > 0:
		return ks.store.applyMasks([]record{r})
	case len(r.votes) > 0:
		return ks.votes.applyVotes([]record{r})
	}
	return ks.store.set(r, func(t target, positions []uint64) { ks.pub.redo(at, t, positions) })
}

// save writes what has changed since the last time, and removes the files of
// generations that aged out and the journal that is no longer needed.
func (ks *keyspace) save() error {
	ks.snapshotMu.Lock()
	defer ks.snapshotMu.Unlock()
	ks.triedSave = ks.opt.Now()
	begin, err := ks.journal.rotate()
	if err != nil {
		return err
	}
	live := make(map[string]savedState)
	for _, s := range slices.Concat(ks.store.ownSnapshots(ks.pub.self()), ks.peers.siteSnapshots(), ks.store.maskSnapshots(), ks.votes.voteSnapshots()) {
		live[s.path] = s.state
		if ks.files.saved[s.path] == s.state {
			continue
		}
		if err := writeSnapshot(s.path, s.write); err != nil {
			return err
		}
		ks.files.saved[s.path] = s.state
	}
	if err := ks.pub.rests(ks.opt.Dir, append(slices.Sorted(maps.Keys(live)), segmentsFile), ks.opt.Now()); err != nil {
		return err
	}
	for path := range ks.files.saved {
		if _, ok := live[path]; !ok {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("snapshot: %w", err)
			}
		}
	}
	ks.files.saved, ks.lastSave = live, ks.opt.Now()
	ks.journal.saved()
	ks.journalBase.Store(ks.journal.bytesFrom(0))
	keep, err := ks.pub.keepFrom(begin)
	if err != nil {
		return err
	}
	if err := ks.journal.drop(keep); err != nil {
		return err
	}
	ks.journalBase.Store(ks.journal.bytesFrom(0))
	return nil
}

// ownCells is a filter of this site's own, of bits or of counts.
type ownCells interface {
	Block(i uint64, dst []filter.Cell) []filter.Cell
	AppendRaw(i uint64, dst []byte) (raw []byte, used int)
}

// ownSnapshots lists this site's own filters, one a file. self is this site in its present
// life.
func (st *store) ownSnapshots(self origin) []pendingSnapshot {
	var list []pendingSnapshot
	for sec, changes := range st.ownSections() {
		list = append(list, pendingSnapshot{
			path:  ownPath(st.opt.Dir, sec.target),
			state: savedState{changes: changes + 1, sections: 1},
			write: snapshot{origin: self, sections: []section{sec}}.writer(st.ring.keyID),
		})
	}
	return list
}

// ownSections yields this site's own filters as sections of snapshots, and how often each was
// changed.
func (st *store) ownSections() iter.Seq2[section, int64] {
	return func(yield func(section, int64) bool) {
		going := true
		add := func(t target, changes int64, s shape, own ownCells) {
			period := int64(st.opt.period(t.kind) / time.Second)
			going = going && yield(section{target: t, period: period, shape: s, block: own.Block, raw: own.AppendRaw}, changes)
		}
		v := st.view.Load()
		for _, g := range v.reports {
			for _, kind := range reportKinds {
				if own := g.listing(kind).own; own != nil {
					add(target{kind, g.num}, own.Ones(), bitsShape(own.Shape()), own)
				}
			}
			if own := g.domains; own != nil {
				add(target{domainFilter, g.num}, own.Changes(), countsShape(own.Shape()), own)
			}
		}
		for _, g := range v.counts {
			if g.own != nil {
				add(target{countFilter, g.num}, g.own.Changes(), countsShape(g.own.Shape()), g.own)
			}
		}
	}
}

// siteSnapshots lists the other sites, with all parts of one in one file beside
// its cursor. The cursor is read before the parts: they may tell more than it
// says, never less.
func (ps *peers) siteSnapshots() []pendingSnapshot {
	ps.sitesMu.Lock()
	sites := make(map[origin]*snapshot, len(ps.sites))
	for o, s := range ps.sites {
		sites[o] = &snapshot{origin: o, seq: s.seq, gaps: s.gaps, hole: s.hole}
	}
	ps.sitesMu.Unlock()
	for t, parts := range ps.store.view.Load().allParts() {
		for _, p := range parts {
			if s := sites[p.origin]; s != nil {
				s.sections = append(s.sections, section{
					target: t, period: int64(ps.opt.period(t.kind) / time.Second), shape: p.shape, block: p.part.Block,
				})
			}
		}
	}
	list := make([]pendingSnapshot, 0, len(sites))
	for o, s := range sites {
		list = append(list, pendingSnapshot{
			path:  sitePath(ps.opt.Dir, o),
			state: savedState{seq: s.seq, gaps: s.gaps, sections: len(s.sections)},
			write: s.writer(ps.sealer.ring.keyID),
		})
	}
	return list
}
