package bloomdb

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb/filter"
)

// An export is this site's own state as a stream, for another machine: its filters, its
// masks and its never-list, of which other sites know nothing or only their part.
//
//	ExportOwn -> frames -> ImportOwn: each frame proven, kept in a file beside
//	                       -> the whole checked against what is here
//	                       -> the file renamed: from here on it counts
//	                       -> joined, and in the snapshots -> the file removed
//
// The layout stands in FORMAT.md. A frame is closed by an HMAC under the federation
// key over its number, the frame before and itself, so that none is read before it is
// proven, and none can be missing, come twice or come from another export.
const (
	exportMagic   = "SBEXPT\r\n"
	exportVersion = 1
	exportHeader  = 8 + 2 + 1 // magic, version, number of parts
	maxExportBody = MaxDelta
	// fullExportBody ends a frame; what is appended at once is shorter than the rest.
	fullExportBody = maxExportBody / 2
)

// frameKind says what an export's frame holds.
type frameKind byte

// The numbers stand in exports.
const (
	frameHead      frameKind = 1 // the first of a part: whose it is, and with which parameters
	frameNever     frameKind = 2 // entries of the never-list
	frameRetouched frameKind = 3 // retouched keys of a generation
	frameCells     frameKind = 4 // cells of a filter
	frameEnd       frameKind = 5 // the last of a part
)

// exportOrder is the order of filters in an export, and so in which they are joined:
// what takes listings back comes before what lists.
var exportOrder = [...]filterKind{revokedFilter, sketchFilter, classFilter, spamFilter, countFilter, domainFilter}

// exportHead is what a part says of itself.
type exportHead struct {
	origin origin
	made   time.Time
	shapes [len(reportKinds)]shape // that the options plan for, by reportKinds
}

// ExportOwn writes this site's own state: the filters of all kept generations, what is
// retouched in them, and the never-list; under the previous key, too, while the key is
// rolled over. Reports may go on meanwhile: the export has what stood when it began, and
// perhaps some of what came after. It is not secret from who has the federation key, and
// says nothing to others but sizes and times. ErrClosed, or the writer's error.
func (db *DB) ExportOwn(w io.Writer) error {
	if db.closed.Load() {
		return ErrClosed
	}
	out := bufio.NewWriter(w)
	if _, err := out.Write(appendExportHeader(nil, len(db.both()))); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	err := db.inOrder(func(d *DB) error {
		e := exporter{db: d, w: out, chain: frameChain{db: d}}
		return e.part()
	})
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return nil
}

func appendExportHeader(b []byte, parts int) []byte {
	return append(append(b, exportMagic...), 0, exportVersion, byte(parts))
}

// frameChain makes the HMACs of a part's frames.
type frameChain struct {
	db     *DB
	number uint64
	before [macSize]byte // of the frame before; zeros before the first one
}

// next is the HMAC of the next frame: length and body.
func (c *frameChain) next(frame []byte) [macSize]byte {
	var number [8]byte
	binary.BigEndian.PutUint64(number[:], c.number)
	c.number++
	c.before = c.db.keyed.Sum(purposeExport, number[:], c.before[:], frame)
	return c.before
}

// exporter writes one part: the state under one federation key.
type exporter struct {
	db    *DB
	w     *bufio.Writer
	chain frameChain
	frame []byte // length and body of the one that is being made
	cells []filter.Cell
}

func (e *exporter) part() error {
	if _, err := e.w.Write(e.db.keyID[:]); err != nil {
		return err
	}
	steps := []func() error{e.head, e.never, e.retouched, e.filters, func() error { e.begin(frameEnd); return e.end() }}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// begin begins a frame.
func (e *exporter) begin(kind frameKind) { e.frame = append(e.frame[:0], 0, 0, 0, 0, byte(kind)) }

// end writes it.
func (e *exporter) end() error {
	binary.BigEndian.PutUint32(e.frame, uint32(len(e.frame)-4))
	mac := e.chain.next(e.frame)
	if _, err := e.w.Write(e.frame); err != nil {
		return err
	}
	_, err := e.w.Write(mac[:])
	return err
}

func (e *exporter) head() error {
	e.begin(frameHead)
	site := e.db.opt.Site
	e.frame = append(append(e.frame, byte(len(site))), site...)
	e.frame = binary.BigEndian.AppendUint64(e.frame, e.db.pub.epoch())
	e.frame = binary.BigEndian.AppendUint64(e.frame, uint64(e.db.opt.Now().UnixMilli()))
	for _, s := range e.db.plannedShapes() {
		e.frame = s.appendTo(e.frame)
	}
	return e.end()
}

// plannedShapes are those of the options, by reportKinds.
func (db *DB) plannedShapes() (shapes [len(reportKinds)]shape) {
	for i, b := range []filter.BitsShape{db.spamShape, db.revokedShape, db.classShape, db.sketchShape} {
		shapes[i] = bitsShape(b)
	}
	return shapes
}

func (e *exporter) never() error {
	entries := e.db.never.all()
	for len(entries) > 0 {
		e.begin(frameNever)
		for len(entries) > 0 && len(e.frame) < fullExportBody {
			code := encodeNever(e.db.keyID, entries[0])
			e.frame = append(binary.BigEndian.AppendUint32(e.frame, uint32(len(code))), code...)
			entries = entries[1:]
		}
		if err := e.end(); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) retouched() error {
	v := e.db.current()
	for _, g := range v.reports {
		if g.mask == nil {
			continue
		}
		t := target{spamFilter, g.num}
		for keys := range slices.Chunk(g.mask.all(), fullExportBody/retouchedSize) {
			e.begin(frameRetouched)
			e.frame = e.db.appendSectionHead(e.frame, t, bitsShape(g.mask.shape))
			for _, k := range keys {
				e.frame = appendRetouched(e.frame, k)
			}
			if err := e.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// filters writes the cells, the oldest generation of each kind first.
func (e *exporter) filters() error {
	v := e.db.current()
	for _, kind := range exportOrder {
		var gens []int64
		if kind == countFilter {
			for _, g := range v.counts {
				gens = append(gens, g.num)
			}
		} else {
			for _, g := range v.reports {
				gens = append(gens, g.num)
			}
		}
		slices.Sort(gens)
		for _, gen := range gens {
			t := target{kind, gen}
			if e.db.early(t) {
				continue // the clock was wrong when it began
			}
			if err := e.filter(t); err != nil {
				return err
			}
		}
	}
	return nil
}

// filter writes the blocks with non-zero cells of one filter, in as many frames as they
// need.
func (e *exporter) filter(t target) error {
	own, ok := e.db.ownFilter(t)
	if !ok {
		return nil
	}
	begun := false
	for i := range own.shape.blocks(t.kind) {
		if e.cells = own.block(i, e.cells[:0]); len(e.cells) == 0 {
			continue
		}
		if !begun {
			e.begin(frameCells)
			e.frame = e.db.appendSectionHead(e.frame, t, own.shape)
			begun = true
		}
		at := len(e.frame)
		e.frame = appendBlockHead(e.frame, uint32(i))
		e.frame = filter.AppendCells(e.frame, i*t.kind.blockSize(), e.cells, t.kind.counts())
		binary.BigEndian.PutUint32(e.frame[at+4:], uint32(len(e.frame)-at-8))
		if len(e.frame) >= fullExportBody {
			if err := e.end(); err != nil {
				return err
			}
			begun = false
		}
	}
	if !begun {
		return nil
	}
	return e.end()
}
