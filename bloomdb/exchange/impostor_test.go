package exchange_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// impostor answers in the place of a Redis that it can reach. While it lies, it sends answers of
// other commands, torn, repeated, changed or late ones, and what no Redis sends. It has no key.
type impostor struct {
	listener net.Listener
	socket   string // of the Redis
	seed     uint64
	lies     atomic.Int64
	honest   atomic.Bool

	work  sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
	heard [][]byte // answers of Redis
}

// newImpostor starts one that lies.
func newImpostor(t *testing.T, socket string) *impostor {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	i := &impostor{listener: l, socket: socket, seed: rand.Uint64()}
	t.Logf("seed %d", i.seed)
	i.work.Go(i.serve)
	t.Cleanup(func() {
		l.Close()
		i.leave()
		i.work.Wait()
	})
	return i
}

func (i *impostor) address() string { return i.listener.Addr().String() }

// leave ends the lies, and all connections.
func (i *impostor) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.honest.Store(true)
	for _, c := range i.conns {
		c.Close()
	}
	i.conns = nil
}

func (i *impostor) serve() {
	for n := uint64(0); ; n++ {
		c, err := i.listener.Accept()
		if err != nil {
			return
		}
		up, err := net.Dial("unix", i.socket)
		if err != nil {
			c.Close()
			continue
		}
		i.mu.Lock()
		i.conns = append(i.conns, c, up)
		i.mu.Unlock()
		i.work.Go(func() { i.relay(up, c, func(b []byte) ([]byte, time.Duration) { return b, 0 }) })
		r := rand.New(rand.NewPCG(i.seed, n))
		i.work.Go(func() { i.relay(c, up, func(b []byte) ([]byte, time.Duration) { return i.lie(r, b) }) })
	}
}

func (i *impostor) relay(to, from net.Conn, change func([]byte) ([]byte, time.Duration)) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		sent, late := change(buf[:n])
		time.Sleep(late)
		if _, err := to.Write(sent); err != nil {
			return
		}
	}
}

// lie returns what is sent in place of an answer, and after which time.
func (i *impostor) lie(r *rand.Rand, answer []byte) ([]byte, time.Duration) {
	if i.honest.Load() || r.IntN(10) > 0 {
		i.keep(r, answer)
		return answer, 0
	}
	i.lies.Add(1)
	switch r.IntN(8) {
	case 0: // the answer of another command
		return i.other(r), 0
	case 1:
		return slices.Concat(answer, i.other(r)), 0
	case 2:
		return slices.Concat(answer, answer), 0
	case 3: // the rest never comes, or another answer's
		return slices.Concat(answer[:r.IntN(len(answer))], i.other(r)), 0
	case 4:
		answer = bytes.Clone(answer)
		answer[r.IntN(len(answer))] ^= 1 << r.IntN(8)
		return answer, 0
	case 5:
		return answer, time.Duration(r.Int64N(int64(4 * time.Second)))
	case 6:
		return slices.Concat([]byte(lies[r.IntN(len(lies))]), answer), 0
	}
	return []byte(lies[r.IntN(len(lies))]), 0
}

// keep remembers an answer.
func (i *impostor) keep(r *rand.Rand, answer []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.heard) < 200 {
		i.heard = append(i.heard, bytes.Clone(answer))
	} else if len(answer) > 10 {
		i.heard[r.IntN(len(i.heard))] = bytes.Clone(answer)
	}
}

func (i *impostor) other(r *rand.Rand) []byte {
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.heard) == 0 {
		return nil
	}
	return i.heard[r.IntN(len(i.heard))]
}

// lies are answers and messages that no command has, or that no Redis sends.
var lies = []string{
	"+OK\r\n", ":0\r\n", ":-1\r\n", "$-1\r\n", "_\r\n", "*0\r\n", "*-1\r\n", "#t\r\n", ",nan\r\n", "(99999999999999999999\r\n", "\r\n", "\x00",
	"-ERR \x1b[2J\r\n", "-NOSCRIPT no\r\n", "-MOVED 1 127.0.0.1:1\r\n", "-ASK 1 127.0.0.1:1\r\n", "-LOADING no\r\n", "-READONLY no\r\n", "-OOM command not allowed\r\n",
	"-WRONGTYPE no\r\n", "-NOAUTH no\r\n", "-TRYAGAIN no\r\n", "-CLUSTERDOWN no\r\n", "-" + strings.Repeat("E", 60<<10) + "\r\n",
	"$3000000\r\n", "$9000000000000000000\r\n", ">1\r\n$3000\r\r\n$9000000000000000000\r\n", "*131000\r\n", strings.Repeat("*1\r\n", 1000),
	"*3\r\n$1\r\nx\r\n:1\r\n$0\r\n\r\n", "*2\r\n:9223372036854775807\r\n$1\r\nx\r\n", "*3\r\n$41\r\n18446744073709551615-18446744073709551615\r\n:1\r\n$1\r\nx\r\n",
	"*3\r\n$22\r\n18446744073709551615-1\r\n:0\r\n$0\r\n\r\n", "*1\r\n*3\r\n$3\r\n1-1\r\n:9223372036854775807\r\n$1\r\nx\r\n",
	">0\r\n", ">1\r\n:1\r\n", ">1\r\n$7\r\nmessage\r\n", ">3\r\n$9\r\nsubscribe\r\n$1\r\nx\r\n:1\r\n", ">2\r\n$10\r\ninvalidate\r\n*1\r\n$1\r\nx\r\n",
	">3\r\n$6\r\nMOVING\r\n:1\r\n$11\r\n127.0.0.1:1\r\n", "%1\r\n*0\r\n:1\r\n", "|1\r\n+a\r\n+b\r\n+OK\r\n", "~2\r\n:1\r\n:1\r\n", "=7\r\ntxt:abc\r\n", "!5\r\nERR x\r\n",
	fmt.Sprintf("$%d\r\n%s\r\n", 1<<20+1, strings.Repeat("x", 1<<20+1)),
}
