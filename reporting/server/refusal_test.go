package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
)

// converse sends bytes on a connection of its own, closes its writing end, and reads
// all that comes back.
func converse(t testing.TB, path string, raw []byte) []byte {
	t.Helper()
	conn, err := net.Dial("unix", path)
	testenv.Check(t, err)
	defer conn.Close()
	testenv.Check(t, conn.SetDeadline(time.Now().Add(testenv.Patience)))
	// The server may have answered and hung up before it has read everything.
	_, _ = conn.Write(raw)
	_ = conn.(*net.UnixConn).CloseWrite()
	answer, err := io.ReadAll(conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Fatalf("%.200q: nobody hangs up", raw)
	}
	return answer
}

// Whatever a raw client sends, also what net/http refuses before this package sees it:
// the answer is a problem.
func TestRawClients(t *testing.T) {
	c := serve(t)
	for _, test := range []struct {
		raw    string
		status int // 0: hung up on without an answer
		detail string
	}{
		{"GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n", 404, `there is no "/v1/nothing"`},
		{"GET /v1//status HTTP/1.1\r\nHost: x\r\n\r\n", 404, `there is no "/v1//status"`}, // no redirect
		{"GET /v1/status/ HTTP/1.1\r\nHost: x\r\n\r\n", 404, "there is no"},
		{"GET /v1/../v1/status HTTP/1.1\r\nHost: x\r\n\r\n", 404, "there is no"},
		{"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 404, `there is no "*"`},
		{"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 404, `there is no ""`},
		{"BREW /v1/status HTTP/1.1\r\nHost: x\r\n\r\n", 405, "/v1/status takes GET"},
		{"nonsense\r\n\r\n", 400, "the request cannot be read as HTTP/1.1"},
		{"GET /v1/status HTTP/1.1\r\n\r\n", 400, "missing required Host header"},
		{"GET /v1/status HTTP/1.1\r\nHost: x\r\nBad Header: x\r\n\r\n", 400, "invalid header name"},
		{"GET /v1/status HTTP/1.1\r\nHost: x\r\nA: \x01\r\n\r\n", 400, "cannot be read"},
		{"GET /v1/status HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "malformed Host header"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400, "cannot be read"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, "cannot be read"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501, "the transfer encoding is not supported"},
		{"GET /v1/status HTTP/3.0\r\nHost: x\r\n\r\n", 505, "unsupported protocol version"},
		{"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404, "there is no"},
		{"GET /v1/status HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431, "the header is over 16384 bytes"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\nContent-Length: 2\r\n\r\n{}", 417, "only 100-continue can be expected"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", 400, "unexpected EOF"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400, "invalid byte in chunk length"},
		{"POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n" + strings.Repeat(" ", 3_000_000), 413, "over 2097152 bytes"},
		{"", 0, ""},
	} {
		answer := converse(t, c.socket, []byte(test.raw))
		if test.status == 0 {
			if len(answer) > 0 {
				t.Errorf("%.60q: %q", test.raw, answer)
			}
			continue
		}
		response, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(answer)), nil)
		if err != nil {
			t.Errorf("%.60q: %q: %v", test.raw, answer, err)
			continue
		}
		var p api.Problem
		err = json.NewDecoder(response.Body).Decode(&p)
		if err != nil || response.StatusCode != test.status || p.Status != test.status || !strings.Contains(p.Detail, test.detail) ||
			p.Type != "about:blank" || p.Title == "" || response.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%.80q: %s %q; want %d with %q", test.raw, answer, p.Detail, test.status, test.detail)
		}
	}
}
