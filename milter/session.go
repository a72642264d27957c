package milter

import (
	"fmt"
	"net"
	"net/netip"
	"net/textproto"
	"strings"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/milter/health"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
)

// session is one MTA connection: one or more SMTP clients, each with any number of
// messages. The library calls its methods one after the other.
type session struct {
	conn     *conn
	server   *Server
	listener string     // its name
	remote   net.Addr   // of the MTA
	place    netip.Addr // of an ordinary user among the turns; invalid: it is an MTA
	client   netip.Addr
	helo     string
	macros   protocol.Known // of connect and HELO; they apply to each message
	pending  protocol.Known // of the latest macro packet; they apply to the next command
	msg      *message       // nil between two messages
}

// sticky is a response after which the library keeps the session. Without it the library
// would replace the session after each accept, reject, tempfail or discard. That would lose
// the client's address and, for a rejected recipient, the rest of the message.
type sticky struct{ once gomilter.Response }

func (r sticky) Response() *gomilter.Message { return r.once.Response() }
func (sticky) Continue() bool                { return true }

// next lets the MTA continue. It sends nothing if the MTA does not wait.
func (x *session) next(silent gomilter.OptProtocol) (gomilter.Response, error) {
	if x.conn.protocol&silent != 0 {
		return nil, nil
	}
	return gomilter.RespContinue, nil
}

// collect takes over the pending macros. A macro of one message must not appear in the next.
func (x *session) collect(into *protocol.Known) {
	into.Merge(x.pending)
	x.pending = protocol.Known{}
}

// message returns the message in flight, and creates it at MAIL.
func (x *session) message() *message {
	if x.msg == nil {
		o := x.server.options.Load()
		x.msg = &message{
			Known:     x.macros,
			Envelope:  policy.Envelope{Listener: x.listener, Client: x.client, Helo: x.helo},
			countsAll: o.countsRecipients(x.remote),
			options:   o,
			server:    x.server,
			holder:    x.conn.holder,
			place:     x.place,
			isUsers:   x.place.IsValid(),
		}
		x.conn.Busy.Store(true)
	}
	x.collect(&x.msg.Known)
	return x.msg
}

// drop releases the message. The connection's data stay.
func (x *session) drop() {
	if x.msg != nil {
		x.msg.release()
		x.msg = nil
	}
}

// end drops the message and marks the connection as idle.
func (x *session) end() {
	x.drop()
	x.conn.replied = true
}

// newClient begins a new SMTP session on the same connection.
func (x *session) newClient() {
	x.end()
	x.client, x.helo, x.macros, x.pending = netip.Addr{}, "", protocol.Known{}, protocol.Known{}
}

// localhost stands for a client without an address, a local submission.
var localhost = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// Connect implements gomilter.Milter.
func (x *session) Connect(_, family string, _ uint16, ip net.IP, _ *gomilter.Modifier) (gomilter.Response, error) {
	addr, ok := netip.AddrFromSlice(ip)
	if !ok && !strings.HasPrefix(family, "tcp") {
		addr = localhost
	}
	x.client = addr.Unmap()
	x.collect(&x.macros)
	return x.next(gomilter.OptNoConnReply)
}

// Helo implements gomilter.Milter.
func (x *session) Helo(name string, _ *gomilter.Modifier) (gomilter.Response, error) {
	x.helo = bounded(name)
	x.collect(&x.macros)
	return x.next(gomilter.OptNoHeloReply)
}

// MailFrom implements gomilter.Milter. It also ends the previous message, because Sendmail
// sends no ABORT between two messages.
func (x *session) MailFrom(from string, _ *gomilter.Modifier) (gomilter.Response, error) {
	x.drop()
	x.conn.Begun.Store(false)
	x.message().Sender = bounded(from)
	return x.next(gomilter.OptNoMailReply)
}

// RcptTo implements gomilter.Milter.
func (x *session) RcptTo(to string, _ *gomilter.Modifier) (gomilter.Response, error) {
	resolved := x.pending.Resolved
	x.message().addRecipient(x.msg.Known.Recipient(to, resolved))
	return x.next(gomilter.OptNoRcptReply)
}

// Header implements gomilter.Milter, for MTAs that wait for an answer. It empties the library's
// map, where headers would accumulate without limit: Sendmail never sends ABORT.
func (x *session) Header(name, value string, m *gomilter.Modifier) (gomilter.Response, error) {
	clear(m.Headers)
	x.field(name, value)
	return gomilter.RespContinue, nil
}

func (x *session) field(name, value string) {
	x.conn.Begun.Store(true)
	x.message().addField(name, value)
}

// Headers implements gomilter.Milter: the end of the header. It ignores the library's map,
// which has lost order and spelling.
func (x *session) Headers(textproto.MIMEHeader, *gomilter.Modifier) (gomilter.Response, error) {
	x.conn.Begun.Store(true)
	x.message()
	return x.next(gomilter.OptNoEOHReply)
}

// BodyChunk implements gomilter.Milter, for MTAs that wait for an answer.
func (x *session) BodyChunk(chunk []byte, _ *gomilter.Modifier) (gomilter.Response, error) {
	if more := x.chunk(chunk); !more && x.conn.protocol&gomilter.OptSkip != 0 {
		return sticky{gomilter.NewResponse(byte(gomilter.ActSkip), nil)}, nil
	}
	return gomilter.RespContinue, nil
}

// chunk reports whether more of the body is needed. The message may hold a chunk of spill.SmallChunk bytes
// or more.
func (x *session) chunk(chunk []byte) (more bool) { return x.message().addChunk(chunk) }

// Abort implements gomilter.Milter.
func (x *session) Abort(*gomilter.Modifier) error {
	x.pending = protocol.Known{}
	x.end()
	return nil
}

// Body implements gomilter.Milter: the end of message. It returns no error and recovers
// every panic: both would end the connection, and Postfix would answer all further mail of
// the SMTP session with 451.
func (x *session) Body(m *gomilter.Modifier) (resp gomilter.Response, _ error) {
	defer x.end()
	msg := x.message()
	x.conn.Begun.Store(true)
	defer func() {
		if v := recover(); v != nil {
			resp = response(x.server.fail(msg, causeError, health.NewPanic(v)))
		}
	}()
	return x.endOfMessage(msg, m), nil
}

// endOfMessage judges, answers and logs a message.
func (x *session) endOfMessage(msg *message, m *gomilter.Modifier) gomilter.Response {
	begun := time.Now()
	d := x.server.decide(msg, x.conn.progress)
	if err := msg.forged.Modify(m, header.Own{Flag: msg.options.SpamFlag, Site: msg.options.Site}, d); err != nil {
		d = x.server.fail(msg, causeError, fmt.Errorf("answer: %w", err))
	}
	took := time.Since(begun)
	x.server.metrics.Answered(msg.options.Site, msg.size, d, took)
	msg.log(d, took)
	return response(d)
}

// response returns the final answer for the message.
func response(d policy.Decision) gomilter.Response {
	switch d.Action {
	case policy.Reject:
		return reply("550 5.7.1 Message refused: " + header.ShortName(d))
	case policy.Tempfail:
		return reply("451 4.7.1 Try again later: " + header.ShortName(d))
	case policy.Discard:
		return sticky{gomilter.RespDiscard}
	}
	return gomilter.RespContinue
}

// reply returns an SMTP reply of our own. MTAs read it as a format: Postfix drops a single
// %, and Sendmail replaces the whole text.
func reply(text string) gomilter.Response {
	return sticky{gomilter.NewResponseStr(byte(gomilter.ActReplyCode), strings.ReplaceAll(text, "%", "%%"))}
}
