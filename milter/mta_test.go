package milter

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/signature"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// judged records the arguments of a test's judgement.
type judged struct {
	content   signature.Message
	sightings uint32
}

// bench is a running server, with its log and the messages it judged.
type bench struct {
	*Server
	t    testing.TB
	addr string
	log  logBuffer

	mu     sync.Mutex
	judged []judged
}

// start runs a server. If decide is not nil, it judges messages instead of the database.
func start(t testing.TB, o Options, decide func(judged) policy.Decision) *bench {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, err)
	return startOn(t, ln, o, decide)
}

func startOn(t testing.TB, ln net.Listener, o Options, decide func(judged) policy.Decision) *bench {
	t.Helper()
	b := &bench{t: t, addr: ln.Addr().String()}
	if o.Log == nil {
		o.Log = slog.New(slog.NewJSONHandler(&b.log, nil))
	}
	if o.Site == "" {
		o.Site = "mx1"
	}
	b.Server = NewServer(nil, o)
	if decide != nil {
		b.Server.judge = func(m *message) policy.Decision {
			j := judged{m.content(), m.sightings()}
			b.mu.Lock()
			b.judged = append(b.judged, j)
			b.mu.Unlock()
			return decide(j)
		}
	}
	served := make(chan error, 1)
	go func() { served <- b.Serve("listener", ln) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		defer cancel()
		if err := b.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
		if n := b.held.Taken(); n != 0 {
			t.Errorf("%d bytes are still booked as held", n)
		}
	})
	return b
}

// clean is the decision in tests of something else.
func clean(judged) policy.Decision { return policy.Decision{Verdict: policy.Clean, Action: policy.Tag} }

// contents returns the messages judged so far.
func (b *bench) contents() []judged {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.judged)
}

// lines returns the log lines of messages so far.
func (b *bench) lines() []map[string]any { return b.log.lines(b.t, "message") }

// logBuffer collects JSON log lines.
type logBuffer struct{ testenv.Log }

func (l *logBuffer) lines(t testing.TB, msg string) (found []map[string]any) {
	t.Helper()
	for line := range strings.Lines(l.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("log line %q: %v", line, err)
		}
		if m["msg"] == msg {
			found = append(found, m)
		}
	}
	return found
}

