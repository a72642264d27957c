package spamd

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/spambloom/spambloom/milter/door"
)

// Amavis 2.13 counts an empty line behind the header of a message without a body, and counts that line twice behind
// a header of more than 4 MiB. It then announces two bytes more than it sends, and waits for the answer. Amavis
// asks by SYMBOLS, whose answer includes nothing of the message.
const (
	neverSent = len("\r\n")
	overdue   = 2 * time.Second // for the last bytes of a message
)

// announced reads a message of the length that the client announced.
type announced struct {
	io.LimitedReader
	conn     *door.Conn
	isAmavis bool // it may be
}

func newAnnounced(in io.Reader, conn *door.Conn, q request) *announced {
	return &announced{io.LimitedReader{R: in, N: q.length}, conn, q.command == "SYMBOLS"}
}

// Read is that of LimitedReader, but a message of Amavis ends without its last bytes if these are overdue.
func (a *announced) Read(p []byte) (n int, err error) {
	isEnd := a.isAmavis && a.N > 0 && a.N <= int64(neverSent)
	if isEnd {
		a.conn.SetReadDeadline(time.Now().Add(overdue)) // the read returns the error
	}
	n, err = a.LimitedReader.Read(p)
	if isEnd && errors.Is(err, os.ErrDeadlineExceeded) {
		a.N, err = 0, io.EOF
	}
	return n, err
}
