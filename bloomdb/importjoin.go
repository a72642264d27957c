package bloomdb

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// importPath names the file of what is being imported: a part of an export that counts
// and may not yet stand in snapshots.
func importPath(dir string) string { return filepath.Join(dir, "import") }

// readImport reads such a file, or one that is to become one.
func (db *DB) readImport(r io.Reader, take exportTaker) error {
	in := bufio.NewReader(r)
	n, err := readExportHeader(in)
	if err != nil {
		return err
	}
	owner, err := db.partOwner(in)
	if err != nil {
		return err
	}
	if n != 1 || owner != db {
		return fmt.Errorf("%d parts, the first of key %x", n, owner.keyID)
	}
	return db.readPart(in, nil, take)
}

// importCheck says why what comes can't be joined. It changes nothing.
type importCheck struct {
	db        *DB
	fresh     int64 // bits of the present filter that are not set here
	declared  map[shortID]bool
	retouches map[int64]int // keys by generation that are not retouched here
}

func newImportCheck(db *DB) *importCheck {
	return &importCheck{db: db, declared: make(map[shortID]bool), retouches: make(map[int64]int)}
}

func (c *importCheck) head(h exportHead) error {
	for i, here := range c.db.plannedShapes() {
		if h.shapes[i] != here && !c.db.unwanted(reportKinds[i]) {
			return fmt.Errorf("%s filter: %w (reports.capacity, keep and max_error_per_mail must be equal)", reportKinds[i], differs(h.shapes[i], here))
		}
	}
	return nil
}

func (c *importCheck) never(e *neverEntry) error {
	list := c.db.never
	list.mu.RLock()
	defer list.mu.RUnlock()
	if list.entries[e.name] == nil {
		c.declared[e.name] = true
	}
	if n := len(list.entries) + len(c.declared); n > maxNever {
		return fmt.Errorf("never-list: %w: it would have over %d messages", ErrFull, maxNever)
	}
	return nil
}

func (c *importCheck) retouched(s deltaSection, keys []retouchedKey) error {
	if wanted, err := c.db.importable(s); err != nil || !wanted {
		return err
	}
	held := 0
	if g := c.db.view.Load().report(s.target.gen); g != nil && g.mask != nil {
		held, _, _ = g.mask.size()
		keys = unknownTo(g.mask, keys)
	}
	c.retouches[s.target.gen] += len(keys)
	if held+c.retouches[s.target.gen] > maxRetouched {
		return fmt.Errorf("mask of spam generation %d: %w: over %d signatures would be retouched", s.target.gen, ErrFull, maxRetouched)
	}
	return nil
}

// unknownTo are the keys that are not retouched.
func unknownTo(m *mask, keys []retouchedKey) []retouchedKey {
	var unknown []retouchedKey
	for _, k := range keys {
		if !m.retouched(k.hash) {
			unknown = append(unknown, k)
		}
	}
	return unknown
}

func (c *importCheck) section(s deltaSection) (bool, error) {
	c.fresh = 0
	return c.db.importable(s)
}

// cells holds a bit filter against what it was made for. One of another shape was
// filled by the options of its time.
func (c *importCheck) cells(s deltaSection, cells []filter.Cell) error {
	if s.target.kind.counts() || s.shape != bitsShape(c.db.shapeFor(s.target)) {
		return nil
	}
	var own *filter.Bits
	ones := int64(0)
	if g := c.db.view.Load().report(s.target.gen); g != nil && g.listing(s.target.kind).own != nil {
		own = g.listing(s.target.kind).own
		ones = own.Ones()
	}
	for _, cell := range cells {
		if own == nil || !own.Bit(cell.Pos) {
			c.fresh++
		}
	}
	if c.fresh == 0 {
		return nil
	}
	return c.db.fits(s.target.kind.String()+" filter", s.shape.bits(), ones+c.fresh, s.target)
}

// importJoin joins what comes.
type importJoin struct {
	db     *DB
	in     *Imported
	bits   *filter.Bits   // the present filter
	counts *filter.Counts // or this one
}

func (j *importJoin) head(h exportHead) error {
	j.in.Site, j.in.Made = h.origin.site, h.made
	return nil
}

