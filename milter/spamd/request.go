package spamd

import (
	"bufio"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Bounds of a request's head.
const (
	maxLine    = 4 << 10 // bytes; the size of the reader's buffer
	maxHeaders = 64
)

// multiHeader is the protocol's version from which answers have several headers, as 1.3.
const multiHeader = 103

// request is the head of a request.
type request struct {
	command string
	version int    // 100 times the major version plus the minor one
	user    string // "": none is named
	length  int64  // of the message as it is sent, in bytes; -1: it ends with the connection
	zlib    bool   // the message is compressed

	// Only for TELL.
	class       string // spam, ham; "": none
	set, remove places
}

// places are the databases of SpamAssassin that TELL is for.
type places struct{ local, remote bool }

func (p places) String() string {
	switch {
	case p.local && p.remote:
		return "local,remote"
	case p.local:
		return "local"
	case p.remote:
		return "remote"
	}
	return ""
}

// commands are all commands; those without a message end with their line.
var commands = map[string]struct{ hasMessage bool }{
	"CHECK": {true}, "SYMBOLS": {true}, "REPORT": {true}, "REPORT_IFSPAM": {true},
	"HEADERS": {true}, "PROCESS": {true}, "TELL": {true}, "PING": {}, "SKIP": {},
}

// errRequest is the error of a head that is no request.
var errRequest = errors.New("bad request")

// readRequest reads a head. Errors other than of the reader wrap errRequest. The buffer of
// in has maxLine bytes.
func readRequest(in *bufio.Reader) (q request, err error) {
	q.length = -1
	line, err := readLine(in)
	if err != nil {
		return q, err
	}
	command, version, _ := strings.Cut(line, " ")
	of, known := commands[command]
	if !known {
		return q, fmt.Errorf("%w: unknown command %.40q", errRequest, command)
	}
	q.command = command
	if q.version, err = readVersion(version); err != nil || !of.hasMessage {
		return q, err
	}
	for range maxHeaders {
		if line, err = readLine(in); err != nil || line == "" {
			return q, err
		}
		if err := q.header(line); err != nil {
			return q, err
		}
	}
	return q, fmt.Errorf("%w: more than %d headers", errRequest, maxHeaders)
}

// readLine returns the next line without its end.
func readLine(in *bufio.Reader) (string, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return "", fmt.Errorf("%w: line of more than %d bytes", errRequest, in.Size())
	}
	return strings.TrimRight(string(line), "\r\n"), err
}

func readVersion(s string) (int, error) {
	number, ok := strings.CutPrefix(strings.TrimSpace(s), "SPAMC/")
	major, minor, _ := strings.Cut(number, ".")
	m, err := strconv.ParseUint(major, 10, 8)
	n, minorErr := strconv.ParseUint(minor, 10, 8)
	if !ok || err != nil || minorErr != nil || m != 1 || n > 99 {
		return 0, fmt.Errorf("%w: protocol %.40q, want SPAMC/1.2 to SPAMC/1.5", errRequest, s)
	}
	return int(100*m + n), nil
}

// header reads one header of a request. Unknown ones are ignored.
func (q *request) header(line string) (err error) {
	name, value, ok := strings.Cut(line, ":")
	if !ok {
		return fmt.Errorf("%w: header line %.40q", errRequest, line)
	}
	value = strings.TrimSpace(value)
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "content-length":
		if q.length, err = strconv.ParseInt(value, 10, 64); err != nil || q.length < 0 {
			return fmt.Errorf("%w: Content-length %.40q", errRequest, value)
		}
	case "user":
		q.user = value
	case "compress":
		if q.zlib = strings.EqualFold(value, "zlib"); !q.zlib {
			return fmt.Errorf("%w: Compress %.40q, only zlib is known", errRequest, value)
		}
	case "message-class":
		q.class = strings.ToLower(value)
	case "set":
		q.set, err = readPlaces(value)
	case "remove":
		q.remove, err = readPlaces(value)
	}
	return err
}

func readPlaces(value string) (p places, err error) {
	for place := range strings.SplitSeq(value, ",") {
		switch strings.ToLower(strings.TrimSpace(place)) {
		case "local":
			p.local = true
		case "remote":
			p.remote = true
		default:
			return p, fmt.Errorf("%w: place %.40q, want local or remote", errRequest, place)
		}
	}
	return p, nil
}
