package spamd

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spambloom/spambloom/milter"
	"github.com/spambloom/spambloom/milter/door"
)

// protocol is the name of this protocol in the log.
const protocol = "spamd"

// piece is the part of a message that is read at a time. Unit: bytes.
const piece = 64 << 10

// lingering is how long a client that was refused may go on sending: its answer would be
// lost if the connection were closed at once.
const lingering = 2 * time.Second

// conn is a client's connection, with one request. It belongs to one goroutine.
type conn struct {
	server   *Server
	options  *Options
	listener string     // its name
	client   string     // see door.Client; its mail has turns under that name
	isUser   bool       // see door.Client
	nc       *door.Conn // busy: a command was received; begun: its message, too
	in       *bufio.Reader
}

func newConn(s *Server, o *Options, listener, client string, nc *door.Conn) *conn {
	// Otherwise the kernel takes megabytes of an answer that nobody reads, and keeps them when the
	// connection, and its place, are given up.
	if bounded, ok := nc.Conn.(interface{ SetWriteBuffer(int) error }); ok {
		_ = bounded.SetWriteBuffer(piece)
	}
	return &conn{server: s, options: o, listener: listener, client: client, nc: nc}
}

// serve answers the request of a connection, when it has a place. A client that disconnects before
// its command has changed its mind.
func (c *conn) serve() {
	if !c.wait() {
		return
	}
	c.in = bufio.NewReaderSize(c.nc, maxLine)
	c.nc.SetReadDeadline(time.Now().Add(c.options.ContentTimeout)) // the read returns the error
	if _, err := c.in.Peek(1); err != nil {
		return
	}
	c.nc.Busy.Store(true)
	q, err := readRequest(c.in)
	if err == nil {
		err = c.answer(q)
	}
	if err != nil {
		c.fail(q, err)
		return
	}
	c.server.metrics.count(q.command, CodeOK)
}

// wait waits for a place, and reports whether the connection has one.
func (c *conn) wait() bool {
	ctx, cancel := context.WithTimeout(context.Background(), c.options.ContentTimeout)
	defer cancel()
	return c.nc.Wait(ctx)
}

// answer carries the command out.
func (c *conn) answer(q request) error {
	switch q.command {
	case "SKIP":
		return nil
	case "PING":
		return c.send([]byte("SPAMD/1.5 0 PONG\r\n"))
	}
	m := c.server.judge.NewMail(protocol, c.listener, c.client, c.isUser)
	if m == nil {
		return &Error{CodeTempFail, "the daemon is stopping"}
	}
	defer m.Close()
	if err := c.receive(q, m); err != nil {
		return err
	}
	c.nc.Begun.Store(true)
	if q.command == "TELL" {
		return c.tell(q, m)
	}
	return c.check(q, m)
}

// receive reads the message, and drops the bytes that m does not need.
func (c *conn) receive(q request, m *milter.Mail) error {
	sent := newAnnounced(c.in, c.nc, q)
	all := io.Reader(sent)
	if q.length < 0 {
		all = c.in
	}
	content := all
	if q.zlib {
		inflated, err := newInflater(c.server.inflating, all)
		if err != nil {
			return &Error{CodeDataErr, "the message is not compressed with zlib"}
		}
		content = inflated
	}
	// The type hides the reader's WriteTo, so that the buffer is used.
	_, err := io.CopyBuffer(m, struct{ io.Reader }{content}, make([]byte, piece))
	if errors.Is(err, zlib.ErrChecksum) || errors.Is(err, zlib.ErrHeader) || q.zlib && isFlate(err) {
		return &Error{CodeDataErr, "the message is not compressed with zlib"}
	}
	if err == nil || errors.Is(err, io.ErrShortWrite) {
		_, err = io.Copy(io.Discard, all)
	}
	if err == nil && q.length >= 0 && sent.N > 0 {
		err = &Error{CodeProtocol, fmt.Sprintf("Content-length is %d, and %d bytes were sent", q.length, q.length-sent.N)}
	}
	return err
}

// fail answers a request that ended with an error, and counts it.
func (c *conn) fail(q request, err error) {
	var refused *Error
	switch {
	case errors.As(err, &refused):
	case errors.Is(err, errRequest):
		refused = &Error{CodeProtocol, err.Error()}
	case errors.Is(err, os.ErrDeadlineExceeded):
		refused = &Error{CodeTimeout, "the request took too long"}
	default: // the client, or Shutdown, has broken the connection
		c.server.metrics.broken.Inc()
		return
	}
	c.server.metrics.count(q.command, refused.Code)
	c.server.report(refused.Code.String(), "spamd request refused", "command", q.command, "of", c.client,
		"code", int(refused.Code), "reason", refused.Text)
	if c.send(head(refused.Code, refused.Text)) != nil {
		return
	}
	if half, ok := c.nc.Conn.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
		c.nc.SetReadDeadline(time.Now().Add(lingering))
		io.Copy(io.Discard, io.LimitReader(c.in, 16*piece)) // whatever ends it, the connection is closed next
	}
}

// send writes to the client.
func (c *conn) send(p []byte) error {
	c.nc.SetWriteDeadline(time.Now().Add(c.options.WriteTimeout)) // the write returns the error
	_, err := c.nc.Write(p)
	return err
}

// isFlate reports whether compressed data are damaged.
func isFlate(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt) || errors.Is(err, io.ErrUnexpectedEOF)
}
