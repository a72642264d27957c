package refusal_test

import (
	"io"
	"net"
	"testing"

	"github.com/spambloom/spambloom/reporting/server/refusal"
)

// Answers of the API go through as they are, whatever they begin with.
func TestAnswersAreNoRefusals(t *testing.T) {
	const refusalEnd = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n" // as net/http writes it
	for _, answer := range []string{
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
		"HTTP/1.1 400 Bad api.Request\r\nContent-Type: application/problem+json\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{}",
		"HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n",
		"{\"detail\":\"HTTP/1.1 400 Bad api.Request\"}", "HTTP/1.1 ", "",
		"HTTP/1.1 x" + refusalEnd, "HTTP/1.1 40" + refusalEnd, refusalEnd,
	} {
		near, far := net.Pipe()
		go func() {
			defer near.Close()
			if n, err := refusal.Write(near, []byte(answer)); n != len(answer) || err != nil {
				t.Errorf("%q: %d bytes are written, %v", answer, n, err)
			}
		}()
		if got, err := io.ReadAll(far); string(got) != answer || err != nil {
			t.Errorf("%q arrives as %q, %v", answer, got, err)
		}
	}
}
