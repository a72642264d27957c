package milter

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/milter/room"
)

const (
	// offerTimeout is the limit for the MTA's first packet; Postfix and Sendmail send it at
	// once.
	offerTimeout = 30 * time.Second
	// keptBuffer is the largest packet buffer that a connection keeps between two packets.
	// It is also the part of a packet that is read before its length is believed.
	keptBuffer = 4 << 10
	// ordinary is the largest packet that is read without booking memory. MTAs send bodies
	// in packets of 64 KiB; only a header field can be longer. Unit: bytes.
	ordinary = 64<<10 + 1
	// overtime is how long a message may continue past its connection's maximum age.
	overtime = time.Hour
)

// Stages at which an MTA was silent for too long; the metric uses these names.
const (
	stageOffer      = "offer"
	stageIdle       = "idle"       // between two messages
	stageEnvelope   = "envelope"   // between MAIL and the header
	stageContent    = "content"    // between two packets of header and body
	stagePacket     = "packet"     // within a packet
	stageWrite      = "write"      // the MTA does not read our answer
	stageConnection = "connection" // not silent, but too old
)

var (
	errDraining = errors.New("server is shutting down")
	errAged     = errors.New("connection reached its maximum age")
	errMemory   = errors.New("no memory for a packet (limit: milter.max_memory)")
)

// conn is an MTA's connection as the library sees it. It passes on only whole, checked
// packets, sets the deadlines that the library lacks, and reports errors. The library sees
// every end as io.EOF, so that it writes nothing to the process-wide log. Written data is
// sent before the next packet is awaited: headers and action of a message go out together.
//
// All methods belong to the session's goroutine. It is busy while a message is in flight, from
// MAIL until its reply is sent, and has begun from the first header on.
type conn struct {
	*door.Conn
	server  *Server
	holder  *room.Client // for whom its memory is booked
	session *session
	born    time.Time
	raw     syscall.RawConn // TCP only
	in      *bufio.Reader
	buffer  []byte // the last packet read, with its length
	booked  int64  // its bytes in Server.held
	counted int64  // its bytes in Server.packets
	unread  []byte // the part of buffer that the library has not read
	long    bool   // the library still has a long packet
	out     []byte // written, not sent
	sendErr error  // the first send error; the connection has ended then

	negotiated bool
	protocol   gomilter.OptProtocol
	stage      string // of the pending read
	replied    bool   // the reply to the message is written

	close sync.Once
}

func newConn(nc *door.Conn, s *Server) *conn {
	c := &conn{Conn: nc, server: s, holder: new(room.Client), in: bufio.NewReader(nc), born: time.Now()}
	if t, ok := nc.Conn.(*net.TCPConn); ok {
		c.raw, _ = t.SyscallConn() // nil on error: then acknowledgements are only delayed
	}
	c.session = &session{conn: c, server: s, remote: nc.RemoteAddr()}
	return c
}

// Read is called by the library alternately for each packet's length and data.
func (c *conn) Read(p []byte) (int, error) {
	if len(c.unread) == 0 {
		if err := c.nextPacket(); err != nil {
			c.report(err)
			return 0, io.EOF
		}
	}
	n := copy(p, c.unread)
	c.unread = c.unread[n:]
	return n, nil
}

// nextPacket reads up to a packet for the library.
func (c *conn) nextPacket() error {
	if c.long {
		c.dropBuffer()
		c.long, c.unread = false, noMacros
		return nil
	}
	for {
		if err := c.endTurn(); err != nil {
			return err
		}
		if err := c.readPacket(); err != nil {
			return err
		}
		if isOurs, err := c.handle(); err != nil || !isOurs {
			return err
		}
	}
}

