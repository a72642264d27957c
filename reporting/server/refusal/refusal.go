// Package refusal replaces the answers with which net/http refuses a request by problems of
// the API. It reads no request.
package refusal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/spambloom/spambloom/reporting/api"
)

// MaxHeader bounds the header of a request, for http.Server. Unit: bytes.
const MaxHeader = 16 << 10

// net/http refuses a request that it cannot read with a status line, these two fields and a
// sentence. To an unknown expectation it answers only the status. No answer of this package
// has either form.
var (
	refusalBegin = []byte("HTTP/1.1 ")
	refusalEnd   = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")
	unexpected   = []byte("HTTP/1.1 417 Expectation Failed\r\n")
)

// Write writes an answer to conn. A refusal by net/http, which is one write of plain
// text, is replaced by a problem. There is no other way to change these answers.
func Write(conn net.Conn, p []byte) (int, error) {
	problem, ok := problemFor(p)
	if !ok {
		return conn.Write(p)
	}
	if _, err := conn.Write(Raw(problem)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func problemFor(p []byte) (*api.Problem, bool) {
	if bytes.HasPrefix(p, unexpected) {
		return api.NewProblem(http.StatusExpectationFailed, "only 100-continue can be expected"), true
	}
	head, sentence, ok := bytes.Cut(p, refusalEnd)
	line, begins := bytes.CutPrefix(head, refusalBegin)
	if !ok || !begins || len(line) < 3 || bytes.ContainsRune(line, '\n') {
		return nil, false
	}
	status, err := strconv.Atoi(string(line[:3]))
	if err != nil || status < 400 {
		return nil, false
	}
	_, detail, _ := strings.Cut(string(sentence), ": ")
	switch status {
	case http.StatusRequestHeaderFieldsTooLarge:
		detail = fmt.Sprintf("the header is over %d bytes", MaxHeader)
	case http.StatusNotImplemented:
		detail = "the transfer encoding is not supported"
	}
	return api.NewProblem(status, "%s", cmp.Or(detail, "the request cannot be read as HTTP/1.1")), true
}

// Raw returns a whole HTTP answer, for a connection that ends with it.
func Raw(p *api.Problem) []byte {
	body, err := json.Marshal(p)
	if err != nil {
		body = []byte("{}") // cannot happen: a problem has four plain members
	}
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: application/problem+json\r\nX-Content-Type-Options: nosniff\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s\n", p.Status, p.Title, len(body)+1, body)
}
