package milter

import (
	"bytes"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
)

// from dials with an address of our own.
func from(t *testing.T, local, addr string) *wire {
	t.Helper()
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(local), 0))}
	nc, err := d.Dial("tcp", addr)
	testenv.Need(t, err == nil, "addresses 127.0.0.0/8")
	t.Cleanup(func() { nc.Close() })
	return &wire{nc, t}
}

func (w *wire) offer() *wire {
	w.t.Helper()
	w.write(fullOffer)
	w.expect("O")
	return w
}

func TestConnectionsOfOneClient(t *testing.T) {
	b := start(t, Options{MaxConnectionsPerClient: 2}, clean)
	first := from(t, "127.0.0.1", b.addr).offer()
	from(t, "127.0.0.1", b.addr).offer()
	for range 3 {
		from(t, "127.0.0.1", b.addr).expectClosed()
	}
	from(t, "127.0.0.2", b.addr).expectClosed() // this machine has many addresses
	if c := b.admit("", remoteConn{addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}); c == nil {
		t.Error("another client is refused")
	} else {
		b.release(c)
	}
	if n, all := b.metric("spambloom_milter_refused_total", door.ReasonClient), b.metric("spambloom_milter_refused_total", ""); n != 4 || all != 4 {
		t.Errorf("refused metric %v, of all reasons %v", n, all)
	}
	lines := b.log.lines(t, "milter connection refused: limit milter.max_connections_per_client reached")
	if len(lines) != 1 || !strings.HasPrefix(lines[0]["remote"].(string), "127.0.0.1:") {
		t.Errorf("log %v", lines)
	}
	first.send('Q', "")
	first.expectClosed()
	testenv.Eventually(t, "a free place", func() bool { return b.Load().Connections == 1 })
	from(t, "127.0.0.1", b.addr).offer()
	o := *b.options.Load()
	o.MaxConnectionsPerClient = 0
	b.Reload(o)
	from(t, "127.0.0.1", b.addr).offer()
}

// remoteConn is a connection with a given remote address.
type remoteConn struct {
	net.Conn
	addr net.Addr
}

func (c remoteConn) RemoteAddr() net.Addr { return c.addr }
func (c remoteConn) Close() error         { return nil }

// All connections to a unix socket count as one client; each socket counts as another.
func TestUnixSocketIsOneClient(t *testing.T) {
	b := start(t, Options{MaxConnectionsPerClient: 2}, clean)
	var paths []string
	served := make(chan error, 2)
	for _, name := range []string{"a", "b"} {
		path := filepath.Join(t.TempDir(), name)
		ln, err := net.Listen("unix", path)
		testenv.Check(t, err)
		go func() { served <- b.Serve(name, ln) }()
		paths = append(paths, path)
	}
	open := func(path string) *wire {
		nc, err := net.Dial("unix", path)
		testenv.Check(t, err)
		t.Cleanup(func() { nc.Close() })
		return &wire{nc, t}
	}
	for _, path := range paths {
		open(path).offer()
		open(path).offer()
		open(path).expectClosed()
	}
	if n := b.metric("spambloom_milter_refused_total", door.ReasonClient); n != 2 {
		t.Errorf("refused metric %v", n)
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	for range paths {
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// stalled lists the states in which an MTA may fall silent: the data it has sent, and the
// stage that the server reports.
var stalled = []struct{ name, sent, stage string }{
	{"before the offer", "", stageOffer},
	{"in the first length", "\x00\x00", stageOffer},
	{"after the offer", stalledOffer, stageIdle},
	{"after connect", stalledOffer + string(packet('C', "h\x004\x00\x19192.0.2.9\x00")), stageIdle},
	{"in a length", stalledOffer + "\x00\x00", stageIdle},
	{"in a packet", stalledOffer + stalledMail[:6], stagePacket},
	{"after MAIL", stalledOffer + stalledMail, stageEnvelope},
	{"in the header", stalledOffer + stalledMail + stalledField, stageContent},
	{"in the body", stalledOffer + stalledMail + stalledField + string(packet('B', strings.Repeat("x", 60_000))), stageContent},
	{"in a large packet", stalledOffer + stalledMail + "\x00\x0f\xff\xffB" + strings.Repeat("x", 1000), stagePacket},
	{"after a message", stalledOffer + stalledMail + string(packet('E', "")), stageIdle},
}

var (
	stalledOffer = string(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offerAll)))
	stalledMail  = string(packet('M', "<s>\x00"))
	stalledField = string(packet('L', "a\x00b\x00"))
)

func TestStalledClientsAreCut(t *testing.T) {
	for _, state := range stalled {
		inBubble(t, state.name, func(t *testing.T) {
			ln := newMemoryListener()
			b := startOn(t, ln, Options{IdleTimeout: time.Minute, ContentTimeout: time.Minute}, clean)
			w := wireOf(t, ln.dial())
			w.write([]byte(state.sent))
			w.expectClosed()
			testenv.Eventually(t, "the session's end", func() bool { return b.Load().Connections == 0 })
			if n, all := b.metric("spambloom_milter_timeouts_total", state.stage), b.metric("spambloom_milter_timeouts_total", ""); n != 1 || all != 1 {
				t.Errorf("timeouts at %s: %v, at all stages %v, log %s", state.stage, n, all, b.log.String())
			}
			if n := b.metric("spambloom_milter_failures_total", "timeout"); n != 1 {
				t.Errorf("failures metric %v", n)
			}
		})
	}
}

// An SMTP client may be silent, or send data slowly, for as long as it likes. Postfix passes all mail of
// a session whose connection was closed, so a silent MTA is judged whenever it goes on.
func TestSilentMTAIsServed(t *testing.T) {
	for _, sent := range []string{"", stalledMail} {
		inBubble(t, fmt.Sprintf("%q", sent), func(t *testing.T) {
			ln := newMemoryListener()
			startOn(t, ln, Options{}, clean)
			w := wireOf(t, ln.dial())
			w.write([]byte(stalledOffer + sent))
			w.receive()
			time.Sleep(30 * 24 * time.Hour)
			if sent == "" {
				w.write([]byte(stalledMail))
			}
			w.write([]byte(stalledField))
			w.send('E', "")
			w.expect("ic")
		})
	}
}

// Silent MTAs have no limit by default. A limit that an administrator sets meanwhile ends them.
func TestSilentMTAIsCutAfterReload(t *testing.T) {
	for name, o := range map[string]Options{"idle": {IdleTimeout: time.Minute}, "age": {ConnectionTimeout: time.Minute}} {
		for _, sent := range []string{"", stalledOffer, stalledOffer + "\x00\x00"} {
			inBubble(t, fmt.Sprintf("%s %q", name, sent), func(t *testing.T) {
				ln := newMemoryListener()
				b := startOn(t, ln, Options{}, clean)
				w := wireOf(t, ln.dial())
				w.write([]byte(sent))
				time.Sleep(10 * time.Second)
				begun := time.Now()
				b.Reload(o)
				w.expectClosed()
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("closed after %v", took)
				}
			})
		}
	}
}

