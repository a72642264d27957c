package milter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gomilter "github.com/emersion/go-milter"
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/signature"
)

const (
	dialogueSessions = 3   // at a time
	dialogueSteps    = 400 // at most
)

// dialogue is the traffic of MTAs on several connections to one server, decoded from bytes,
// with the answers that the model expects.
type dialogue struct {
	t      *testing.T
	data   []byte
	server *Server
	db     *bloomdb.DB
	folder string // for temporary files
	mtas   [dialogueSessions]*dialogueMTA
	limit  int // MaxMessage
	scale  int // of bodies

	mu     sync.Mutex
	judged [dialogueSessions][]*modelMessage // by the server, in order
}

// dialogueMTA is one connection, open or not.
type dialogueMTA struct {
	*dialogue
	number int
	ln     *memoryListener
	conn   *memoryConn // nil: none
	model  modelSession
	due    []due
}

// next returns the next byte of the input, or 0 after its end.
func (d *dialogue) next() int {
	if len(d.data) == 0 {
		return 0
	}
	b := d.data[0]
	d.data = d.data[1:]
	return int(b)
}

// take returns a text: up to 63 bytes of the input, or one byte repeated.
func (d *dialogue) take() string {
	n := d.next()
	if n >= 64 {
		return strings.Repeat(string(rune('a'+n%26)), (n-64)*20)
	}
	n = min(n, len(d.data))
	text := string(d.data[:n])
	d.data = d.data[n:]
	return text
}

// word is a text without NUL, which would end it.
func (d *dialogue) word() string { return strings.ReplaceAll(d.take(), "\x00", "0") }

func choose[T any](d *dialogue, from []T) T { return from[d.next()%len(from)] }

var dialogueClients = []struct {
	packet string // of SMFIC_CONNECT
	client netip.Addr
}{
	{"h\x004\x00\x19192.0.2.1\x00", netip.MustParseAddr("192.0.2.1")},
	{"h\x004\x00\x19192.0.2.2\x00", netip.MustParseAddr("192.0.2.2")},
	{"h\x006\x00\x19IPv6:2001:db8::1\x00", netip.MustParseAddr("2001:db8::1")},
	{"h\x004\x00\x19127.0.0.1\x00", netip.MustParseAddr("127.0.0.1")},
	{"h\x00L\x00\x00/socket\x00", netip.MustParseAddr("127.0.0.1")},
	{"h\x004\x00\x19nonsense\x00", netip.Addr{}},
}

var dialogueMacros = []struct {
	packet string
	macros modelMacros
}{
	{"Mi\x00Q1\x00", modelMacros{queueID: "Q1"}},
	{"Ri\x00Q2\x00j\x00mx\x00", modelMacros{queueID: "Q2"}},
	{"M{auth_authen}\x00alice\x00", modelMacros{auth: "alice"}},
	{"M{auth_authen}\x00bob\x00i\x00Q3\x00", modelMacros{"Q3", "bob"}},
	{"Cj\x00mx\x00{daemon_name}\x00x\x00", modelMacros{}},
	{"E", modelMacros{}},
	{"Ei\x00\x00", modelMacros{}},
}

// dialogueFields are names of header fields; "" stands for one from the input.
var dialogueFields = []string{"Subject", "Content-Type", "X-Spambloom", "x-spam-FLAG", "Message-ID", ""}

// dialogueGarbage is data that no MTA sends: the server hangs up.
var dialogueGarbage = []string{"\x00\x00\x00\x00", "\xff\xff\xff\xffB", "\x00\x10\x00\x01B", "\x00\x00\x00\x01Z", "\x00\x00\x00\x03Lab",
	"\x00\x00\x00\x02Ch", "\x00\x00\x00\x05O\x00\x00\x00\x06", "\x00\x00\x00\x01D", "\x00\x00\x00\x05Ch\x00X\x00", "GET / HTTP/1.0\r\n"}