// handle passes the packet in the buffer to the library, or handles it itself: the offer, which
// the library answers wrongly; an unknown SMTP command and SMFIC_QUIT_NC ("quit, a new client
// follows"), at which the library would end the connection; and macros, header fields and body
// chunks without an answer. The library would copy and parse these several times, and they are
// most packets.
func (c *conn) handle() (isOurs bool, err error) {
	code, data := gomilter.Code(c.buffer[protocol.Head]), c.buffer[protocol.Head+1:]
	switch {
	case code == gomilter.CodeOptNeg:
		var answer []byte
		c.protocol, answer, err = protocol.Negotiate(data)
		c.out, c.negotiated = append(c.out, answer...), err == nil
	case code == protocol.CodeUnknown:
		c.out = protocol.Append(c.out, gomilter.Code(gomilter.ActContinue))
	case code == gomilter.CodeQuitNewConn:
		c.session.newClient()
	case !c.negotiated:
		return false, fmt.Errorf("%w: command %q before the offer", protocol.ErrViolated, byte(code))
	case code == gomilter.CodeMacro:
		c.session.pending, err = protocol.Macros(data)
	case code == gomilter.CodeHeader && c.protocol&gomilter.OptNoHeaderReply != 0:
		var name, value string
		if name, value, err = protocol.Field(data); err == nil {
			c.session.field(name, value)
		}
	case code == gomilter.CodeBody && c.protocol&gomilter.OptNoBodyReply != 0:
		c.session.chunk(data)
	default:
		c.unread, err = protocol.Repair(c.buffer)
		c.long = len(c.unread) > keptBuffer
		return false, err
	}
	return true, err
}

// noMacros is a packet that changes nothing, because the library sees no other macros. It keeps
// each packet until the next one arrives, so it receives this one after a long packet.
var noMacros = []byte{0, 0, 0, 2, byte(gomilter.CodeMacro), 0}

// endTurn sends the written data and ends the message if that was its reply.
func (c *conn) endTurn() error {
	if err := c.flush(); err != nil {
		return err
	}
	if c.replied {
		c.replied = false
		c.Begun.Store(false)
		c.Busy.Store(false)
	}
	switch busy := c.Busy.Load(); {
	case !busy && c.server.door.IsClosing():
		return errDraining
	case !time.Now().Before(c.end()):
		return errAged
	}
	if cap(c.buffer) > keptBuffer { // the message may hold it: hold copies only small chunks
		c.dropBuffer()
	}
	return nil
}

// end returns when the connection is closed, whatever the MTA does.
func (c *conn) end() time.Time {
	end := c.born.Add(c.server.options.Load().ConnectionTimeout)
	if c.Busy.Load() {
		return end.Add(overtime)
	}
	return end
}

// dropBuffer releases the packet's memory.
func (c *conn) dropBuffer() {
	c.server.held.Return(&c.holder.Memory, c.booked)
	c.server.packets.Add(-c.counted)
	c.buffer, c.booked, c.counted = nil, 0, 0
}

// grow makes room in the buffer for a packet of n bytes, including its length field. Memory
// beyond an ordinary packet is charged to that of the messages.
func (c *conn) grow(n int) error {
	if n <= cap(c.buffer) {
		return nil
	}
	const unasked = protocol.Head + ordinary
	if beyond := int64(max(0, n-unasked)) - c.booked; beyond > 0 {
		if !c.server.held.Take(&c.holder.Memory, beyond, c.server.options.Load().memory()) {
			return errMemory
		}
		c.booked += beyond
	}
	counted := int64(min(n, unasked))
	c.server.packets.Add(counted - c.counted)
	c.counted = counted
	c.buffer = append(make([]byte, 0, n), c.buffer...)
	return nil
}

// readPacket reads length and data of one packet into buffer. The length is believed only
// as far as bytes arrive: first for 4 KiB, then for an ordinary packet, then each time for
// twice the bytes received.
func (c *conn) readPacket() error {
	if c.in.Buffered() < protocol.Head {
		runtime.Gosched() // or hundreds of connections with tiny packets would keep the processors for 10 ms each
	}
	stage, limit := c.patience()
	c.await(stage, limit, protocol.Head)
	c.buffer = c.buffer[:0]
	if err := c.readTo(protocol.Head); err != nil {
		return err
	}
	length := int(binary.BigEndian.Uint32(c.buffer))
	if length < 1 || length > protocol.MaxPacket {
		return fmt.Errorf("%w: packet of %d bytes, must be 1 to %d", protocol.ErrViolated, length, protocol.MaxPacket)
	}
	c.await(stagePacket, (*Options).content, length)
	whole := protocol.Head + length
	for step := keptBuffer; len(c.buffer) < whole; step = max(protocol.Head+ordinary, 2*step) {
		if err := c.readTo(min(whole, step)); err != nil {
			return noEOF(err)
		}
		if code := gomilter.Code(c.buffer[protocol.Head]); length > ordinary && code != gomilter.CodeHeader && code != gomilter.CodeBody {
			return fmt.Errorf("%w: packet of %d bytes for command %q, must be 1 to %d", protocol.ErrViolated, length, byte(code), ordinary)
		}
	}
	return nil
}