// A hundred clients stall in the same state. In each state, they cost others nothing: no
// connection, no memory for their mail, no turn.
func TestStalledClientsCostOnlyThemselves(t *testing.T) {
	const n = 100
	for _, state := range stalled {
		t.Run(state.name, func(t *testing.T) {
			b := start(t, Options{MaxMemory: 1 << 20}, clean)
			for range n {
				dialWire(t, b.addr, 0).write([]byte(state.sent))
			}
			testenv.Eventually(t, "all connected", func() bool { return b.Load().Connections == n })
			m := dial(t, "tcp", b.addr, offerAll, "192.0.2.1")
			for range 10 {
				if got := verdictOf(t, m, letter); got != "clean; count=0; sites=0" {
					t.Errorf("mail of another client: %q", got)
				}
			}
			for _, j := range b.contents() {
				if body := string(j.content.Body); j.content.Truncated || body != letter.body && body != "" {
					t.Errorf("a message is cut: %d bytes", len(body))
				}
			}
			if load := b.Load(); load.Memory > 1<<20+n*share {
				t.Errorf("load %+v", load)
			}
		})
	}
}

// An old connection is closed between two messages. An hour later it is closed in any case,
// even if data still trickles in.
func TestOldConnections(t *testing.T) {
	field, mail, end := packet('L', "a\x00b\x00"), packet('M', "<s>\x00"), packet('E', "")
	mta := &script{Reader: iotest.OneByteReader(bytes.NewReader(packets(mail, field, end)))}
	s := NewServer(nil, Options{ConnectionTimeout: 10 * time.Minute, ContentTimeout: 3 * time.Hour})
	s.judge = func(*message) policy.Decision { return clean(judged{}) }
	mta.run(t, s)
	const idle, inMessage = 10 * time.Minute, 70 * time.Minute
	want := []time.Duration{offerTimeout, idle, idle, idle, inMessage, inMessage, inMessage, inMessage, idle}
	if !slices.Equal(mta.deadlines, want) {
		t.Errorf("deadlines %v, want %v", mta.deadlines, want)
	}
}