// step performs one step of a dialogue: which connection, which command, and how it is
// split.
func (d *dialogue) step() {
	what, m := d.next(), d.mtas[d.next()%dialogueSessions]
	if m.conn == nil {
		m.dial()
	}
	x := &m.model
	switch what % 20 {
	case 0:
		flags := choose(d, []uint32{uint32(offerAll), uint32(offerWait), uint32(offerOld), uint32(offerNoNR), uint32(d.next()) << 12})
		m.send(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, flags), x.offer(flags))
	case 1:
		c := choose(d, dialogueClients)
		m.send(packet('C', c.packet), x.connect(c.client))
	case 2:
		m.send(packet('H', d.word()+"\x00"), x.helo())
	case 3:
		c := choose(d, dialogueMacros)
		x.pending = c.macros
		m.send(packet('D', c.packet), nil)
	case 4:
		sender := d.word()
		m.send(packet('M', "<"+sender+">\x00SIZE=1\x00"), x.mail(sender))
	case 5:
		recipient := d.word()
		m.send(packet('R', "<"+recipient+">\x00"), x.rcpt(recipient))
	case 6:
		name := choose(d, dialogueFields)
		if name == "" {
			name = "X" + d.word()
		}
		value := d.take()
		m.send(packet('L', name+"\x00"+value+"\x00"), x.field(name, value))
	case 7:
		m.send(packet('N', ""), x.endOfHeader())
	case 8:
		chunk := strings.Repeat(d.take(), d.scale)
		chunk = chunk[:min(len(chunk), gomilter.MaxBodyChunk)] // more takes memory as a packet
		m.send(packet('B', chunk), x.chunk(chunk))
	case 9, 10:
		m.send(packet('E', ""), x.endOfMessage())
	case 11:
		m.send(packet('A', ""), x.abort())
	case 12:
		m.send(packet('K', ""), x.newClient())
	case 13:
		m.send(packet('U', "FOO\x00"), []due{{code: 'c'}})
	case 14:
		m.send(packet('T', ""), []due{{code: 'c'}})
	case 15, 16:
		m.letter()
	case 17:
		m.settle()
	case 18:
		if _, err := m.conn.Write([]byte(choose(d, dialogueGarbage))); err != nil { // in one write: the server may hang up at the first byte
			d.t.Fatal(err)
		}
		m.hangUp()
	case 19:
		end := packet('Q', "")
		m.send(end[:d.next()%(len(end)+1)], nil)
		m.conn.out.shut()
		m.hangUp()
	}
}

func (m *dialogueMTA) dial() {
	toServer, fromServer := newStream(), newStream()
	m.conn = &memoryConn{in: fromServer, out: toServer}
	m.ln.conns <- &memoryConn{in: toServer, out: fromServer}
	m.model = modelSession{listener: strconv.Itoa(m.number), limit: m.limit}
	m.send(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offerAll)), m.model.offer(uint32(offerAll)))
}

// letter sends a whole message with enough text to sign. The first of the three was
// reported.
func (m *dialogueMTA) letter() {
	body := dialogueLetter(choose(m.dialogue, []string{"a", "b", "c"}))
	m.send(packet('M', "<letter>\x00"), m.model.mail("letter"))
	m.send(packet('R', "<you>\x00"), m.model.rcpt("you"))
	m.send(packet('L', "Content-Type\x00text/plain\x00"), m.model.field("Content-Type", "text/plain"))
	m.send(packet('N', ""), m.model.endOfHeader())
	m.send(packet('B', body), m.model.chunk(body))
	m.send(packet('E', ""), m.model.endOfMessage())
}

func dialogueLetter(which string) string {
	return strings.Repeat(map[string]string{
		"a": "Dear customer, golden opportunities wait for selected people who understand astonishing offers.\r\n",
		"b": "The meeting about our gardens takes place on Thursday, please bring drawings and measurements.\r\n",
		"c": "Yesterday's build failed because a certificate of the mirror had expired during the holidays.\r\n",
	}[which], 8)
}

// send writes a packet in two pieces, and records the answer that is due. Answers are read
// later, because MTAs may pipeline.
func (m *dialogueMTA) send(p []byte, answers []due) {
	cut := 0
	if len(p) > 0 {
		cut = m.next() % len(p)
	}
	for _, piece := range [][]byte{p[:cut], p[cut:]} {
		if _, err := m.conn.Write(piece); err != nil {
			m.t.Fatalf("the server hung up before %q: %v", p, err)
		}
	}
	m.due = append(m.due, answers...)
}

// settle reads all answers that are due.
func (m *dialogueMTA) settle() {
	m.t.Helper()
	late := time.AfterFunc(testenv.Patience, func() { m.conn.Close() })
	defer late.Stop()
	for _, a := range m.due {
		if a.end != nil {
			m.expectEnd(a.end)
		} else if code, data, err := m.conn.receive(); err != nil || code != a.code {
			m.t.Fatalf("answer %q %q %v, due is %q", code, data, err, a.code)
		}
	}
	m.due = nil
}

// hangUp reads the answers that are due, and checks that no others follow.
func (m *dialogueMTA) hangUp() {
	m.t.Helper()
	m.settle()
	late := time.AfterFunc(testenv.Patience, func() { m.t.Error("the server does not close the connection"); m.conn.Close() })
	defer late.Stop()
	if rest, err := io.ReadAll(m.conn); err != nil || len(rest) > 0 {
		m.t.Fatalf("unexpected answers: %q, %v", rest, err)
	}
	m.conn = nil
}

