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
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	gomilter "github.com/emersion/go-milter"
)

const (
	// offerTimeout is for the MTA's first packet; both MTAs send it at once.
	offerTimeout = 30 * time.Second
	// keptBuffer is the largest packet buffer that a connection keeps between two
	// packets, and how much of a packet is read before its length is believed.
	keptBuffer = 4 << 10
	// ordinary is a packet that needs no leave to be read. MTAs send bodies in
	// packets of 64 KiB; only a header field can be longer. Unit: bytes.
	ordinary = 64<<10 + 1
	// overtime is how long a message may go on past its connection's age.
	overtime = time.Hour
)

// Stages at which an MTA was silent for too long, as the metric names them.
const (
	stageOffer      = "offer"
	stageIdle       = "idle"       // between two messages
	stageEnvelope   = "envelope"   // between MAIL and the header
	stageContent    = "content"    // between two packets of header and body
	stagePacket     = "packet"     // within a packet
	stageWrite      = "write"      // it does not take our answer
	stageConnection = "connection" // not silent, but too old
)

var (
	errDraining = errors.New("server is shutting down")
	errAged     = errors.New("connection is as old as it may become")
	errMemory   = errors.New("no memory for a packet, see milter.max_memory")
)

// conn is an MTA's connection as the library sees it. It hands over whole,
// checked packets only, has the deadlines that the library lacks, and reports
// what goes wrong: towards the library each end is io.EOF, so that nothing goes
// to the process-wide log. What is written is sent when the next packet is
// waited for: headers and action of a message go out together.
//
// All methods but cut belong to the session's goroutine.
type conn struct {
	net.Conn
	server  *Server
	session *session
	client  string // see clientOf
	born    time.Time
	raw     syscall.RawConn // TCP only
	in      *bufio.Reader
	buffer  []byte // the packet read last, with its length
	booked  int64  // its bytes in Server.held
	counted int64  // its bytes in Server.packets
	unread  []byte // its part the library has not read
	long    bool   // the library still has a long packet
	out     []byte // written, not sent
	sendErr error  // the first error of sending; the connection is over then

	negotiated bool
	protocol   gomilter.OptProtocol
	content    bool   // between the first header and the end of message
	stage      string // of the read that waits
	replied    bool   // the message's reply is written

	busy  atomic.Bool // a message is in flight: from MAIL until its reply is sent
	close sync.Once
}

func newConn(nc net.Conn, s *Server) *conn {
	c := &conn{Conn: nc, server: s, in: bufio.NewReader(nc), born: time.Now()}
	if t, ok := nc.(*net.TCPConn); ok {
		c.raw, _ = t.SyscallConn() // nil on error: acknowledgements are late then, no more
	}
	c.session = &session{conn: c, server: s, remote: nc.RemoteAddr()}
	return c
}

// Read is called by the library for each packet's length and data in turn.
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

// nextPacket reads up to a packet that is for the library. It answers itself
// what the library answers wrongly (the offer) or ends a connection for: an
// unknown SMTP command and SMFIC_QUIT_NC, "quit, a new client follows". Of that the
// library hears as of an ABORT.
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
		var err error
		switch code := gomilter.Code(c.buffer[packetHead]); code {
		case gomilter.CodeOptNeg:
			var answer []byte
			c.protocol, answer, err = negotiate(c.buffer[packetHead+1:])
			c.out, c.negotiated = append(c.out, answer...), err == nil
		case codeUnknown:
			c.out = appendPacket(c.out, gomilter.Code(gomilter.ActContinue))
		case gomilter.CodeQuitNewConn:
			c.session.newClient()
			c.unread = appendPacket(nil, gomilter.CodeAbort) // for the library's macros
			return nil
		default:
			if !c.negotiated {
				return fmt.Errorf("%w: command %q before the offer", errProtocol, byte(code))
			}
			c.unread, err = repair(c.buffer)
			c.long = len(c.unread) > keptBuffer
			return err
		}
		if err != nil {
			return err
		}
	}
}

// noMacros is a packet that changes nothing: all macros before it have been collected. The
// library keeps each packet until the next one has come, so that it gets this one after a
// long one.
var noMacros = repairMacros([]byte{0})

// endTurn sends what was written, and ends the message whose reply that was.
func (c *conn) endTurn() error {
	if err := c.flush(); err != nil {
		return err
	}
	if c.replied {
		c.replied, c.content = false, false
		c.busy.Store(false)
	}
	switch busy := c.busy.Load(); {
	case !busy && c.server.closing.Load():
		return errDraining
	case !time.Now().Before(c.end()):
		return errAged
	}
	if cap(c.buffer) > keptBuffer {
		c.dropBuffer()
	}
	return nil
}

// end is when the connection is closed, whatever the MTA does.
func (c *conn) end() time.Time {
	end := c.born.Add(c.server.options.Load().ConnectionTimeout)
	if c.busy.Load() {
		return end.Add(overtime)
	}
	return end
}

// dropBuffer gives the packet's memory back.
func (c *conn) dropBuffer() {
	c.server.held.Add(-c.booked)
	c.server.packets.Add(-c.counted)
	c.buffer, c.booked, c.counted = nil, 0, 0
}

