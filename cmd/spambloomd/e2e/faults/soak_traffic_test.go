package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
)

// soakSent is one message that was sent, completely or not.
type soakSent struct {
	whole  bool // its sender waited for the answer and received it
	answer soakAnswer
	want   string // see soakMail
	isLong bool   // longer than what a message may always have in memory
}

// soakBook records the results of all connections. It is safe for concurrent use.
type soakBook struct {
	mu     sync.Mutex // guards all below
	sent   map[string]soakSent
	faults []error // errors of the daemon
	turns  map[string]int
}

func newSoakBook() *soakBook {
	return &soakBook{sent: map[string]soakSent{}, turns: map[string]int{}}
}

// broken records a message whose sender does not wait for an answer.
func (b *soakBook) broken(m *soakMail) { b.enter(m, soakSent{}) }

func (b *soakBook) enter(m *soakMail, s soakSent) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s.isLong = len(m.body) > 64<<10
	b.sent[m.id] = s
}

// whole returns how many messages were sent completely.
func (b *soakBook) whole() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sent {
		if s.whole {
			n++
		}
	}
	return n
}

func (b *soakBook) fault(turn string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Errorf("%s: %w", turn, err))
}

// soakClient is one MTA: it connects, sends some messages in various ways, and connects
// again.
type soakClient struct {
	post     *soakPost
	book     *soakBook
	random   *rand.Rand
	network  string
	address  string
	host     string        // the SMTP client's address
	pace     time.Duration // mean time between two turns
	longest  time.Duration // maximum stall
	stopping <-chan struct{}

	mayBeLocal bool // the host's network is sometimes local
}

// soakTurn is an action of a client on a connection.
type soakTurn struct {
	name  string
	share int  // percentage of turns
	ends  bool // it ends the connection
	do    func(*soakClient, *soakConn) error
}

var soakTurns = []soakTurn{
	{"whole", 55, false, (*soakClient).whole},
	{"pipelined", 10, false, (*soakClient).pipelined},
	{"stalled", 8, false, (*soakClient).stalled},
	{"aborted", 8, false, (*soakClient).aborted},
	{"new client", 3, false, (*soakClient).newClient},
	{"died", 6, true, (*soakClient).died},
	{"died at the end", 4, true, (*soakClient).diedAtTheEnd},
	{"garbage", 6, true, (*soakClient).garbage},
}

// work continues until it is stopped. It then completes the messages that it began.
func (c *soakClient) work() {
	for !c.wait(c.pace) {
		if err := c.connection(); err != nil {
			c.book.fault("connection", err)
		}
	}
}

// wait reports whether it is time to stop.
func (c *soakClient) wait(mean time.Duration) (stop bool) {
	t := time.NewTimer(time.Duration(c.random.Int64N(int64(2 * mean))))
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-c.stopping:
		return true
	}
}

// connection performs some turns on one connection.
func (c *soakClient) connection() error {
	conn, err := dialSoak(c.network, c.address, soakOffers[c.random.IntN(len(soakOffers))])
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.play(soakGreeting(c.host), func() {}); err != nil {
		return err
	}
	for range 1 + c.random.IntN(8) {
		if c.wait(c.pace) {
			break
		}
		turn := c.draw()
		c.book.mu.Lock()
		c.book.turns[turn.name]++
		c.book.mu.Unlock()
		if err := turn.do(c, conn); err != nil || turn.ends {
			return wrapTurn(turn.name, err)
		}
	}
	if err := conn.write(harness.MilterPacket(byte(gomilter.CodeQuit))); err != nil {
		return err
	}
	return wrapTurn("quit", conn.ended())
}