// expectEnd reads the answer to one end of message, and compares what was judged.
func (m *dialogueMTA) expectEnd(want *modelMessage) {
	m.t.Helper()
	removed, inserted := 0, 0
	var code byte
	for code == 0 {
		c, data, err := m.conn.receive()
		switch {
		case err != nil:
			m.t.Fatalf("no answer to the end of %v: %v", want, err)
		case c == 'm':
			removed++
		case c == 'i':
			inserted++
		case c == 'c' || c == 'y':
			code = c
		default:
			m.t.Fatalf("the end of a message is answered %q %q", c, data)
		}
	}
	got := m.pop(want)
	wantCode, wantInserted, wantRemoved, some := byte('c'), 1, 0, false
	for _, n := range want.forged {
		wantRemoved += min(n, 100)
		some = some || n > 100
	}
	switch {
	case want.skipped() && !some:
		wantInserted = 0
	case m.listed(got):
		wantCode, wantInserted, wantRemoved = 'y', 0, 0
	}
	if code != wantCode || inserted != wantInserted || removed != wantRemoved {
		m.t.Fatalf("answer %q, %d fields in, %d out; should be %q, %d, %d: %v", code, inserted, removed, wantCode, wantInserted, wantRemoved, want)
	}
}

// pop returns the message that the server judged next on this connection, or nil if it was
// not supposed to judge one.
func (m *dialogueMTA) pop(want *modelMessage) *modelMessage {
	m.t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	list := &m.judged[m.number]
	if want.skipped() {
		return nil // an extra judgement shows up at the next message, or at the end
	}
	if len(*list) == 0 {
		m.t.Fatalf("not judged: %v", want)
	}
	got := (*list)[0]
	*list = (*list)[1:]
	if got.String() != want.String() {
		m.t.Fatalf("judged\n%v, should be\n%v", got, want)
	}
	return got
}

func (d *dialogue) listed(m *modelMessage) bool {
	set := signature.Compute(signature.Message{Header: m.header, Body: []byte(m.body), Truncated: m.isLong})
	return len(set.Signatures) > 0 && d.db.Judge(set).Listed
}

// options are the options of the dialogue. Either messages are small and some too long; or
// they are large, with memory for only one, and the others go to files. In both cases there
// is room for all of them.
func (d *dialogue) options() Options {
	o := Options{Site: "mx1", SpamFlag: "X-Spam-Flag", Policy: policy.Policy{Spam: policy.Reject}, MaxMessage: 4000, MaxMemory: 1 << 20,
		SkipAuthenticated: true, LocalNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	d.limit, d.scale = int(o.MaxMessage), 1
	if d.next()%2 == 1 {
		o.MaxMessage, o.MaxMemory, o.SpillFolder = 300_000, 300_000, d.folder
		d.limit, d.scale = int(o.MaxMessage), 40
	}
	return o
}

// serve runs the dialogue against a new server, and checks that nothing is left of it.
func (d *dialogue) serve() {
	d.server = NewServer(d.db, d.options())
	d.server.judge = func(m *message) policy.Decision {
		number, _ := strconv.Atoi(m.Listener)
		d.mu.Lock()
		d.judged[number] = append(d.judged[number], seen(m))
		d.mu.Unlock()
		return d.server.judgeMessage(m)
	}
	served := make(chan error, dialogueSessions)
	for i := range d.mtas {
		d.mtas[i] = &dialogueMTA{dialogue: d, number: i, ln: newMemoryListener()}
		go func() { served <- d.server.Serve(strconv.Itoa(i), d.mtas[i].ln) }()
	}
	defer func() {
		for _, m := range d.mtas {
			if m.conn != nil { // a failure
				m.conn.Close()
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), testenv.Patience)
		defer cancel()
		if err := d.server.Shutdown(ctx); err != nil {
			d.t.Errorf("shutdown: %v", err)
		}
		for range d.mtas {
			if err := <-served; err != nil && !errors.Is(err, net.ErrClosed) {
				d.t.Errorf("serve: %v", err)
			}
		}
		if n := d.server.held.Taken(); n != 0 {
			d.t.Errorf("%d bytes are still booked as held", n)
		}
		if left, err := os.ReadDir(d.folder); err != nil || len(left) > 0 || d.server.spilled.Taken() != 0 {
			d.t.Errorf("temporary files are left: %v, %d bytes, %v", left, d.server.spilled.Taken(), err)
		}
	}()
	for range dialogueSteps {
		if len(d.data) == 0 {
			break
		}
		d.step()
	}
	for i, m := range d.mtas {
		if m.conn != nil {
			m.conn.out.shut()
			m.hangUp()
		}
		if left := d.judged[i]; len(left) > 0 {
			d.t.Errorf("judged unexpectedly: %v", left[0])
		}
	}
}

// dialogueDB is a database with one report, of letter's first text.
func dialogueDB(f testing.TB) *bloomdb.DB {
	db, err := bloomdb.Open(bloomdb.Options{Dir: f.TempDir(), Site: "mx1",
		Reports: bloomdb.ReportOptions{Capacity: 1000}, Counts: bloomdb.CountOptions{Capacity: 1000}})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		if err := db.Close(); err != nil {
			f.Error(err)
		}
	})
	reported := signature.Message{Header: []signature.Field{{Name: "Content-Type", Value: "text/plain"}}, Body: []byte(dialogueLetter("a"))}
	if err := db.Report(signature.Compute(reported), bloomdb.ClassOther); err != nil {
		f.Fatal(err)
	}
	return db
}

