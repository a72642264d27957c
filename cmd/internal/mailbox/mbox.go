package mailbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// from is the beginning of the line before a message (RFC 4155, appendix A).
var from = []byte("From ")

// postmark matches such a line as written by mail programs: an address and a date with time
// and year. In old mboxes, unquoted lines of text may begin with "From " after an empty
// line; those are not postmarks.
var postmark = regexp.MustCompile(`^From +\S.*\d\d?:\d\d.* \d{4}\b`)

// quoted matches a line of text quoted by the writer of the mbox: with one more ">" in an
// mboxrd, and only for "From " itself in an mboxo.
var quoted = regexp.MustCompile(`^>+From `)

// mbox splits an mbox into messages, line by line.
type mbox struct {
	in    *bufio.Reader
	limit int // maximum bytes kept of a message

	raw   []byte
	cut   bool // raw reached the limit
	blank bool // the previous line was empty
	start bool // the next piece begins a line
	line  int  // bytes of the line so far
}

// maxLine bounds a line. A file with holes may be longer than a reader can ever read, and costs its
// owner nothing, but it has no lines there.
const maxLine = MaxMessage

var errLongLine = errors.New("a line of more than 64 MiB is not mail; the rest is not read")

func readMbox(name string, in *bufio.Reader, limit int, yield func(Message, error) bool) bool {
	box := &mbox{in: in, limit: limit}
	if err := box.skipLine(); err != nil && !errors.Is(err, io.EOF) {
		return yield(Message{Name: name}, named(name, err))
	}
	for n := 1; ; n++ {
		err := box.next()
		if err != nil && !errors.Is(err, io.EOF) {
			return yield(Message{Name: name}, named(name, err))
		}
		m := Message{Name: fmt.Sprintf("%s:%d", name, n), Raw: box.raw, Truncated: box.cut}
		if err != nil && n == 1 {
			m.Name = name // a single message, as saved by a mail program
		}
		if more := yieldMessage(m, yield); !more || err != nil {
			return more
		}
	}
}

// skipLine discards the rest of a line.
func (b *mbox) skipLine() error {
	for n := 0; ; {
		piece, err := b.in.ReadSlice('\n')
		if n += len(piece); n > maxLine {
			return errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// next reads up to and including the next postmark, or returns io.EOF at the end.
func (b *mbox) next() error {
	b.raw, b.cut, b.blank, b.start, b.line = nil, false, true, true, 0
	for {
		piece, err := b.in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if b.start && b.blank && postmark.Match(piece) {
			if full {
				err = b.skipLine()
			}
			b.dropSeparator()
			// An mbox that ends in a postmark has one more message of 0 bytes, which the
			// next call finds.
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		if b.line += len(piece); b.line > maxLine {
			return errLongLine
		}
		b.add(piece)
		b.blank = b.start && len(bytes.TrimRight(piece, "\r\n")) == 0 && len(piece) > 0
		if b.start = !full; b.start {
			b.line = 0
		}
		if err != nil && !full {
			return err
		}
	}
}

// add appends a piece of a line, unquoted, within the limit.
func (b *mbox) add(piece []byte) {
	if b.start && quoted.Match(piece) {
		piece = piece[1:]
	}
	if room := b.limit - len(b.raw); len(piece) > room {
		piece, b.cut = piece[:room], true
	}
	b.raw = append(b.raw, piece...)
}

// dropSeparator removes the empty line before a postmark.
func (b *mbox) dropSeparator() {
	if b.cut {
		return
	}
	b.raw = bytes.TrimSuffix(b.raw, []byte("\n"))
	b.raw = bytes.TrimSuffix(b.raw, []byte("\r"))
}
