package milter

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/milter/health"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/turns"
	"github.com/spambloom/spambloom/signature"
)

// ConnectionMemory is the memory that a connection may hold beside Options.MaxMemory. Unit: bytes.
const ConnectionMemory = share + ordinary + perConnection

// Mail is a message that reaches the server without the milter protocol: as one text, and
// without an envelope. It is bounded, judged, counted and logged like the mail of an MTA,
// with these differences. It counts once, is never deferred, and no rule for a client, a
// sender or a recipient applies to it. Its actions are left to the client, which receives
// the verdict. Each of the door's clients has a line of its own among the turns.
//
// It is for one goroutine. Close must be called.
type Mail struct {
	msg    *message
	head   header.Head // the header as it was received; until it is complete, all that was received
	inBody bool
	isLost bool // the body is not held
	noHead bool // head is not held, or only its beginning
	server *Server
}

// NewMail begins a message. Overrides refer to the listener by name; the log names the door,
// which is the protocol. Client and isUser are those of door.Client. It returns nil if Shutdown has begun.
func (s *Server) NewMail(door, listener, client string, isUser bool) *Mail {
	if !s.door.Begin() {
		return nil
	}
	o := *s.options.Load()
	o.GreylistFrom = 0
	return &Mail{server: s, msg: &message{
		door: door, place: turns.PlaceOf(client), Envelope: policy.Envelope{Listener: listener}, options: &o, server: s,
		holder: s.clients.Enter(client), isUsers: isUser,
	}}
}

// Close releases the message.
func (m *Mail) Close() {
	m.msg.release()
	m.server.clients.Leave(m.msg.holder)
	m.server.door.End()
}