// dialogueSeeds are dialogues in the form that step reads: command, connection, its data,
// and where the packet is split.
var dialogueSeeds = []string{
	// Three letters on one connection, the first one spam; then all answers are read.
	"\x0f\x00\x00" + "\x00" + "\x00\x00\x00\x00\x00\x00" + "\x0f\x00\x01\x01\x02\x03\x04\x05\x06" + "\x0f\x00\x02\x00\x00\x00\x00\x00\x00" + "\x11\x00",
	// A client and a letter on each of three connections, in turn.
	"\x01\x00\x00\x00\x00" + "\x01\x01\x00\x01\x00" + "\x01\x02\x00\x03\x00" +
		"\x0f\x00\x00\x00\x00\x00\x00\x00\x00" + "\x0f\x01\x01\x00\x00\x00\x00\x00\x00" + "\x0f\x02\x00\x00\x00\x00\x00\x00\x00",
	// An authenticated client, its letter, another client on the connection, its letter.
	"\x03\x00\x00\x02\x00" + "\x01\x00\x00\x00" + "\x0f\x00\x00\x00\x00\x00\x00\x00\x00" + "\x03\x00\x02\x00" + "\x0c\x00\x00" +
		"\x01\x00\x01\x00" + "\x0f\x00\x00\x00\x00\x00\x00\x00\x00",
	// Sender, recipient, forged field, a body that is too long, abort; and again to the
	// end.
	"\x04\x00\x00\x02ab\x00" + "\x05\x00\x02cd\x00" + "\x06\x00\x02\x02no\x00" + "\x08\x00\xff\x00" + "\x08\x00\xff\x00" + "\x0b\x00\x00" +
		"\x06\x00\x02\x02no\x00" + "\x07\x00\x00" + "\x08\x00\x05a\x00b\x00c\x00" + "\x09\x00\x00",
	// Old flags, each command with its answer, garbage.
	"\x00\x00\x00\x01\x00\x00" + "\x02\x00\x01h\x00" + "\x0d\x00\x00" + "\x0e\x00\x00" + "\x0f\x00\x00\x00\x00\x00\x00\x00\x00" + "\x12\x00\x02\x00",
	// Half a packet, then the end.
	"\x0f\x01\x00\x00\x00\x00\x00\x00\x00\x00" + "\x13\x01\x03\x00",
}

// FuzzDialogue compares whole dialogues with the model in dialogue_model_test.go. Each
// command gets the answers that are due and no others, each end of message exactly one. A
// judged message contains its own content and nothing of another message, client or
// connection. In the end no memory is held, no goroutine is left, and the process-wide log
// is empty.
func FuzzDialogue(f *testing.F) {
	db, dir := dialogueDB(f), f.TempDir()
	for _, seed := range dialogueSeeds {
		f.Add([]byte("\x00" + seed))
		f.Add([]byte("\x01" + seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) { runDialogue(t, db, dir, data) })
}

func runDialogue(t *testing.T, db *bloomdb.DB, dir string, data []byte) {
	var std bytes.Buffer
	defer log.SetOutput(log.Writer())
	log.SetOutput(&std)
	(&dialogue{t: t, data: data, db: db, folder: dir}).serve()
	if std.Len() > 0 {
		t.Errorf("process-wide log: %s", std.String())
	}
}

// The same with random dialogues, which are longer than those the fuzzer has found.
func TestRandomDialogues(t *testing.T) {
	random, db, dir := rand.New(rand.NewPCG(testenv.Seed(t), 0)), dialogueDB(t), t.TempDir()
	for i := range testenv.Rounds(300) {
		data := make([]byte, random.IntN(1000))
		for j := range data {
			if data[j] = byte(random.Uint32()); random.IntN(3) > 0 {
				data[j] %= 32 // commands, and short texts
			}
		}
		if runDialogue(t, db, dir, data); t.Failed() {
			t.Fatalf("dialogue %d: %q", i, data)
		}
	}
}