func TestOldConnectionFinishesItsMessage(t *testing.T) {
	b := start(t, Options{}, clean)
	idle, busy := dialWire(t, b.addr, offerAll), dialWire(t, b.addr, offerAll)
	busy.begin()
	o := *b.options.Load()
	o.ConnectionTimeout = time.Nanosecond
	b.Reload(o)
	idle.send('C', "h\x004\x00\x19192.0.2.9\x00")
	idle.expectClosed()
	busy.send('L', "a\x00b\x00")
	busy.send('E', "")
	busy.expect("ic")
	busy.expectClosed()
	testenv.Eventually(t, "two timeouts", func() bool { return b.metric("spambloom_milter_timeouts_total", stageConnection) == 2 })
	if lines := b.log.lines(t, "milter connection broken"); len(lines) > 0 || b.metric("spambloom_milter_failures_total", "timeout") > 0 {
		t.Errorf("an orderly end is counted as a broken one: %v", lines)
	}
}

// A message that does not end is cut with its connection.
func TestOldConnectionWithoutEnd(t *testing.T) {
	b := start(t, Options{}, clean)
	w := dialWire(t, b.addr, offerAll)
	w.begin()
	o := *b.options.Load()
	o.ConnectionTimeout = time.Nanosecond - overtime // the extra hour ends now, too
	b.Reload(o)
	w.send('L', "a\x00b\x00")
	w.expectClosed()
	testenv.Eventually(t, "the timeout", func() bool { return b.metric("spambloom_milter_timeouts_total", stageConnection) == 1 })
	testenv.Eventually(t, "the failure", func() bool { return b.metric("spambloom_milter_failures_total", "timeout") == 1 })
}

// A client may name any number of recipients. They count only if the options list the MTA,
// or if it is on a unix socket.
func TestRecipientsCountForTrustedMTAs(t *testing.T) {
	networks := prefixes("192.0.2.0/24", "2001:db8::/32")
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 25} }
	for _, c := range []struct {
		name     string
		count    bool
		networks []netip.Prefix
		remote   net.Addr
		want     uint32
	}{
		{"TCP, no MTA is listed", true, nil, tcp("127.0.0.1"), 1},
		{"TCP, another", true, networks, tcp("127.0.0.1"), 1},
		{"TCP, named", true, networks, tcp("192.0.2.1"), 2000},
		{"TCP, listed as IPv6", true, networks, tcp("2001:db8::1"), 2000},
		{"TCP, mapped", true, networks, tcp("::ffff:192.0.2.1"), 2000},
		{"unix", true, nil, &net.UnixAddr{}, 2000},
		{"by message", false, networks, tcp("192.0.2.1"), 1},
		{"unix, by message", false, nil, &net.UnixAddr{}, 1},
	} {
		s := NewServer(nil, Options{CountRecipients: c.count, CountNetworks: c.networks})
		x := newConn(&door.Conn{Conn: &script{}}, s).session
		x.remote = c.remote
		m := x.message()
		for i := range 2000 {
			m.addRecipient(fmt.Sprintf("r%d@example.org", i))
			m.addRecipient("R1@example.org") // an MTA delivers one copy
			m.addRecipient(fmt.Sprintf(`"r1" (%d)@example.org.`, i))
			m.addRecipient(fmt.Sprintf("r1+%d@example.org", i))
		}
		if got := m.sightings(); got != c.want {
			t.Errorf("%s: a message to 2,000 counts %d times, want %d", c.name, got, c.want)
		}
		x.drop()
	}
}

// The recipients of a message leave half of its share to the content, also if others use up the memory
// between the two. A 1 KB spam to 1,000 recipients was not judged then.
func TestRecipientsLeaveRoomForContent(t *testing.T) {
	for name, before := range map[string]bool{"used up before": true, "used up between": false} {
		s := NewServer(nil, Options{MaxMemory: 4 << 20, MaxMessage: 1 << 20})
		message := func() *message {
			x := newConn(&door.Conn{Conn: &script{}}, s).session
			x.remote = &net.UnixAddr{}
			t.Cleanup(x.drop)
			return x.message()
		}
		others := 0
		useUp := func() { // each takes a part of what the others leave
			for range 8 {
				others++
				for other := message(); other.book(1 << 10); {
				}
			}
		}
		m := message()
		if before {
			useUp()
		}
		for i := range 3000 {
			m.addRecipient(fmt.Sprintf("r%d@example.org", i))
		}
		useUp()
		if got := m.bookPart(share); got < share/2 {
			t.Errorf("%s: %d bytes of content have room beside %d recipients, want at least %d", name, got, len(m.Recipients), share/2)
		}
		if kept := len(m.Recipients); kept < 300 || !before && kept < 3000 {
			t.Errorf("%s: %d recipients are kept", name, kept)
		}
		if held, most := s.held.Taken(), int64(4<<20+(others+1)*share); held > most {
			t.Errorf("%s: %d bytes are booked, want at most %d", name, held, most)
		}
	}
}