// Write appends to the message. It fails with io.ErrShortWrite as soon as the rest of the
// message is not needed: it exceeds MaxMessage, or no memory is left for the body. It keeps no part of p.
func (m *Mail) Write(p []byte) (int, error) {
	if m.inBody {
		m.msg.addChunk(bytes.Clone(p))
	} else {
		m.addHead(p)
	}
	if m.msg.oversize {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

// addHead collects the header up to the empty line after it. Without room it goes on in short pieces, from
// which it takes the fields that have room: a long header would hide the body otherwise.
func (m *Mail) addHead(p []byte) {
	reason := m.hold(p)
	if reason == "" {
		return
	}
	m.noHead = true
	m.msg.cutHeader(reason)
	for piece := range slices.Chunk(p, header.Piece) {
		runtime.Gosched() // see readPacket
		m.addPiece(piece)
	}
}

// addPiece adds a short piece. Where that has no room, it passes the complete fields on. The field that goes
// on is kept whole if it is at most half of the head: it may say how the body is read.
func (m *Mail) addPiece(p []byte) {
	for _, most := range []int{len(m.head) / 2, header.Piece, 0} {
		switch {
		case m.inBody:
			m.msg.addChunk(bytes.Clone(p))
			return
		case m.hold(p) == "": // with the least it has room: fields leave an eighth of the share
			return
		case m.head.Take(max(most, header.Piece), m.pass):
			m.bookHead()
		default: // the body has begun without an empty line
			m.endHead()
		}
	}
}

// hold appends to the head, or returns the reason for which there is no room.
func (m *Mail) hold(p []byte) (reason string) {
	most := max(header.Ordinary, m.msg.options.MaxMessage) // less hides the header from those who ask for it
	memory := header.Memory(len(m.head)+len(p)) - header.Memory(len(m.head))
	switch {
	case int64(len(m.head)) > most:
		return overMessage
	case !m.msg.book(memory):
		return overMemory
	}
	m.msg.ahead += memory
	if m.head.Add(p) {
		m.endHead()
	}
	return ""
}

// endHead passes the fields on, and the part of the body that was received with them.
func (m *Mail) endHead() {
	if m.inBody {
		return
	}
	received := m.head
	m.inBody, m.head = true, nil
	body := signature.EachField(received, m.pass)
	m.bookHead()
	head := received[:len(received)-len(body)]
	n := header.Memory(len(head))
	isWithin := n <= m.msg.left()-share/4 // a quarter of the share is for the body
	if m.noHead = m.noHead || !m.msg.take(n, isWithin); !m.noHead {
		m.msg.ahead, m.head = n, bytes.Clone(head)
		if !isWithin {
			m.msg.beyond += n
		}
	}
	m.msg.addChunk(bytes.Clone(body))
}

// pass adds a field that was taken from the head, with as much of its memory as was booked ahead.
func (m *Mail) pass(f signature.Field) {
	n := int64(len(f.Name) + len(f.Value))
	if m.inBody { // a head that goes on needs what is booked beyond the field's text
		n += fieldOverhead
	}
	n = min(n, m.msg.ahead)
	m.msg.unbook(n) // addField books it again
	m.msg.ahead -= n
	m.msg.addField(f.Name, f.Value)
}

// bookHead returns what is booked ahead beyond the head.
func (m *Mail) bookHead() {
	rest := min(m.msg.ahead, header.Memory(len(m.head)))
	m.msg.unbook(m.msg.ahead - rest)
	m.msg.ahead = rest
}

// Judge returns the decision on the message, whose action is policy.Tempfail if the message
// was not judged and Options.Tempfail selects the cause. It also returns the value of the
// header X-Spambloom.
func (m *Mail) Judge() (d policy.Decision, field string) {
	m.endHead()
	begun := time.Now()
	d = m.guard(func() policy.Decision { return m.server.decide(m.msg, func() {}) })
	if d.Verdict != policy.Failed {
		d.Action = policy.Tag
	}
	took := time.Since(begun)
	m.server.metrics.Answered(m.msg.options.Site, m.msg.size, d, took)
	m.msg.log(d, took)
	return d, header.Value(d, m.msg.options.Site)
}

// Sign returns the message's signatures, without judging or counting it. It fails if neither the whole
// message could be signed nor as much as MaxMessage allows: a report of less would not be one of the message.
func (m *Mail) Sign() (signature.Set, error) {
	m.endHead()
	signed := make(chan signature.Set, 1)
	m.msg.signed = signed
	d := m.guard(func() policy.Decision { return m.server.judgeInTurn(m.msg, func() {}) })
	switch {
	case d.Verdict == policy.Failed:
		return signature.Set{}, fmt.Errorf("message not signed: %s", d.Reason)
	case d.Short:
		return signature.Set{}, errors.New("message not signed: only its beginning had a turn or memory")
	}
	return <-signed, nil
}

// Sign is signature.Compute for mail that does not come from an MTA, such as a trap's. It
// needs no turn, and neither takes more memory nor delays mail.
func (s *Server) Sign(m signature.Message) (set signature.Set) {
	s.turns.Beside(func(unpacking signature.Unpacking) { set = s.sign(m, unpacking, nil) })
	return set
}

// guard turns a panic into a failure of this one message.
func (m *Mail) guard(decide func() policy.Decision) (d policy.Decision) {
	defer func() {
		if v := recover(); v != nil {
			d = m.server.fail(m.msg, causeError, health.NewPanic(v))
		}
		m.isLost = m.isLost || d.Verdict == policy.Failed // its content may be held by the judgement
	}()
	return decide()
}

// HasHead reports whether Head returns the whole header; IsWhole, whether WriteBody returns the rest, too.
func (m *Mail) HasHead() bool { return !m.noHead }
func (m *Mail) IsWhole() bool { return !m.isLost && !m.noHead && !m.msg.oversize }

// Head returns the header as it was received, with the empty line if there is one.
func (m *Mail) Head() []byte { return m.head }

// BodySize returns the size of the body. Unit: bytes.
func (m *Mail) BodySize() int64 { return m.msg.body.Size() + m.msg.rest.Size() }

// WriteBody writes the body to w.
func (m *Mail) WriteBody(w io.Writer) error {
	if err := m.msg.body.Copy(w); err != nil || m.msg.rest == nil {
		return err
	}
	return m.msg.rest.Copy(w)
}
