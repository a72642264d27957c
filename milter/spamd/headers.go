package spamd

import (
	"bytes"
	"errors"

	"github.com/spambloom/spambloom/milter"
)

// headers returns the header with those of the result. spamc appends the body itself: what follows the
// first "\n\n" or "\r\n\r\n". If the header ends otherwise, the answer includes what is before that, where
// rspamd searches for the status, too.
func (c *conn) headers(q request, m *milter.Mail, r *result) error {
	g := newGap(m.Head())
	isHeld := m.HasHead() && (g.isClosed || m.IsWhole())
	if isHeld && !g.isClosed {
		_ = m.WriteBody(g) // fails at the end of the gap
	}
	if !isHeld || g.isLong {
		return &Error{CodeTempFail, "the header is not held, use the message as it is"}
	}
	return c.send(r.answer(q, append(r.tag(m.Head()), hideStatus(g.between())...)))
}

// maxGap bounds the part of a body that is returned with a header. Unit: bytes.
const maxGap = 64 << 10

// gap receives the body up to the place where spamc takes it to begin.
type gap struct {
	text     []byte // the header's last bytes, and the gap
	before   int    // number of the header's bytes in text
	isClosed bool   // text ends where the body begins for spamc
	isLong   bool
}

func newGap(head []byte) *gap {
	g := &gap{text: bytes.Clone(head[max(0, len(head)-len("\r\n\r")):])}
	g.before = len(g.text)
	g.isClosed = bytes.HasSuffix(head, []byte("\n\n")) || bytes.HasSuffix(head, []byte("\r\n\r\n"))
	return g
}

func (g *gap) between() []byte { return g.text[g.before:] }

var errGapEnds = errors.New("end of the gap")

// Write appends to the gap. It fails at its end.
func (g *gap) Write(p []byte) (int, error) {
	from := max(0, len(g.text)-len("\r\n\r"))
	for _, c := range p {
		g.text = append(g.text, c)
		if end := g.text[from:]; c == '\n' && (bytes.HasSuffix(end, []byte("\n\n")) || bytes.HasSuffix(end, []byte("\r\n\r\n"))) {
			g.isClosed = true
			return 0, errGapEnds
		}
		if len(g.text) > maxGap {
			g.isLong = true
			return 0, errGapEnds
		}
	}
	return len(p), nil
}
