package milter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
)

// flaky fails its first Accepts like a process without free descriptors.
type flaky struct {
	net.Listener
	failures atomic.Int32
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Err: syscall.EMFILE}
	}
	return f.Listener.Accept()
}

func TestAcceptIsRetried(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	f := &flaky{Listener: ln}
	f.failures.Store(3)
	b := startOn(t, f, Options{}, clean)
	dial(t, "tcp", b.addr, offerAll, "192.0.2.1").send(mail{body: "x"})
	if got := b.log.lines(t, "accept failed, trying again"); len(got) != 1 {
		t.Errorf("three failures in a row make %d log lines, want 1", len(got))
	}
}

// deaf is a listener whose Accept always fails.
type deaf struct{ net.Listener }

func (deaf) Accept() (net.Conn, error) { return nil, syscall.EMFILE }
func (deaf) Close() error              { return nil }
func (deaf) Addr() net.Addr            { return &net.TCPAddr{} }

func TestShutdownEndsRetrying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(nil, Options{})
		served := make(chan error, 1)
		go func() { served <- s.Serve("", deaf{}) }()
		time.Sleep(time.Hour) // in the bubble's time
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
}

func TestServeReturnsItsCause(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	ln.Close()
	err = NewServer(nil, Options{}).Serve("", ln)
	if !errors.Is(err, net.ErrClosed) || !strings.Contains(err.Error(), ln.Addr().String()) {
		t.Errorf("error %v", err)
	}
}

func TestServeAfterShutdown(t *testing.T) {
	s := NewServer(nil, Options{})
	testenv.Check(t, s.Shutdown(t.Context()))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	if c := s.admit("", &script{}); c != nil { // accepted just before
		t.Error("a connection was admitted")
	}
	if err := s.Serve("", ln); err != nil {
		t.Errorf("serve: %v", err)
	}
	if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		c.Close()
		t.Error("the listener is still open")
	}
}

