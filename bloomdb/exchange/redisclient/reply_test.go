package redisclient

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// answers are what a Redis may send, and whether that is within the bounds.
var answers = []struct {
	name, sent string
	ok         bool
}{
	{"status", "+OK\r\n", true},
	{"null", "$-1\r\n*-1\r\n_\r\n", true},
	{"record", "$1048577\r\n" + strings.Repeat("x", 1<<20+1) + "\r\n", true},
	{"many answers", strings.Repeat("$1000000\r\n"+strings.Repeat("\n", 1_000_000)+"\r\n", 10), true},
	{"empty text", "$0\r\n\r\n:1\r\n", true},
	{"nested", "*2\r\n%1\r\n+a\r\n*0\r\n|1\r\n+b\r\n:1\r\n+c\r\n" + strings.Repeat("+OK\r\n", maxElements+1), true},
	{"long text", "$4194305\r\n", false},
	{"long error", "!1900000000\r\n", false},
	{"long in all", "*5\r\n" + strings.Repeat("$1000000\r\n"+strings.Repeat("x", 1_000_000)+"\r\n", 5), false},
	{"no length", "$x\r\n", false},
	{"long line", "+" + strings.Repeat("x", maxLine+1), false},
	{"lines", "*100\r\n" + strings.Repeat("+"+strings.Repeat("x", maxLine-10)+"\r\n", 100), false},
	{"many elements", "*200000\r\n", false},
	{"many pairs", "%100000\r\n", false},
	{"many attributes", "|100000\r\n", false},
	{"message of the channel", ">3\r\n+message\r\n+news\r\n$5000000\r\n", false},
	{"many in all", "*1000\r\n" + strings.Repeat("*1000\r\n"+strings.Repeat(":1\r\n", 1000), 200), false},
	{"line without its end", "$3\nabc\r\n", false},
	{"length that the library refuses", ">1\r\n$3000\r\r\n$9000000000000000000\r\n", false},
	{"negative length", "$-2\r\n", false},
	{"empty line", "\r\n", false},
	{"not deep", strings.Repeat(strings.Repeat("*2\r\n:1\r\n", maxDepth-1)+"*1\r\n:1\r\n", 2), true},
	{"deep", strings.Repeat("*1\r\n", maxDepth+1) + ":1\r\n", false},
	{"deep beside others", strings.Repeat("*2\r\n*1\r\n:1\r\n", maxDepth+1), false},
	{"attributes of attributes", strings.Repeat("|0\r\n", maxDepth+1) + ":1\r\n", false},
}

// An answer is within the bounds or not, in whatever pieces it arrives.
func TestReplies(t *testing.T) {
	for _, a := range answers {
		for _, piece := range []int{1000, 4096, len(a.sent)} {
			var r replies
			var err error
			for rest := []byte(a.sent); len(rest) > 0 && err == nil; {
				n := min(piece, len(rest))
				_, err = r.read(rest[:n], nil)
				rest = rest[n:]
			}
			if a.ok && err != nil || !a.ok && !errors.Is(err, errOversize) && !errors.Is(err, errMalformed) {
				t.Errorf("%s: %v", a.name, err)
			}
			if a.ok && (r.missing != 0 || r.skip != 0 || len(r.line) != 0) {
				t.Errorf("%s: the end was not found: %+v", a.name, r)
			}
		}
	}
}

// A timeout between two answers is one. In the middle of an answer it ends the connection: a
// later answer would begin inside a text.
func TestTornReplies(t *testing.T) {
	between, inside := "*1\r\n$3\r\nabc\r\n", ">3\r\n$7\r\nmessage\r\n$40\r\nxyz"
	for _, sent := range []string{"", between, "+OK\r\n"} {
		var r replies
		if _, err := r.read([]byte(sent), os.ErrDeadlineExceeded); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %q: %v", sent, err)
		}
	}
	for n := 1; n < len(inside); n++ {
		var r replies
		if _, err := r.read([]byte(between+inside[:n]), os.ErrDeadlineExceeded); err != errTorn {
			t.Errorf("after %q: %v", inside[:n], err)
		}
		if _, err := r.read([]byte("$9000000000000000000\r\n"), nil); err != errTorn {
			t.Errorf("after %q, later: %v", inside[:n], err)
		}
	}
}

// TestHostileRedis is the attack "announced length": what answers as Redis announces 1.9 GB, or a
// billion elements. Nothing of that size is allocated. Over TLS the bounds are the same.
func TestHostileRedis(t *testing.T) {
	for _, a := range answers {
		if a.ok {
			continue
		}
		ln := impostor(t, func(c net.Conn) {
			if _, err := c.Read(make([]byte, 4096)); err == nil {
				io.WriteString(c, a.sent)
			}
		})
		c, err := Dial("redis://"+ln.Addr().String()+"?protocol=2", Options{})
		testenv.Check(t, err)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if err := c.Get(t.Context(), "key").Err(); err == nil {
			t.Errorf("%s: it is an answer", a.name)
		}
		runtime.ReadMemStats(&after)
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 8*maxReply {
			t.Errorf("%s: %d bytes were allocated", a.name, grown)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		ln.Close()
	}
	secured := &checked{Conn: sending{from: strings.NewReader("$1900000000\r\n")}}
	if _, err := secured.Read(make([]byte, 100)); !errors.Is(err, errOversize) {
		t.Errorf("over TLS: %v", err)
	}
}

// impostor listens in the place of Redis, and calls serve for each connection.
func impostor(t *testing.T, serve func(net.Conn)) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return ln
}

// sending is a connection that sends what a reader contains.
type sending struct {
	net.Conn
	from io.Reader
}

func (s sending) Read(p []byte) (int, error) { return s.from.Read(p) }

// FuzzReplies reads answers in one piece and in pieces: the result is the same.
func FuzzReplies(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a.sent[:min(len(a.sent), 200)]), 3)
	}
	f.Fuzz(func(t *testing.T, sent []byte, piece int) {
		var whole, parts replies
		_, err := whole.read(sent, nil)
		var partsErr error
		for p := range bytes.Lines(sent) {
			n := min(len(p), max(0, piece))
			for _, part := range [][]byte{p[:n], p[n:]} {
				if _, partsErr = parts.read(part, nil); partsErr != nil {
					break
				}
			}
		}
		if (err == nil) != (partsErr == nil) || err == nil && (whole.missing != parts.missing || whole.skip != parts.skip) {
			t.Errorf("%v, in parts %v: %+v, %+v", err, partsErr, whole, parts)
		}
		if len(whole.line) > maxLine || whole.bytes > 2*maxReply {
			t.Errorf("%+v", whole)
		}
	})
}
