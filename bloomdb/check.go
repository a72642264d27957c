package bloomdb

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// Check validates the invariants of memory and disk: parts decode to what their totals
// say, the joined bits are the union of the trusted parts, generations are in order, and
// every file in the folder can be read. No reports or deltas should arrive while it runs.
func (db *DB) Check() error { return db.checkEach((*keyspace).check) }

// CheckFiles reads every file of the state folder as Open would, and returns one error that
// names all damaged ones. Reports and mail may go on meanwhile; snapshots wait.
func (db *DB) CheckFiles() error { return db.checkEach((*keyspace).checkFiles) }

// checkEach runs a check on every keyspace, and names the previous one in its errors.
func (db *DB) checkEach(check func(*keyspace) error) (err error) {
	for i, ks := range db.keys {
		e := check(ks)
		if e != nil && i > 0 {
			e = fmt.Errorf("previous federation key: %w", e)
		}
		err = errors.Join(err, e)
	}
	return err
}

// check is Check for one keyspace.
func (ks *keyspace) check() error { return errors.Join(ks.store.check(), ks.checkFiles()) }

// check holds the filters in memory against each other.
func (st *store) check() error {
	v := st.view.Load()
	err := v.checkOrder()
	for _, g := range v.reports {
		for _, kind := range reportKinds {
			if e := g.listing(kind).check(); e != nil {
				err = errors.Join(err, fmt.Errorf("%s generation %d: %w", kind, g.num, e))
			}
		}
		if e := g.checkMask(); e != nil {
			err = errors.Join(err, fmt.Errorf("mask of spam generation %d: %w", g.num, e))
		}
		if e := checkUsed(g.domains); e != nil {
			err = errors.Join(err, fmt.Errorf("domains generation %d: %w", g.num, e))
		}
	}
	for _, g := range v.counts {
		for _, p := range g.parts {
			if e := p.part.Check(); e != nil {
				err = errors.Join(err, fmt.Errorf("counts generation %d of site %s: %w", g.num, p.origin.site, e))
			}
		}
		if e := checkUsed(g.own); e != nil {
			err = errors.Join(err, fmt.Errorf("counts generation %d: %w", g.num, e))
		}
	}
	return err
}

func (v *view) checkOrder() error {
	newest := func(a, b int64) bool { return a > b }
	for i := 1; i < len(v.reports); i++ {
		if !newest(v.reports[i-1].num, v.reports[i].num) {
			return fmt.Errorf("report generation %d stands before %d", v.reports[i-1].num, v.reports[i].num)
		}
	}
	for i := 1; i < len(v.counts); i++ {
		if !newest(v.counts[i-1].num, v.counts[i].num) {
			return fmt.Errorf("count generation %d stands before %d", v.counts[i-1].num, v.counts[i].num)
		}
	}
	return nil
}

// check holds the joined bits against the parts.
func (l *listing) check() error {
	if err := checkOnes(l.own); err != nil {
		return fmt.Errorf("own bits: %w", err)
	}
	if err := checkOnes(l.others); err != nil {
		return fmt.Errorf("others' bits: %w", err)
	}
	for _, p := range l.parts {
		if err := p.part.Check(); err != nil {
			return fmt.Errorf("site %s: %w", p.origin.site, err)
		}
	}
	if l.others == nil {
		return nil
	}
	var union, all []filter.Cell
	for i := range filter.Blocks(l.others.Shape().Size(), false) {
		union = union[:0]
		for _, p := range l.trusted {
			union = p.part.Block(i, union)
		}
		slices.SortFunc(union, func(a, b filter.Cell) int { return int(int64(a.Pos) - int64(b.Pos)) })
		union = slices.Compact(union)
		if all = l.others.Block(i, all[:0]); !slices.Equal(all, union) {
			return fmt.Errorf("block %d: %d bits joined, the heard sites' parts have %d", i, len(all), len(union))
		}
	}
	return nil
}

func checkOnes(b *filter.Bits) error {
	if b == nil {
		return nil
	}
	var cells []filter.Cell
	ones := int64(0)
	for i := range filter.Blocks(b.Shape().Size(), false) {
		cells = b.Block(i, cells[:0])
		ones += int64(len(cells))
	}
	if ones != b.Ones() {
		return fmt.Errorf("%d ones, counted %d", ones, b.Ones())
	}
	return nil
}