func TestSeveralListeners(t *testing.T) {
	b := start(t, Options{}, clean)
	path := filepath.Join(t.TempDir(), "milter.sock")
	ln, err := net.Listen("unix", path)
	testenv.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- b.Serve("", ln) }()
	dial(t, "tcp", b.addr, offerAll, "192.0.2.1").send(mail{body: "x"})
	dial(t, "unix", path, offerAll, "192.0.2.2").send(mail{body: "x"})
	if len(b.lines()) != 2 {
		t.Errorf("log %s", b.log.String())
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func TestShutdownFinishesMessagesInFlight(t *testing.T) {
	entered, release := make(chan struct{}), make(chan struct{})
	b := start(t, Options{}, func(j judged) policy.Decision { close(entered); <-release; return clean(j) })
	idle := dialWire(t, b.addr, offerAll)
	busy := dialWire(t, b.addr, offerAll)
	half := dialWire(t, b.addr, offerAll) // continues after Shutdown has begun
	half.begin()
	busy.send('M', "<s>\x00")
	busy.send('E', "")
	<-entered

	down := make(chan error, 1)
	go func() { down <- b.Shutdown(t.Context()) }()
	idle.expectClosed()
	if _, err := net.Dial("tcp", b.addr); err == nil {
		t.Error("still accepting")
	}
	close(release)
	busy.expect("ic")
	busy.expectClosed()
	select {
	case err := <-down:
		t.Fatalf("Shutdown returned %v with a message in flight", err)
	default:
	}
	half.send('A', "")
	half.expectClosed()
	if err := <-down; err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if lines := b.log.lines(t, "milter connection broken"); len(lines) > 0 {
		t.Errorf("an orderly end is logged as a broken one: %v", lines)
	}
}

// A message whose beginning is in transit when Shutdown begins is finished too.
func TestShutdownReadsDataInTransit(t *testing.T) {
	b := start(t, Options{}, clean)
	w := dialWire(t, b.addr, offerAll)
	down := make(chan error, 1)
	go func() { down <- b.Shutdown(t.Context()) }()
	testenv.Eventually(t, "Shutdown begins", b.door.IsStopping)
	w.send('M', "<s>\x00")
	w.send('E', "")
	w.expect("ic")
	w.expectClosed()
	if err := <-down; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

// begin begins a message, and returns when the server has read that.
func (w *wire) begin() {
	w.t.Helper()
	w.send('M', "<s>\x00")
	w.send('U', "")
	w.expect("c")
}

// An SMTP client that is silent behind MAIL, or within DATA, does not hold the stop up for the time of
// grace. A message that has begun to arrive is finished.
func TestShutdownDoesNotWaitForSilentClients(t *testing.T) {
	b := start(t, Options{}, clean)
	silent, begun := dialWire(t, b.addr, offerAll), dialWire(t, b.addr, offerAll)
	silent.begin()
	begun.send('M', "<s>\x00")
	begun.send('L', "Subject\x00x\x00")
	begun.send('U', "")
	begun.expect("c")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	down := make(chan error, 1)
	go func() { down <- b.Shutdown(ctx) }()
	silent.expectClosed()
	begun.send('E', "")
	begun.expect("ic")
	begun.expectClosed()
	if err := <-down; err != nil {
		t.Errorf("shutdown: %v", err)
	}
}

func TestShutdownCutsAtTheEnd(t *testing.T) {
	b := start(t, Options{}, clean)
	w := dialWire(t, b.addr, offerAll)
	w.begin()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
	w.expectClosed()
}

func TestConnectionLimit(t *testing.T) {
	b := start(t, Options{MaxConnections: 2}, clean)
	first := dialWire(t, b.addr, offerAll)
	dialWire(t, b.addr, offerAll)
	for range 3 {
		dialWire(t, b.addr, 0).expectClosed()
	}
	if n := b.metric("spambloom_milter_refused_total", ""); n != 3 {
		t.Errorf("refused metric %v", n)
	}
	if lines := b.log.lines(t, "milter connection refused: limit milter.max_connections reached"); len(lines) != 1 {
		t.Errorf("%d log lines", len(lines))
	}
	first.send('Q', "")
	first.expectClosed()
	testenv.Eventually(t, "a free place", func() bool { return b.metric("spambloom_milter_connections", "") == 1 })
	dial(t, "tcp", b.addr, offerAll, "192.0.2.1").send(mail{body: "x"})
}

func TestThousandConnections(t *testing.T) {
	const n = 1000
	b := start(t, Options{MaxConnections: n}, clean)
	conns := make([]*wire, n)
	for i := range conns {
		conns[i] = dialWire(t, b.addr, offerAll)
		switch i % 4 {
		case 0: // offers and is silent
		case 1: // stops in the middle of a packet
			conns[i].write(packet('B', "body")[:7])
		case 2: // claims a large packet
			conns[i].write([]byte{0, 0x0f, 0xff, 0xff, 'B'})
		case 3: // stops in the middle of a message
			conns[i].send('M', "<s>\x00")
			conns[i].send('B', strings.Repeat("x", 1000))
		}
	}
	// All are open, and the server still works, with each in its own session.
	if open := b.metric("spambloom_milter_connections", ""); open != n {
		t.Fatalf("%v connections open", open)
	}
	var clients sync.WaitGroup
	want := make([]string, 0, n/4)
	for i := 0; i < n; i += 4 {
		client := fmt.Sprintf("192.0.%d.%d", i/256, i%256)
		want = append(want, client)
		clients.Go(func() {
			w := conns[i]
			w.send('C', "h\x004\x00\x19"+client+"\x00")
			w.send('M', "<s>\x00")
			w.send('E', "")
			w.expect("ic")
		})
	}
	clients.Wait()
	var got []string
	for _, line := range b.lines() {
		got = append(got, line["client"].(string))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("clients %v", got)
	}
	for _, w := range conns {
		w.Close()
	}
	testenv.Eventually(t, "all sessions ended", func() bool { return b.metric("spambloom_milter_connections", "") == 0 })
}

func TestClientThatDoesNotRead(t *testing.T) {
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s")) // its buffers are small
	testenv.Check(t, err)
	b := startOn(t, ln, Options{WriteTimeout: 30 * time.Millisecond}, clean)
	nc, err := net.Dial("unix", b.addr)
	testenv.Check(t, err)
	defer nc.Close()
	// Each header is answered, until the buffers are full.
	p := append(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offerOld)), packet('M', "<s>\x00")...)
	for err == nil {
		_, err = nc.Write(p)
		p = bytes.Repeat(packet('L', "a\x00b\x00"), 1000)
	}
	testenv.Eventually(t, "the session's end", func() bool { return b.metric("spambloom_milter_connections", "") == 0 })
	if n := b.metric("spambloom_milter_timeouts_total", stageWrite); n != 1 {
		t.Errorf("timeout metric %v, log %s", n, b.log.String())
	}
}