// grow makes the buffer as large as a packet of n bytes with its length needs. What is
// beyond an ordinary packet is taken from the memory of the messages.
func (c *conn) grow(n int) error {
	if n <= cap(c.buffer) {
		return nil
	}
	const unasked = packetHead + ordinary
	if beyond := int64(max(0, n-unasked)) - c.booked; beyond > 0 {
		if c.server.held.Add(beyond) > c.server.options.Load().MaxMemory {
			c.server.held.Add(-beyond)
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

// readPacket reads length and data of one packet into buffer. The length is
// believed only as far as bytes arrive: first for 4 KiB, then for an ordinary packet, then
// for as much again as is there.
func (c *conn) readPacket() error {
	stage, limit := c.patience()
	c.await(stage, limit, packetHead)
	c.buffer = c.buffer[:0]
	if err := c.readTo(packetHead); err != nil {
		return err
	}
	length := int(binary.BigEndian.Uint32(c.buffer))
	if length < 1 || length > maxPacket {
		return fmt.Errorf("%w: packet of %d bytes, must be 1 to %d", errProtocol, length, maxPacket)
	}
	c.await(stagePacket, c.server.options.Load().ContentTimeout, length)
	whole := packetHead + length
	for step := keptBuffer; len(c.buffer) < whole; step = max(packetHead+ordinary, 2*step) {
		if err := c.readTo(min(whole, step)); err != nil {
			return noEOF(err)
		}
		if code := gomilter.Code(c.buffer[packetHead]); length > ordinary && code != gomilter.CodeHeader && code != gomilter.CodeBody {
			return fmt.Errorf("%w: packet of %d bytes for command %q, must be 1 to %d", errProtocol, length, byte(code), ordinary)
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

// patience is how long the MTA may be silent before the next packet.
func (c *conn) patience() (stage string, limit time.Duration) {
	o := c.server.options.Load()
	switch {
	case !c.negotiated:
		return stageOffer, min(offerTimeout, o.IdleTimeout)
	case c.content:
		return stageContent, o.ContentTimeout
	case c.busy.Load():
		return stageEnvelope, o.IdleTimeout
	}
	return stageIdle, o.IdleTimeout
}

// await sets the deadline for n bytes that are not here yet. On TCP it also asks
// for acknowledgements without delay: Sendmail writes each packet in two pieces
// and Nagle's algorithm holds back the second until the first is acknowledged.
func (c *conn) await(stage string, limit time.Duration, n int) {
	c.stage = stage
	if c.in.Buffered() >= n {
		return
	}
	deadline := time.Now().Add(limit)
	if end := c.end(); end.Before(deadline) {
		c.stage, deadline = stageConnection, end
	}
	c.Conn.SetReadDeadline(deadline) // an error shows in the read
	if c.raw != nil {
		quickAck(c.raw)
	}
}

// Write never fails towards the library; sending does, before the next packet.
func (c *conn) Write(p []byte) (int, error) {
	c.out = append(c.out, p...)
	return len(p), nil
}

// flush sends what was written. Its error comes again at each further call.
func (c *conn) flush() error {
	if len(c.out) > 0 && c.sendErr == nil {
		c.Conn.SetWriteDeadline(time.Now().Add(c.server.options.Load().WriteTimeout))
		_, c.sendErr = c.Conn.Write(c.out)
	}
	c.out = c.out[:0]
	return c.sendErr
}

// progress tells the MTA that the answer to the end of message takes longer
// (SMFIR_PROGRESS); it then starts its timeout anew.
func (c *conn) progress() {
	c.out = appendPacket(c.out, codeProgress)
	c.flush() // an error comes again when the answer is sent
}

// report counts why the connection ends, unless it ends as it should, and logs
// the first of each cause a minute: anyone who reaches the port can break them.
func (c *conn) report(err error) {
	cause := "connection"
	switch {
	case errors.Is(err, errDraining):
		return
	case !c.busy.Load() && (errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed)): // closed by the MTA, or by Shutdown
		return
	case errors.Is(err, errProtocol):
		cause = "protocol"
	case errors.Is(err, errMemory):
		cause = "memory"
	case errors.Is(err, errAged) || errors.Is(err, os.ErrDeadlineExceeded):
		cause = "timeout"
		stage := c.timedOut(err)
		c.server.metrics.timeouts.WithLabelValues(stage).Inc()
		if stage == stageConnection && !c.busy.Load() {
			return
		}
	}
	c.server.metrics.failure(cause)
	if !c.server.broken[cause].allow() {
		return
	}
	c.server.options.Load().Log.Warn("milter connection broken",
		slog.String("remote", c.RemoteAddr().String()),
		slog.String("cause", cause),
		slog.Bool("in_message", c.busy.Load()),
		slog.Any("error", err))
}

// timedOut is the stage at which the time ran out.
func (c *conn) timedOut(err error) string {
	switch {
	case errors.Is(err, errAged):
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

// cut ends the connection from outside; the session notices in its next Read.
func (c *conn) cut() { c.Conn.Close() }

// noEOF makes an end within a packet an error, also at its first byte.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