// metric returns the value of a counter, gauge or histogram count, summed over the series
// with the label value ("" for all).
func (b *bench) metric(name, label string) (sum float64) {
	b.t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(b.Collectors()...)
	families, err := r.Gather()
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			if label == "" || m.GetLabel()[0].GetValue() == label {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return sum
}

// Protocol flags as MTAs offer them.
const (
	offerAll  = gomilter.OptProtocol(0x1fffff)      // Postfix with milter_protocol = 6, Sendmail 8.14 and later
	offerOld  = gomilter.OptProtocol(0x7f)          // version 2
	offerWait = offerAll &^ gomilter.OptNoBodyReply // waits for the answer to each body chunk
	offerNoNR = offerOld | gomilter.OptNoUnknown | gomilter.OptNoData | gomilter.OptSkip
)

// offering is a dialer whose connections offer protocol flags that go-milter's client
// cannot offer.
type offering gomilter.OptProtocol

func (o offering) Dial(network, addr string) (net.Conn, error) {
	nc, err := net.Dial(network, addr)
	if err != nil {
		return nil, err
	}
	return &offeringConn{Conn: nc, protocol: uint32(o)}, nil
}

type offeringConn struct {
	net.Conn
	protocol uint32
	done     bool
}

func (c *offeringConn) Write(p []byte) (int, error) {
	if !c.done {
		c.done = true
		binary.BigEndian.PutUint32(p[protocol.Head+1+8:], c.protocol)
	}
	return c.Conn.Write(p)
}

// mta is go-milter's client after connect and HELO.
type mta struct {
	*gomilter.ClientSession
	t testing.TB
}

func dial(t testing.TB, network, addr string, offer gomilter.OptProtocol, client string) *mta {
	t.Helper()
	// go-milter's client treats SMFIR_SKIP as an error, so it must not offer it.
	return dialBy(t, offering(offer&^gomilter.OptSkip), network, addr, client)
}

func dialBy(t testing.TB, dialer gomilter.Dialer, network, addr, client string) *mta {
	t.Helper()
	c := gomilter.NewClientWithOptions(network, addr, gomilter.ClientOptions{
		Dialer: dialer, ActionMask: protocol.NeededActions,
		ReadTimeout: testenv.Patience, WriteTimeout: testenv.Patience,
	})
	s, err := c.Session()
	testenv.Check(t, err)
	m := &mta{s, t}
	t.Cleanup(func() { s.Close() })
	m.must(s.Conn("client.example", gomilter.FamilyInet, 25, client))
	m.must(s.Helo("client.example"))
	return m
}

func (m *mta) must(a *gomilter.Action, err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
	if a.Code != gomilter.ActContinue {
		m.t.Fatalf("answer %q before end of message", a.Code)
	}
}

// mail is a message to send: header lines "Name: value", recipients, body.
type mail struct {
	header []string
	rcpts  int
	body   string
	macros []string // sent before MAIL
}

// send returns the server's changes and its final answer.
func (m *mta) send(msg mail) ([]gomilter.ModifyAction, *gomilter.Action) {
	m.t.Helper()
	if msg.macros != nil {
		if err := m.Macros(gomilter.CodeMail, msg.macros...); err != nil {
			m.t.Fatal(err)
		}
	}
	m.must(m.Mail("sender@example.org", nil))
	m.must(m.Rcpt("recipient@example.org", nil))
	for i := range max(1, msg.rcpts) - 1 {
		m.must(m.Rcpt(fmt.Sprintf("recipient%d@example.org", i), nil))
	}
	for _, line := range msg.header {
		name, value, _ := strings.Cut(line, ": ")
		m.must(m.HeaderField(name, value))
	}
	m.must(m.HeaderEnd())
	changes, action, err := m.BodyReadFrom(strings.NewReader(msg.body))
	if err != nil {
		m.t.Fatal(err)
	}
	return changes, action
}

// changed formats changes briefly: "+0 Name: value", "-2 Name", "hold reason".
func changed(changes []gomilter.ModifyAction) (short []string) {
	for _, c := range changes {
		index := string(rune('0' + c.HeaderIndex))
		switch c.Code {
		case gomilter.ActInsertHeader:
			short = append(short, "+"+index+" "+c.HeaderName+": "+c.HeaderValue)
		case gomilter.ActChangeHeader:
			short = append(short, "-"+index+" "+c.HeaderName+c.HeaderValue)
		case gomilter.ActQuarantine:
			short = append(short, "hold "+c.Reason)
		default:
			short = append(short, "unexpected "+string(rune(c.Code)))
		}
	}
	return short
}

// wire is an MTA that sends arbitrary packets.
type wire struct {
	net.Conn
	t testing.TB
}

// dialWire connects. If offer is 0, it does not negotiate.
func dialWire(t testing.TB, addr string, offer gomilter.OptProtocol) *wire {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	testenv.Check(t, err)
	w := wireOf(t, nc)
	if offer != 0 {
		w.write(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offer)))
		w.expect("O")
	}
	return w
}

// wireOf closes the connection when the test ends.
func wireOf(t testing.TB, nc net.Conn) *wire {
	t.Cleanup(func() { nc.Close() })
	return &wire{nc, t}
}

func packet(code byte, data string) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(1+len(data)))
	return append(append(p, code), data...)
}

func (w *wire) write(p []byte) {
	w.t.Helper()
	if _, err := w.Write(p); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) send(code byte, data string) { w.t.Helper(); w.write(packet(code, data)) }

func (w *wire) receive() (code byte, data []byte, err error) {
	w.SetReadDeadline(time.Now().Add(testenv.Patience))
	var head [protocol.Head]byte
	if _, err := io.ReadFull(w, head[:]); err != nil {
		return 0, nil, err
	}
	data = make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(w, data); err != nil {
		return 0, nil, err
	}
	return data[0], data[1:], nil
}

// expect reads one answer for each letter of codes.
func (w *wire) expect(codes string) {
	w.t.Helper()
	for i := range codes {
		code, data, err := w.receive()
		if err != nil {
			w.t.Fatalf("answer %d of %q: %v", i, codes, err)
		}
		if code != codes[i] {
			w.t.Fatalf("answer %d of %q is %q %q", i, codes, code, data)
		}
	}
}

// expectClosed reads until the server closes, and fails if the server waits instead.
func (w *wire) expectClosed() {
	w.t.Helper()
	w.SetReadDeadline(time.Now().Add(testenv.Patience))
	if _, err := io.Copy(io.Discard, w); errors.Is(err, os.ErrDeadlineExceeded) {
		w.t.Fatalf("connection is still open: %v", err)
	}
}