// Nothing that a client sends goes to the process-wide log, and each connection affects
// only itself.
func TestGarbage(t *testing.T) {
	var std bytes.Buffer
	before := log.Writer()
	log.SetOutput(&std)
	defer log.SetOutput(before)

	offer := string(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offerAll)))
	for name, bytes := range map[string]string{
		"HTTP":                    "GET / HTTP/1.0\r\n\r\n",
		"zero length":             "\x00\x00\x00\x00",
		"huge length":             "\xff\xff\xff\xffB",
		"over the limit":          "\x00\x10\x00\x01B",
		"command before offer":    string(packet('M', "<s>\x00")),
		"short offer":             string(packet('O', "\x00\x00\x00\x06")),
		"version 1":               string(protocol.Append(nil, 'O', 1, 0x1ff, 0)),
		"no header changes":       string(protocol.Append(nil, 'O', 6, 0x0f, 0)),
		"unknown command":         offer + string(packet('Z', "")),
		"connect without family":  offer + string(packet('C', "host\x00")),
		"connect without NUL":     offer + string(packet('C', "host")),
		"connect without port":    offer + string(packet('C', "host\x004\x00")),
		"connect, unknown family": offer + string(packet('C', "host\x00X\x00\x19address\x00")),
		"macros without a stage":  offer + string(packet('D', "")),
		"header without NUL":      offer + string(packet('L', "Subject")),
		"header without a name":   offer + string(packet('L', "\x00value\x00")),
		"header without an end":   offer + string(packet('L', "Subject\x00value")),
		"empty header":            offer + string(packet('L', "")),
	} {
		t.Run(name, func(t *testing.T) {
			b := start(t, Options{}, clean)
			w := dialWire(t, b.addr, 0)
			w.write([]byte(bytes))
			w.expectClosed()
			lines := b.log.lines(t, "milter connection broken")
			if len(lines) != 1 || lines[0]["cause"] != "protocol" || lines[0]["remote"] != w.LocalAddr().String() {
				t.Errorf("log %v", lines)
			}
			dial(t, "tcp", b.addr, offerAll, "192.0.2.1").send(mail{body: "x"})
		})
	}
	t.Run("gone in a message", func(t *testing.T) {
		b := start(t, Options{}, clean)
		w := dialWire(t, b.addr, offerAll)
		w.send('M', "<s>\x00")
		w.write(packet('B', "half a packet")[:8])
		w.Close()
		testenv.Eventually(t, "the session's end", func() bool { return b.metric("spambloom_milter_failures_total", "connection") == 1 })
	})
	t.Run("gone before the answer", func(t *testing.T) {
		release := make(chan struct{})
		b := start(t, Options{}, func(j judged) policy.Decision { <-release; return clean(j) })
		w := dialWire(t, b.addr, offerAll)
		w.send('M', "<s>\x00")
		w.send('E', "")
		testenv.Eventually(t, "judging", func() bool { return len(b.contents()) == 1 })
		w.Conn.(*net.TCPConn).SetLinger(0)
		w.Close()
		close(release)
		testenv.Eventually(t, "the session's end", func() bool { return b.metric("spambloom_milter_connections", "") == 0 })
	})
	if std.Len() > 0 {
		t.Errorf("process-wide log: %s", std.String())
	}
}

// Anyone with access to the port can fill the metric, but not the log. One cause does not
// hide another.
func TestBrokenConnectionsAreLoggedOnceAMinute(t *testing.T) {
	b := start(t, Options{}, clean)
	for range 5 {
		w := dialWire(t, b.addr, 0)
		w.write([]byte("GET / HTTP/1.0\r\n\r\n"))
		w.expectClosed()
	}
	w := dialWire(t, b.addr, offerAll)
	w.write(packet('B', "half a packet")[:8])
	w.Close()
	testenv.Eventually(t, "the sessions' ends", func() bool { return b.metric("spambloom_milter_failures_total", "") == 6 })
	testenv.Eventually(t, "the last session's log line", func() bool { return b.metric("spambloom_milter_connections", "") == 0 })
	var causes []any
	for _, line := range b.log.lines(t, "milter connection broken") {
		causes = append(causes, line["cause"])
	}
	if !slices.Equal(causes, []any{"protocol", "connection"}) {
		t.Errorf("log lines of causes %v", causes)
	}
}

func TestLibrarysOwnClient(t *testing.T) {
	b := start(t, Options{}, clean)
	// The offer is version 6 with flags of version 2; the answer is the same.
	c := gomilter.NewClientWithOptions("tcp", b.addr, gomilter.ClientOptions{ActionMask: protocol.NeededActions})
	s, err := c.Session()
	testenv.Check(t, err)
	defer s.Close()
	if s.ActionOpts != protocol.NeededActions || s.ProtocolOpts != 0 {
		t.Errorf("answer %#x %#x", s.ActionOpts, s.ProtocolOpts)
	}
}