// With oversize = "skip", a message that is too long keeps its recipients, and a Mail its head. Their
// memory stays booked: others took it for theirs.
func TestSkippedMessageStaysBooked(t *testing.T) {
	s := NewServer(nil, Options{MaxMemory: 64 << 20, MaxMessage: 1 << 20, SkipOversize: true})
	x := newConn(&door.Conn{Conn: &script{}}, s).session
	x.remote = &net.UnixAddr{}
	m, named := x.message(), int64(0)
	for i := range 5000 {
		m.addRecipient(fmt.Sprintf("r%0200d@example.org", i))
	}
	for _, r := range m.Recipients {
		named += int64(len(r)) + fieldOverhead
	}
	for range 20 {
		m.addChunk(make([]byte, 64<<10))
	}
	if got := s.held.Taken(); !m.oversize || got != named {
		t.Errorf("%d bytes are booked for %d recipients, want %d", got, len(m.Recipients), named)
	}
	x.drop()

	head := "Subject: a\nX: " + strings.Repeat("x", 40_000) + "\n\n"
	mail := s.NewMail("spamd", "", "uid:7", false)
	for _, part := range []string{head, strings.Repeat("y", 1<<20)} {
		_, _ = mail.Write([]byte(part))
	}
	if got := s.held.Taken(); !mail.msg.oversize || got < int64(len(head)) {
		t.Errorf("%d bytes are booked for a head of %d", got, len(head))
	}
	mail.Close()
	if got := s.held.Taken(); got != 0 {
		t.Errorf("%d bytes are booked at the end", got)
	}
}

// The attack of shared/attacks: a local user sent one message to 2,000 recipients to the
// milter's TCP port, which made a newsletter bulk.
func TestNewsletterIsNotMadeBulkByOneMessage(t *testing.T) {
	b := start(t, Options{CountRecipients: true, Policy: policy.Policy{BulkThreshold: 20}}, nil)
	b.Server.db = openDB(t)
	crowd := letter
	crowd.rcpts = 2000
	verdict := func(msg mail) string {
		verdict, _, _ := strings.Cut(verdictOf(t, dial(t, "tcp", b.addr, offerAll, "192.0.2.1"), msg), ";")
		return verdict
	}
	for _, msg := range []mail{crowd, letter} {
		if got := verdict(msg); got != "clean" {
			t.Errorf("a message to %d is %s", max(1, msg.rcpts), got)
		}
	}
}

// One machine has all addresses of its IPv6 network of 64 bits, and would have all places with eleven of
// them. MTAs in its network that the configuration names keep places of their own.
func TestIPv6NetworkIsOneClient(t *testing.T) {
	const perClient = 10
	b := start(t, Options{MaxConnections: 4 * perClient, MaxConnectionsPerClient: perClient, CountNetworks: prefixes("2001:db8::25/128")}, clean)
	admitted := func(remote string) bool {
		c := b.admit("", remoteConn{addr: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(remote))})
		if c != nil {
			t.Cleanup(func() { b.release(c) })
		}
		return c != nil
	}
	for i := range 8 * perClient {
		if got, want := admitted(fmt.Sprintf("[2001:db8::bad:%x]:4000", i%20)), i < perClient; got != want {
			t.Errorf("connection %d of a network: admitted %v, want %v", i, got, want)
		}
	}
	for _, mta := range []string{"[2001:db8:0:1::1]:25", "192.0.2.1:25", "[2001:db8::25]:25"} {
		if !admitted(mta) {
			t.Errorf("the MTA %s is refused", mta)
		}
	}
}

// The attack of shared/attacks: a local user opens 1,000 idle connections to the TCP port,
// from many addresses of this machine. MTAs on other machines and on a unix socket are
// still served.
func TestIdleConnectionsOfALocalUser(t *testing.T) {
	const perClient = 50 // the default's share of all connections
	b := start(t, Options{MaxConnections: 4 * perClient, MaxConnectionsPerClient: perClient}, clean)
	for i := range 4 * perClient {
		w := from(t, fmt.Sprintf("127.0.0.%d", 1+i%8), b.addr)
		if i < perClient {
			w.offer()
		} else {
			w.expectClosed()
		}
	}
	if c := b.admit("", remoteConn{addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)}}); c == nil {
		t.Error("an MTA on another machine is refused")
	} else {
		b.release(c)
	}
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	testenv.Check(t, err)
	served := make(chan error, 1)
	go func() { served <- b.Serve("unix", ln) }()
	if got := verdictOf(t, dial(t, "unix", path, offerAll, "192.0.2.1"), letter); got != "clean; count=0; sites=0" {
		t.Errorf("mail over a unix socket: %q", got)
	}
	if n := b.metric("spambloom_milter_refused_total", door.ReasonClient); n != 3*perClient {
		t.Errorf("refused metric %v", n)
	}
	if err := b.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