func wrapTurn(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (c *soakClient) draw() soakTurn {
	n := c.random.IntN(100)
	for _, turn := range soakTurns {
		if n -= turn.share; n < 0 {
			return turn
		}
	}
	panic("the shares are less than a hundred")
}

// send sends a whole message.
func (c *soakClient) send(conn *soakConn, m *soakMail, pause func()) (soakAnswer, error) {
	a, err := conn.play(m.steps(conn.silent), pause)
	c.book.enter(m, soakSent{whole: err == nil, answer: a, want: c.wanted(m)})
	if err != nil {
		err = fmt.Errorf("message %s: %w", m.id, err)
	}
	return a, err
}

// wanted returns a message's expected verdict, unless this client's network is sometimes
// local.
func (c *soakClient) wanted(m *soakMail) string {
	if c.mayBeLocal {
		return ""
	}
	return m.want
}

func (c *soakClient) whole(conn *soakConn) error {
	_, err := c.send(conn, c.post.draw(c.random), func() {})
	return err
}

func (c *soakClient) stalled(conn *soakConn) error {
	m := c.post.draw(c.random)
	left := c.random.IntN(len(m.header) + 3)
	_, err := c.send(conn, m, func() {
		if left--; left == 0 {
			c.wait(c.longest / 2)
		}
	})
	return err
}

// pipelined sends several messages at once, with an ABORT between them or, like Sendmail,
// without.
func (c *soakClient) pipelined(conn *soakConn) error {
	var steps []soakStep
	var mails []*soakMail
	abort := c.random.IntN(2) == 0
	for range 2 + c.random.IntN(3) {
		m := c.post.draw(c.random)
		mails = append(mails, m)
		steps = append(steps, m.steps(conn.silent)...)
		if abort {
			steps = append(steps, soakStep{code: gomilter.CodeAbort, packet: harness.MilterPacket(byte(gomilter.CodeAbort)), never: true})
		}
	}
	answers, err := conn.pipeline(steps)
	for i, m := range mails {
		s := soakSent{whole: i < len(answers), want: c.wanted(m)}
		if s.whole {
			s.answer = answers[i]
		}
		c.book.enter(m, s)
	}
	return err
}

// part sends the beginning of a message, without its end.
func (c *soakClient) part(conn *soakConn) (m *soakMail, steps []soakStep) {
	m = c.post.draw(c.random)
	steps = m.steps(conn.silent)
	return m, steps[:1+c.random.IntN(len(steps)-1)]
}

func (c *soakClient) aborted(conn *soakConn) error {
	m, steps := c.part(conn)
	_, err := conn.play(steps, func() {})
	c.book.broken(m)
	if err != nil {
		return err
	}
	return conn.write(harness.MilterPacket(byte(gomilter.CodeAbort)))
}

// newClient announces another SMTP client, in the middle of a message or not, and sends an
// unknown SMTP command where the MTA may do so.
func (c *soakClient) newClient(conn *soakConn) error {
	if c.random.IntN(2) == 0 {
		m, steps := c.part(conn)
		c.book.broken(m)
		if _, err := conn.play(steps, func() {}); err != nil {
			return err
		}
	}
	steps := []soakStep{{code: soakNewClient, packet: harness.MilterPacket(byte(soakNewClient)), never: true}}
	steps = append(steps, soakGreeting(c.host)...)
	if conn.silent&gomilter.OptNoUnknown == 0 {
		steps = append(steps, newStep(soakUnknown, "FOO\x00", 0))
	}
	_, err := conn.play(steps, func() {})
	return err
}

// died disconnects between two packets or in the middle of one, with or without a reset.
func (c *soakClient) died(conn *soakConn) error {
	m, steps := c.part(conn)
	c.book.broken(m)
	last := steps[len(steps)-1].packet
	if _, err := conn.play(steps[:len(steps)-1], func() {}); err != nil {
		return err
	}
	if err := conn.write(last[:c.random.IntN(len(last))]); err != nil {
		return err
	}
	if c.random.IntN(2) == 0 {
		c.wait(c.longest / 2)
	}
	if tcp, ok := conn.Conn.(*net.TCPConn); ok && c.random.IntN(2) == 0 {
		_ = tcp.SetLinger(0) // a reset
	}
	return conn.Close()
}

// diedAtTheEnd does not wait for the answer.
func (c *soakClient) diedAtTheEnd(conn *soakConn) error {
	m := c.post.draw(c.random)
	c.book.broken(m)
	steps := m.steps(conn.silent)
	if _, err := conn.play(steps[:len(steps)-1], func() {}); err != nil {
		return err
	}
	if err := conn.write(steps[len(steps)-1].packet); err != nil {
		return err
	}
	return conn.Close()
}

// soakGarbage is data that no MTA sends. The daemon hangs up.
var soakGarbage = []string{"GET / HTTP/1.1\r\n\r\n", "\x00\x00\x00\x00", "\xff\xff\xff\xffB", "\x00\x10\x00\x01B",
	"\x00\x00\x00\x01Z", "\x00\x00\x00\x03Lab", "\x00\x00\x00\x02Ch", "\x00\x00\x00\x05O\x00\x00\x00\x06", "\x00\x00\x00\x01D"}

func (c *soakClient) garbage(conn *soakConn) error {
	m, steps := c.part(conn)
	c.book.broken(m)
	if _, err := conn.play(steps, func() {}); err != nil {
		return err
	}
	if err := conn.write([]byte(soakGarbage[c.random.IntN(len(soakGarbage))])); err != nil {
		return err
	}
	return conn.ended()
}

// soakReporter is a user. Reported mail is spam when it is sent again, and revoked mail is
// not.
type soakReporter struct {
	*soakClient
	site *harness.Site
}

func (u *soakReporter) work(ctx context.Context) {
	for !u.wait(u.pace) {
		if err := u.turn(ctx); err != nil && ctx.Err() == nil {
			u.book.fault("report", err)
		}
	}
}

func (u *soakReporter) turn(ctx context.Context) error {
	body, daemon := harness.Paragraph(u.random), u.site.Client()
	if _, err := client.Post(ctx, daemon, v1.Report, harness.Request(body)); err != nil {
		return err
	}
	if err := u.expect(body, "spam"); err != nil {
		return err
	}
	if u.random.IntN(3) > 0 {
		u.post.keep(body)
		return nil
	}
	if _, err := client.Post(ctx, daemon, v1.Revoke, harness.Request(body)); err != nil {
		return err
	}
	return u.expect(body, "clean")
}

// expect sends a message on a separate connection, and checks its verdict if the current
// action shows one.
func (u *soakReporter) expect(body, want string) error {
	conn, err := dialSoak(u.network, u.address, soakOffers[u.random.IntN(len(soakOffers))])
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.play(soakGreeting(u.host), func() {}); err != nil {
		return err
	}
	_, err = u.send(conn, u.post.plain(u.random, body, want), func() {})
	return errors.Join(err, conn.write(harness.MilterPacket(byte(gomilter.CodeQuit))), conn.ended())
}