func checkUsed(c *filter.Counts) error {
	if c == nil {
		return nil
	}
	var cells []filter.Cell
	used := int64(0)
	for i := range filter.Blocks(c.Shape().Size(), true) {
		cells = c.Block(i, cells[:0])
		used += int64(len(cells))
	}
	if used != c.Used() {
		return fmt.Errorf("%d cells in use, counted %d", used, c.Used())
	}
	return nil
}

// checkFiles is CheckFiles for one keyspace.
func (ks *keyspace) checkFiles() error {
	ks.snapshotMu.Lock()
	defer ks.snapshotMu.Unlock()
	if err := ks.journal.flush(); err != nil {
		return err
	}
	_, err := readIdentity(ks.opt.Dir)
	return errors.Join(err, readAll(ks.opt.Dir, ks.ring.keyID, ks.votes.checkVotes))
}

// CheckFolder reads every file of a state folder that no database has open, as Open would,
// and names all that is damaged or missing, joined in one error. It needs no key, and so
// does not prove the votes of other sites, which Open sets aside where they are damaged.
func CheckFolder(dir string) error {
	folders, err := keyFolders(dir)
	if err != nil {
		return err
	}
	found := false
	for _, folder := range folders {
		id, e := readIdentity(folder)
		if errors.Is(e, fs.ErrNotExist) {
			continue
		}
		found = true
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		err = errors.Join(err, checkKey(id, folder))
	}
	if !found {
		return fmt.Errorf("%s is missing", identityPath(dir))
	}
	return err
}

// checkKey checks the files of one key, whose folder the identity is of.
func checkKey(id identity, dir string) error {
	key, err := hex.DecodeString(id.KeyID)
	if err != nil || len(key) != 8 {
		return damaged(identityPath(dir), 0, fmt.Errorf("key id %q", id.KeyID))
	}
	for _, name := range id.Snapshots {
		if _, e := os.Stat(filepath.Join(dir, name)); e != nil && !expendable(name) {
			err = errors.Join(err, damaged(filepath.Join(dir, name), 0, errors.New("the file is missing")))
		}
	}
	return errors.Join(err, readAll(dir, [8]byte(key), func(name string) error {
		gen, ok := parseOwnVotesPath(name)
		if !ok {
			return nil
		}
		_, _, err := readOwnVotes(filepath.Join(dir, name), [8]byte(key), gen, id.ReportPeriod)
		return err
	}))
}

// readAll reads all files of one folder. Votes are checked by the caller's function.
func readAll(dir string, keyID [8]byte, votes func(name string) error) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("state folder: %w", err)
	}
	segments := make(map[uint32]bool)
	for _, entry := range entries {
		name := entry.Name()
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, ".snapshot") && !strings.HasPrefix(name, ".") {
			_, e := readSnapshot(path, keyID, nil)
			err = errors.Join(err, e)
		}
		if gen, ok := parseMaskPath(name); ok {
			_, e := readMask(path, keyID, gen)
			err = errors.Join(err, e)
		}
		err = errors.Join(err, votes(name))
		if isNeverPath(name) {
			_, e := readNever(path, keyID)
			err = errors.Join(err, e)
		}
		if n, ok := strings.CutPrefix(name, "journal-"); ok {
			if num, e := strconv.ParseUint(n, 10, 32); e == nil {
				segments[uint32(num)] = true
			}
		}
	}
	if _, e := readStamp(dir); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	listed, e := readSegments(dir, keyID)
	if !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	for n := range listed {
		if !segments[n] {
			err = errors.Join(err, damaged(segmentPath(dir, n), 0, errMissing))
		}
	}
	order := slices.Sorted(maps.Keys(segments))
	for i, n := range order {
		last := i == len(order)-1 // records may be half written while we read
		_, _, e := readSegment(segmentPath(dir, n), keyID, last, listed[n], func(int64, record) error { return nil })
		err = errors.Join(err, e)
	}
	return err
}

// checkMask holds a mask against itself and against the shape of its filters.
func (g *reportGeneration) checkMask() error {
	if g.mask == nil {
		return nil
	}
	for _, b := range []*filter.Bits{g.spam.own, g.spam.others} {
		if b != nil && !b.Shape().Equal(g.mask.shape) {
			return fmt.Errorf("made for %v, the filter has %v", g.mask.shape, b.Shape())
		}
	}
	return g.mask.check()
}
