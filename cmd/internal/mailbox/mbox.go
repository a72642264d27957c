package mailbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// from begins the line that begins a message (RFC 4155, appendix A).
var from = []byte("From ")

// postmark is such a line as mail programs write it: an address and a date with
// time and year. Old mboxes have unquoted lines of text that begin with "From "
// after an empty one; those are no postmarks.
var postmark = regexp.MustCompile(`^From +\S.*\d\d?:\d\d.* \d{4}\b`)

// quoted is a line of text that the writer of the mbox has quoted: once more in
// an mboxrd, and only "From " itself in an mboxo.
var quoted = regexp.MustCompile(`^>+From `)

// mbox cuts an mbox into messages, line by line.
type mbox struct {
	in    *bufio.Reader
	limit int // bytes kept of a message

	raw   []byte
	cut   bool // raw reached the limit
	blank bool // the line before was empty
	start bool // the piece to come begins a line
}

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
			m.Name = name // a single message, as a delivery agent pipes it
		}
		if more := yieldMessage(m, yield); !more || err != nil {
			return more
		}
	}
}

// skipLine reads past the rest of a line.
func (b *mbox) skipLine() error {
	for {
		_, err := b.in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// next reads up to and with the next postmark, or to the end: io.EOF.
func (b *mbox) next() error {
	b.raw, b.cut, b.blank, b.start = nil, false, true, true
	for {
		piece, err := b.in.ReadSlice('\n')
		full := errors.Is(err, bufio.ErrBufferFull)
		if b.start && b.blank && postmark.Match(piece) {
			if full {
				err = b.skipLine()
			}
			b.dropSeparator()
			// An mbox that ends in a postmark has one more message, of 0 bytes,
			// which the next call finds.
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err
		}
		b.add(piece)
		b.blank = b.start && len(bytes.TrimRight(piece, "\r\n")) == 0 && len(piece) > 0
		b.start = !full
		if err != nil && !full {
			return err
		}
	}
}

// add keeps a piece of a line, unquoted, as far as the limit allows.
func (b *mbox) add(piece []byte) {
	if b.start && quoted.Match(piece) {
		piece = piece[1:]
	}
	if room := b.limit - len(b.raw); len(piece) > room {
		piece, b.cut = piece[:room], true
	}
	b.raw = append(b.raw, piece...)
}

// dropSeparator takes off the empty line that the mbox puts before a postmark.
func (b *mbox) dropSeparator() {
	if b.cut {
		return
	}
	b.raw = bytes.TrimSuffix(b.raw, []byte("\n"))
	b.raw = bytes.TrimSuffix(b.raw, []byte("\r"))
}
