package redisclient

import (
	"bytes"
	"errors"
	"net"
	"strconv"
)

// Bounds of an answer or a message of the channel. The largest that are asked for have 1.5 MiB
// (a batch of records) and some 40,000 elements (the list of commands, for a cluster). The
// library allocates what the answer announces, so they are held before it reads.
const (
	maxReply    = 4 << 20 // bytes of text
	maxElements = 1 << 17
	maxLine     = 64 << 10 // bytes; of a number, a status or an error

	// maxDepth bounds arrays within arrays, which the library reads by recursion: a level takes
	// two bytes of an answer, and a KiB of the stack. The list of commands has nine levels.
	maxDepth = 32
)

// Faults of what answers in the place of Redis. None of them is a timeout, after which the
// library would keep a subscription's connection.
var (
	errMalformed = errors.New("redis sends a line that is not of its protocol: check what listens on the address in redis.url")
	errTorn      = errors.New("redis stopped in the middle of an answer")
)

var errOversize = errors.New("redis sends an answer that is larger than any that is asked for: find the client that writes to this Redis, or what answers in its place")

// checked is a connection over TLS whose answers are bounded.
type checked struct {
	net.Conn
	replies
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	return c.replies.read(p[:n], err)
}

// NetConn lets the library detect that the other side closed an idle connection.
func (c *checked) NetConn() net.Conn { return c.Conn }

// replies follows the answers on a connection, in RESP2 or RESP3, and holds their bounds. It
// holds no more of them than the line that is incomplete.
//
// The library must not read on at another place than replies: it would take a part of a text
// for an announced length, which may be any number. So a line must end as the library wants
// it, and a connection ends at a timeout in the middle of an answer, where the library would
// begin a new one.
type replies struct {
	missing  int64   // elements of the answer; 0: an answer begins
	levels   []int64 // elements that are missing of each array that contains the next element
	skip     int64   // bytes of a text
	line     []byte  // the incomplete line
	bytes    int64   // of the answer
	elements int64   // of the answer
	err      error   // of an earlier read
}

// read returns the result of reading p, which the connection sent with err.
func (r *replies) read(p []byte, err error) (int, error) {
	if r.err == nil {
		r.err = r.follow(p)
	}
	var timeout net.Error
	if r.err == nil && r.isInside() && errors.As(err, &timeout) && timeout.Timeout() {
		r.err = errTorn
	}
	if r.err != nil {
		return 0, r.err
	}
	return len(p), err
}

// isInside reports whether the answer is incomplete.
func (r *replies) isInside() bool { return r.missing > 0 || r.skip > 0 || len(r.line) > 0 }

func (r *replies) follow(p []byte) error {
	for len(p) > 0 {
		if n := min(r.skip, int64(len(p))); n > 0 {
			r.skip -= n
			p = p[n:]
			continue
		}
		line, rest, isWhole := bytes.Cut(p, []byte("\n"))
		if len(r.line)+len(line) > maxLine {
			return errOversize
		}
		r.line, p = append(r.line, line...), rest
		if !isWhole {
			return nil
		}
		line, isEnded := bytes.CutSuffix(r.line, []byte("\r"))
		if !isEnded || len(line) == 0 {
			return errMalformed
		}
		if err := r.element(line); err != nil {
			return err
		}
		r.line = r.line[:0]
	}
	return nil
}

// element takes the first line of an element.
func (r *replies) element(line []byte) error {
	if r.missing == 0 {
		r.missing, r.bytes, r.elements = 1, 0, 0
	}
	r.missing--
	for len(r.levels) > 0 && r.levels[len(r.levels)-1] == 0 {
		r.levels = r.levels[:len(r.levels)-1]
	}
	if len(r.levels) > 0 {
		r.levels[len(r.levels)-1]--
	}
	r.elements++
	r.bytes += int64(len(line))
	if bytes.IndexByte([]byte("$!=*~>%|"), line[0]) >= 0 {
		n, err := strconv.ParseInt(string(line[1:]), 10, 64)
		if err != nil || n > maxReply || n < -1 {
			return errOversize
		}
		r.announced(line[0], max(0, n), n < 0)
	}
	if r.bytes > maxReply || r.elements+r.missing > maxElements || len(r.levels) > maxDepth {
		return errOversize
	}
	return nil
}

// announced takes the n bytes or elements that an element consists of.
func (r *replies) announced(kind byte, n int64, isNull bool) {
	switch kind {
	case '$', '!', '=':
		r.bytes += n
		if !isNull {
			r.skip = n + 2 // its end
		}
		return
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // attributes precede the element, which is read within them
	}
	r.missing += n
	r.levels = append(r.levels, n)
}