// readTo reads until the buffer has n bytes.
func (c *conn) readTo(n int) error {
	if err := c.grow(n); err != nil {
		return err
	}
	have := len(c.buffer)
	c.buffer = c.buffer[:n]
	_, err := io.ReadFull(c.in, c.buffer[have:])
	return err
}

func (o *Options) offer() time.Duration   { return min(offerTimeout, o.IdleTimeout) }
func (o *Options) idle() time.Duration    { return o.IdleTimeout }
func (o *Options) content() time.Duration { return o.ContentTimeout }

// patience returns how long the MTA may be silent before the next packet.
func (c *conn) patience() (stage string, limit func(*Options) time.Duration) {
	switch {
	case !c.negotiated:
		return stageOffer, (*Options).offer
	case c.Begun.Load():
		return stageContent, (*Options).content
	case c.Busy.Load():
		return stageEnvelope, (*Options).idle
	}
	return stageIdle, (*Options).idle
}

// await sets the deadline for n bytes that have not arrived yet. On TCP it also requests
// acknowledgements without delay: Sendmail writes each packet in two pieces, and Nagle's
// algorithm holds back the second until the first is acknowledged.
func (c *conn) await(stage string, limit func(*Options) time.Duration, n int) {
	c.stage = stage
	if c.in.Buffered() >= n {
		return
	}
	c.Conn.ReadUntil(func(now time.Time) (silent, aged time.Time) {
		return now.Add(limit(c.server.options.Load())), c.end()
	})
	if c.raw != nil {
		door.QuickAck(c.raw)
	}
}

// Write never fails for the library; a send error is returned before the next packet.
func (c *conn) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

// flush sends the written data. After an error it returns the same error at each call.
func (c *conn) flush() error {
	if len(c.out) > 0 && c.sendErr == nil {
		c.Conn.SetWriteDeadline(time.Now().Add(c.server.options.Load().WriteTimeout))
		_, c.sendErr = c.Conn.Write(c.out)
	}
	c.out = c.out[:0]
	return c.sendErr
}

// progress notifies the MTA that the answer to the end of message takes longer
// (SMFIR_PROGRESS). The MTA then restarts its timeout.
func (c *conn) progress() {
	c.out = protocol.Append(c.out, protocol.CodeProgress)
	c.flush() // sending the answer returns the error again
}

// report counts and logs why the connection ended, unless it ended normally. It logs one
// line a minute for each cause, because anyone with access to the port can break
// connections.
func (c *conn) report(err error) {
	cause := "connection"
	switch {
	case errors.Is(err, errDraining):
		return
	case !c.Busy.Load() && (errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)): // closed by the MTA, or by Shutdown
		return
	case errors.Is(err, protocol.ErrViolated):
		cause = "protocol"
	case errors.Is(err, errMemory):
		cause = "memory"
	case errors.Is(err, errAged) || errors.Is(err, os.ErrDeadlineExceeded):
		cause = "timeout"
		stage := c.timedOut(err)
		c.server.metrics.Timeouts.WithLabelValues(stage).Inc()
		if stage == stageConnection && !c.Busy.Load() {
			return
		}
	}
	c.server.metrics.Failure(cause)
	if !c.server.broken[cause].Allow() {
		return
	}
	c.server.options.Load().Log.Warn("milter connection broken",
		slog.String("remote", c.RemoteAddr().String()),
		slog.String("cause", cause),
		slog.Bool("in_message", c.Busy.Load()),
		slog.Any("error", err))
}

// timedOut returns the stage at which the time ran out.
func (c *conn) timedOut(err error) string {
	switch {
	case errors.Is(err, errAged) || c.sendErr == nil && !time.Now().Before(c.end()):
		return stageConnection
	case c.sendErr != nil:
		return stageWrite
	}
	return c.stage
}

// Close is called by the library at the end of the session's goroutine.
func (c *conn) Close() error {
	err := c.Conn.Close()
	c.close.Do(func() { c.server.release(c) })
	return err
}

// noEOF turns an end within a packet into an error, even at its first byte.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
