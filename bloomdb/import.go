package bloomdb

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/renameio/v2"
)

// Imported is what came in with an export. In a roll-over the numbers are those of both
// databases together.
type Imported struct {
	Site      string    // whose state it is
	Made      time.Time // when it was exported
	Filters   int       // that were joined
	Bits      int64     // of filters of reports, that were not set here
	Cells     int64     // of filters of counts, that were lower here
	Never     int       // messages that were not on the never-list here
	Retouched int       // signatures that were not retouched here, in each generation
	Aged      int       // filters that were left out: their generations are over
	// CountsLeftOut says that how often messages were seen was left out, as sites hear
	// of each other here: others have counted it already under the site that saw them,
	// and would count it once more under this one.
	CountsLeftOut bool
}

// ImportOwn joins what ExportOwn wrote on another machine into this site's own state:
// bits by OR, counts by maximum. What is there already stays, and importing twice
// changes nothing. Other sites are told by the snapshot that is due then. r is read to
// its end, and nothing of it counts before all of it is proven and fits.
//
// When it returns nil, what came in is on disk; a crash before leaves all of it or
// nothing (of two databases, the first may have its part). Errors after which nothing
// has changed: ErrFederation, ErrParameters (both sides' values in the text), ErrFull,
// ErrClock, ErrClosed, what is torn, or the reader's or the disk's. Where the disk fails
// at the very end, the error says that what came in stands after the next start.
//
// A message that was retouched on the other machine is retouched here as well, also where
// this site has reported it. Votes are not in an export: they are of a few days, and who
// hears this site by them hears what is reported from now on.
func (db *DB) ImportOwn(r io.Reader) (in Imported, err error) {
	if db.closed.Load() {
		return in, ErrClosed
	}
	db.importMu.Lock()
	defer db.importMu.Unlock()
	parts, err := db.receive(bufio.NewReader(r))
	for _, p := range parts {
		defer p.file.Cleanup() // of what was not renamed
	}
	if err != nil {
		return in, fmt.Errorf("import: %w", err)
	}
	slices.SortFunc(parts, func(a, b importPart) int { // in the order of locks
		return slices.Index(db.both(), a.db) - slices.Index(db.both(), b.db)
	})
	for _, p := range parts {
		p.db.neverMu.Lock()
		defer p.db.neverMu.Unlock()
		p.db.retouchMu.Lock()
		defer p.db.retouchMu.Unlock()
	}
	for _, p := range parts {
		if err := p.check(); err != nil {
			return in, fmt.Errorf("import: %w", err)
		}
	}
	for _, p := range parts {
		if err := p.commit(); err != nil {
			return in, fmt.Errorf("import: %w", err)
		}
	}
	for _, p := range parts {
		if _, err := p.db.joinImport(&in); err != nil {
			return in, fmt.Errorf("import: it stands after the next start: %w", err)
		}
	}
	for _, p := range parts {
		p.db.settleImport(in.Bits > 0 || in.Cells > 0)
	}
	return in, nil
}

// importPart is the part of an export that is of one database's key, in a file of its
// folder that appears with commit.
type importPart struct {
	db   *DB
	file *renameio.PendingFile
}

// receive proves a stream and keeps its parts. Parts come back with an error, too: they
// are to be cleaned up.
func (db *DB) receive(r *bufio.Reader) (parts []importPart, err error) {
	n, err := readExportHeader(r)
	if err != nil {
		return nil, err
	}
	for range n {
		d, err := db.partOwner(r)
		if err != nil {
			return parts, err
		}
		if slices.ContainsFunc(parts, func(p importPart) bool { return p.db == d }) {
			return parts, fmt.Errorf("two parts of federation key %x", d.keyID)
		}
		file, err := renameio.NewPendingFile(importPath(d.opt.Dir), renameio.WithTempDir(d.opt.Dir), renameio.WithPermissions(0o600))
		if err != nil {
			return parts, err
		}
		parts = append(parts, importPart{d, file})
		if err := d.receivePart(r, file); err != nil {
			return parts, err
		}
	}
	switch _, err := r.ReadByte(); {
	case err == nil:
		return parts, errors.New("bytes after its end")
	case err != io.EOF:
		return parts, err
	}
	return parts, nil
}

// partOwner reads of which key the next part is, and finds the database of that key.
func (db *DB) partOwner(r io.Reader) (*DB, error) {
	var id [8]byte
	if _, err := io.ReadFull(r, id[:]); err != nil {
		return nil, cutShort(err)
	}
	var here []string
	for _, d := range db.both() {
		if d.keyID == id {
			return d, nil
		}
		here = append(here, hex.EncodeToString(d.keyID[:]))
	}
	return nil, fmt.Errorf("%w: made under key %x, here %s", ErrFederation, id, strings.Join(here, " and "))
}

// receivePart copies a part as a stream of its own.
func (db *DB) receivePart(r io.Reader, file io.Writer) error {
	out := bufio.NewWriter(file)
	_, err := out.Write(append(appendExportHeader(nil, 1), db.keyID[:]...))
	if err == nil {
		err = db.readPart(r, out, nil)
	}
	if err == nil {
		err = out.Flush()
	}
	return err
}

// check compares the part with what is here. The locks of ImportOwn are held.
func (p importPart) check() error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return p.db.readImport(p.file, newImportCheck(p.db))
}

// commit makes the part count: from here on each start joins it, until it stands in
// snapshots.
func (p importPart) commit() error {
	if err := p.file.CloseAtomicallyReplace(); err != nil {
		return err
	}
	return syncDir(p.db.opt.Dir)
}

// importable says whether the cells of a filter are to be joined here, and refuses
// those that can't be. A generation of which nothing is held is taken with the shape it
// comes in, as when the folder itself were opened: the options may have changed since.
func (db *DB) importable(s deltaSection) (bool, error) {
	if here := int64(db.opt.period(s.target.kind) / time.Second); s.period != here {
		return false, fmt.Errorf("%w: period there %d s, here %d s", ErrParameters, s.period, here)
	}
	switch {
	case db.aged(s.target), db.unwanted(s.target.kind), s.target.kind == countFilter && db.opt.Exchange:
		return false, nil
	case db.early(s.target):
		return false, fmt.Errorf("it begins %s: %w", db.opt.start(s.target).Format(time.RFC3339), ErrClock)
	}
	here, held := db.heldShape(s.target)
	if held && s.shape != here || s.target.kind == domainFilter && s.shape != here || s.shape.lines > maxOtherShape*here.lines {
		if s.target.kind.counts() {
			return false, fmt.Errorf("%w: there %d lines, here %d", ErrParameters, s.shape.lines, here.lines)
		}
		return false, differs(s.shape, here)
	}
	return true, nil
}

// maxOtherShape is how many times as large as planned here a filter may be that was made
// with other options.
const maxOtherShape = 16

// heldShape is the shape of a filter that is held here, or else the one that it would
// get.
func (db *DB) heldShape(t target) (s shape, held bool) {
	v := db.view.Load()
	g := v.report(t.gen)
	switch t.kind {
	case countFilter:
		if g := v.count(t.gen); g != nil && g.own != nil {
			return countsShape(g.own.Shape()), true
		}
		return countsShape(db.countsShape), false
	case domainFilter:
		return countsShape(domainsShape()), g != nil && g.domains != nil
	}
	if g != nil {
		l := g.listing(t.kind)
		held = l.own != nil || l.others != nil || t.kind == spamFilter && g.mask != nil
	}
	return bitsShape(db.shapeFor(t)), held
}