func (j *importJoin) never(e *neverEntry) error {
	list := j.db.never
	list.mu.RLock()
	known := list.entries[e.name] != nil
	list.mu.RUnlock()
	if known {
		return nil
	}
	if err := writeNever(j.db.opt.Dir, j.db.keyID, e); err != nil {
		return err
	}
	list.put(e)
	j.in.Never++
	return nil
}

func (j *importJoin) retouched(s deltaSection, keys []retouchedKey) error {
	if wanted, err := j.db.importable(s); err != nil || !wanted {
		return err
	}
	if _, err := j.db.ownBits(s.target, s.shape.bits()); err != nil { // the mask is of its shape
		return err
	}
	m, err := j.db.maskOf(s.target)
	if err != nil {
		return err
	}
	keys = unknownTo(m, keys)
	m.set(keys)
	j.in.Retouched += len(keys)
	return nil
}

func (j *importJoin) section(s deltaSection) (wanted bool, err error) {
	wanted, err = j.db.importable(s)
	switch {
	case err != nil:
		return false, err
	case !wanted && j.db.aged(s.target):
		j.in.Aged++
		return false, nil
	case !wanted:
		j.in.CountsLeftOut = j.in.CountsLeftOut || s.target.kind == countFilter
		return false, nil
	}
	j.in.Filters++
	j.bits, j.counts = nil, nil
	switch s.target.kind {
	case countFilter:
		j.counts, err = j.db.ownCounts(s.target.gen, s.shape.counts())
	case domainFilter:
		j.counts, err = j.db.ownDomains(s.target.gen, s.shape.counts())
	default:
		j.bits, err = j.db.ownBits(s.target, s.shape.bits())
	}
	return true, err
}

func (j *importJoin) cells(_ deltaSection, cells []filter.Cell) error {
	if j.counts == nil {
		before := j.bits.Ones()
		j.bits.SetCells(cells)
		j.in.Bits += j.bits.Ones() - before
		return nil
	}
	for _, c := range cells {
		if j.counts.Cell(c.Pos) < c.Value {
			j.counts.RaiseCell(c.Pos, c.Value)
			j.in.Cells++
		}
	}
	return nil
}

// joinImport joins the file of an import, where there is one; doing so again changes
// nothing. settleImport is to follow.
func (db *DB) joinImport(in *Imported) (found bool, err error) {
	return db.readImportFile(&importJoin{db: db, in: in})
}

// checkImport reads the file, and joins nothing.
func (db *DB) checkImport() error {
	_, err := db.readImportFile(nil)
	return err
}

func (db *DB) readImportFile(take exportTaker) (found bool, err error) {
	path := importPath(db.opt.Dir)
	f, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("import: %w", err)
	}
	defer f.Close()
	err = db.readImport(f, take)
	for _, other := range []error{ErrParameters, ErrFull, ErrClock} {
		if errors.Is(err, other) { // the file is whole
			return true, fmt.Errorf("import %s: %w", path, err)
		}
	}
	if err != nil {
		return true, damaged(path, 0, fmt.Errorf("import: %w", err))
	}
	return true, nil
}

// settleImport lets other sites hear what was joined, where it is news, and brings it
// into the snapshots, which then remove the file. Where that fails, it is tried again
// like all snapshots, and the file stands for it.
func (db *DB) settleImport(news bool) {
	db.pub.deltaMu.Lock()
	if db.pub.on && news {
		db.pub.leaveOut()
	}
	db.pub.deltaMu.Unlock()
	db.importStands.Store(true) // only now: snapshots write first what was left out
	if err := db.save(); err != nil {
		db.opt.Log.Warn("what was imported stands in a file of its own until snapshots can be written", "path", importPath(db.opt.Dir), "error", err)
	}
}

// removeImport removes the file, durably: after a crash it would take back what was done
// to masks and the never-list since.
func (db *DB) removeImport() error {
	if err := os.Remove(importPath(db.opt.Dir)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("import: %w", err)
	}
	if err := syncDir(db.opt.Dir); err != nil {
		return err
	}
	db.importStands.Store(false)
	return nil
}
