package reporting

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"
)

// The stream of an export, see FORMAT.md: frames of bounded size, whose checksums
// each go over all that came before them.
const (
	exportMagic   = "SBSTATE\n"
	exportVersion = 1
	frameHead     = 1 + 4    // type, length of the body
	frameTail     = 4        // checksum
	maxFrame      = 64 << 10 // bytes of a body
	maxHeadFrame  = 4 << 10  // likewise, of the first one
)

// section is the type of a frame: what its body is a part of.
type section byte

const (
	sectionHead    section = 'h'
	sectionLedger  section = 'l'
	sectionFilters section = 'f'
	sectionEnd     section = 'e'
)

func (s section) String() string {
	switch s {
	case sectionHead:
		return "head"
	case sectionLedger:
		return "ledger"
	case sectionFilters:
		return "filters"
	case sectionEnd:
		return "end"
	case 0:
		return "the beginning"
	}
	return fmt.Sprintf("section %#x", byte(s))
}

// ErrExport is wrapped where a stream is not a whole export that this version reads.
var ErrExport = errors.New("no whole export")

func notExport(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrExport, fmt.Errorf(format, args...))
}

// ExportHead says whose state an export is.
type ExportHead struct {
	Site    string    `json:"site"`
	KeyID   string    `json:"key_id"` // of the federation key
	Made    time.Time `json:"made"`
	Version string    `json:"version,omitempty"` // of the daemon that made it
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// exportWriter writes an export. It buffers one frame; the first error of the stream
// below ends it, and is returned by all that follows.
type exportWriter struct {
	w     io.Writer
	sum   uint32
	frame []byte // of the section, not written yet
	of    section
	err   error
}

// newExportWriter begins an export.
func newExportWriter(w io.Writer, head ExportHead) (*exportWriter, error) {
	text, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	if len(text) > maxHeadFrame {
		return nil, fmt.Errorf("head of %d bytes; at most %d", len(text), maxHeadFrame)
	}
	x := &exportWriter{w: w}
	x.put(append([]byte(exportMagic), 0, exportVersion))
	x.of, x.frame = sectionHead, text
	x.flush()
	return x, x.err
}

// put writes bytes and sums them up.
func (x *exportWriter) put(b []byte) {
	if x.err == nil {
		x.sum = crc32.Update(x.sum, castagnoli, b)
		_, x.err = x.w.Write(b)
	}
}

// flush writes the frame, if there is something in it or it is the end.
func (x *exportWriter) flush() {
	if len(x.frame) == 0 && x.of != sectionEnd {
		return
	}
	b := binary.BigEndian.AppendUint32([]byte{byte(x.of)}, uint32(len(x.frame)))
	x.put(append(b, x.frame...))
	x.put(binary.BigEndian.AppendUint32(nil, x.sum))
	x.frame = x.frame[:0]
}

// section begins a section; what is written then belongs to it.
func (x *exportWriter) section(s section) {
	x.flush()
	x.of = s
}

// Write adds to the section.
func (x *exportWriter) Write(b []byte) (n int, err error) {
	for n < len(b) && x.err == nil {
		part := min(len(b)-n, maxFrame-len(x.frame))
		x.frame = append(x.frame, b[n:n+part]...)
		n += part
		if len(x.frame) == maxFrame {
			x.flush()
		}
	}
	return n, x.err
}

// close ends the export. Without it the stream is not whole.
func (x *exportWriter) close() error {
	x.section(sectionEnd)
	x.flush()
	return x.err
}

// exportReader reads an export, one frame at a time. All its errors but those of the
// stream below wrap ErrExport.
type exportReader struct {
	Head ExportHead
	r    io.Reader
	sum  uint32
	of   section // of the frame
	body []byte  // of the frame, what is not read yet
	buf  []byte
}

// newExportReader reads the beginning of an export.
func newExportReader(r io.Reader) (*exportReader, error) {
	x := &exportReader{r: r}
	var begin [len(exportMagic) + 2]byte
	if err := x.fill(begin[:]); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(begin[:], []byte(exportMagic)) {
		return nil, notExport("it does not begin as one")
	}
	if v := binary.BigEndian.Uint16(begin[len(exportMagic):]); v != exportVersion {
		return nil, notExport("it is of version %d, this program reads %d", v, exportVersion)
	}
	if err := x.next(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(x.body, &x.Head); err != nil {
		return nil, notExport("its head: %w", err)
	}
	return x, nil
}

// fill reads all of b.
func (x *exportReader) fill(b []byte) error {
	_, err := io.ReadFull(x.r, b)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return notExport("it is cut off")
	case err != nil:
		return err
	}
	x.sum = crc32.Update(x.sum, castagnoli, b)
	return nil
}

// next reads a frame.
func (x *exportReader) next() error {
	var head [frameHead]byte
	if err := x.fill(head[:]); err != nil {
		return err
	}
	of, n := section(head[0]), binary.BigEndian.Uint32(head[1:])
	if err := x.follows(of, n); err != nil {
		return err
	}
	x.buf = slices.Grow(x.buf[:0], int(n))[:n]
	if err := x.fill(x.buf); err != nil {
		return err
	}
	var tail [frameTail]byte
	sum := x.sum
	if err := x.fill(tail[:]); err != nil {
		return err
	}
	if said := binary.BigEndian.Uint32(tail[:]); said != sum {
		return notExport("%v: the checksum is %08x, should be %08x", of, said, sum)
	}
	x.of, x.body = of, x.buf
	return nil
}

// sectionOrder is how sections follow each other; frames of one stand together.
var sectionOrder = []section{0, sectionHead, sectionLedger, sectionFilters, sectionEnd}

// follows says whether a frame may come here. The checksum comes only behind its body.
func (x *exportReader) follows(of section, n uint32) error {
	least, most := uint32(1), uint32(maxFrame)
	switch of {
	case sectionHead:
		most = maxHeadFrame
	case sectionEnd:
		least, most = 0, 0
	}
	before, now := slices.Index(sectionOrder, x.of), slices.Index(sectionOrder, of)
	switch {
	case now < 1:
		return notExport("%v is not known here: it is damaged, or a newer version made it", of)
	case now < before, (before == 0) != (of == sectionHead):
		return notExport("%v after %v", of, x.of)
	case n < least || n > most:
		return notExport("%v: a frame of %d bytes; %d to %d are allowed", of, n, least, most)
	}
	return nil
}

// sectionReader reads one section of an export, and stops at the next one.
type sectionReader struct {
	x  *exportReader
	of section
}

// section reads the section s, which is empty where there is none. The sections must
// be read in their order, each to its end.
func (x *exportReader) section(s section) io.Reader { return sectionReader{x, s} }

func (s sectionReader) Read(b []byte) (int, error) {
	for s.x.of == sectionHead || s.x.of == s.of && len(s.x.body) == 0 {
		if err := s.x.next(); err != nil {
			return 0, err
		}
	}
	if s.x.of != s.of || s.of == sectionEnd {
		return 0, io.EOF
	}
	n := copy(b, s.x.body)
	s.x.body = s.x.body[n:]
	return n, nil
}

// rest reads all that is left and checks it; nothing may follow the end.
func (x *exportReader) rest() error {
	for x.of != sectionEnd {
		if err := x.next(); err != nil {
			return err
		}
	}
	var more [1]byte
	if n, err := io.ReadFull(x.r, more[:]); n > 0 {
		return notExport("more follows its end")
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
