package faults

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Commands that the library does not name.
const (
	soakUnknown   = gomilter.Code('U')
	soakNewClient = gomilter.CodeQuitNewConn
)

// soakOffers are protocol flags offered by MTAs: all current ones, those of a version 2
// milter, and intermediate ones.
var soakOffers = []gomilter.OptProtocol{0x1fffff, 0x1fffff, 0x7f, 0x7f | gomilter.OptNoUnknown | gomilter.OptNoData | gomilter.OptSkip}

// soakConn is an MTA's end of a milter connection, in raw packets. The library's client
// cannot pipeline, and cannot disconnect in the middle of a packet.
type soakConn struct {
	net.Conn
	in     *bufio.Reader
	silent gomilter.OptProtocol // suppressed answers
}

// dialSoak connects, and negotiates.
func dialSoak(network, address string, offer gomilter.OptProtocol) (*soakConn, error) {
	nc, err := net.DialTimeout(network, address, testenv.Patience)
	if err != nil {
		return nil, err
	}
	c := &soakConn{Conn: nc, in: bufio.NewReader(nc)}
	if err := c.negotiate(offer); err != nil {
		nc.Close()
		return nil, err
	}
	return c, nil
}

func (c *soakConn) negotiate(offer gomilter.OptProtocol) error {
	version := uint32(6)
	if offer == 0x7f {
		version = 2
	}
	p := binary.BigEndian.AppendUint32(nil, version)
	p = binary.BigEndian.AppendUint32(p, 0x1ff)
	p = binary.BigEndian.AppendUint32(p, uint32(offer))
	if err := c.write(harness.MilterPacket(byte(gomilter.CodeOptNeg), string(p))); err != nil {
		return err
	}
	code, data, err := c.receive()
	if err == nil && (code != byte(gomilter.CodeOptNeg) || len(data) != 12) {
		err = fmt.Errorf("the offer is answered %q %x", code, data)
	}
	if err == nil {
		c.silent = gomilter.OptProtocol(binary.BigEndian.Uint32(data[8:]))
	}
	return err
}

func (c *soakConn) write(p []byte) error {
	_ = c.SetWriteDeadline(time.Now().Add(testenv.Patience)) // the write returns an error
	_, err := c.Write(p)
	return err
}

// receive reads one answer.
func (c *soakConn) receive() (code byte, data []byte, err error) {
	_ = c.SetReadDeadline(time.Now().Add(testenv.Patience)) // longer than the daemon's own limit for judging
	var head [4]byte
	if _, err := io.ReadFull(c.in, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < 1 || n > 1<<16 {
		return 0, nil, fmt.Errorf("answer of %d bytes", n)
	}
	p := make([]byte, n)
	_, err = io.ReadFull(c.in, p)
	return p[0], p[1:], err
}

// ended checks that the daemon hangs up without further data: a surplus answer would appear
// here.
func (c *soakConn) ended() error {
	_ = c.SetReadDeadline(time.Now().Add(testenv.Patience))
	rest, err := io.ReadAll(c.in)
	var broken *net.OpError
	if errors.As(err, &broken) && !broken.Timeout() {
		err = nil // a reset: it hung up before it had read everything
	}
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("unexpected answers %q", rest)
	}
	return err
}

// soakStep is one packet of a dialogue, with the answer that is due.
type soakStep struct {
	code   gomilter.Code
	packet []byte
	silent gomilter.OptProtocol // not answered if all of these were negotiated
	never  bool                 // never answered
}

func newStep(code gomilter.Code, data string, silent gomilter.OptProtocol) soakStep {
	return soakStep{code: code, packet: harness.MilterPacket(byte(code), data), silent: silent}
}

func (s soakStep) due(agreed gomilter.OptProtocol) bool {
	return !s.never && (s.silent == 0 || agreed&s.silent == 0)
}

// soakGreeting returns the beginning of a session of an SMTP client.
func soakGreeting(client string) []soakStep {
	macros := soakStep{code: gomilter.CodeMacro, packet: harness.MilterPacket(byte(gomilter.CodeMacro), "Cj\x00mx.example\x00{daemon_name}\x00soak\x00"), never: true}
	return []soakStep{macros,
		newStep(gomilter.CodeConn, "client.example\x004\x00\x19"+client+"\x00", gomilter.OptNoConnReply),
		newStep(gomilter.CodeHelo, "client.example\x00", gomilter.OptNoHeloReply)}
}

// steps returns a message's packets from its macros to its end.
func (m *soakMail) steps(agreed gomilter.OptProtocol) (steps []soakStep) {
	steps = append(steps,
		soakStep{code: gomilter.CodeMacro, packet: harness.MilterPacket(byte(gomilter.CodeMacro), "Mi\x00"+m.id+"\x00"), never: true},
		newStep(gomilter.CodeMail, "<sender@example.net>\x00SIZE=1000\x00", gomilter.OptNoMailReply))
	for i := range m.rcpts {
		steps = append(steps, newStep(gomilter.CodeRcpt, fmt.Sprintf("<you%d@example.test>\x00", i), gomilter.OptNoRcptReply))
	}
	if agreed&gomilter.OptNoData == 0 && agreed != 0 {
		steps = append(steps, newStep(gomilter.CodeData, "", 0))
	}
	for _, f := range m.header {
		steps = append(steps, newStep(gomilter.CodeHeader, f[0]+"\x00"+f[1]+"\x00", gomilter.OptNoHeaderReply))
	}
	steps = append(steps, newStep(gomilter.CodeEOH, "", gomilter.OptNoEOHReply))
	for chunk := range slices.Chunk([]byte(m.body), gomilter.MaxBodyChunk) {
		steps = append(steps, newStep(gomilter.CodeBody, string(chunk), gomilter.OptNoBodyReply))
	}
	return append(steps, newStep(gomilter.CodeEOB, "", 0))
}

// soakAnswer is the answer to the end of a message.
type soakAnswer struct {
	header string // X-Spambloom; "" if there is none
	held   bool
	reply  string // SMTP reply
	code   byte
}

// verdict returns the verdict in the header; "" if there is none.
func (a soakAnswer) verdict() string {
	verdict, _, _ := strings.Cut(a.header, ";")
	return verdict
}

// action returns the action that the answer amounts to.
func (a soakAnswer) action() string {
	switch {
	case a.code == 'd':
		return "discard"
	case a.code == 'y':
		return map[string]string{"550 5.7.1 ": "reject", "451 4.7.1 ": "tempfail"}[a.reply[:min(10, len(a.reply))]]
	case a.held:
		return "quarantine"
	case a.header != "":
		return "tag"
	}
	return "accept"
}

// endOfMessage reads progress, changes, and the final answer. Any other packet is an error.
func (c *soakConn) endOfMessage() (a soakAnswer, err error) {
	for {
		code, data, err := c.receive()
		if err != nil {
			return a, err
		}
		text := string(data)
		switch gomilter.ModifyActCode(code) {
		case 'p':
		case gomilter.ActChangeHeader: // removal of forged headers
		case gomilter.ActQuarantine:
			a.held = true
		case gomilter.ActInsertHeader:
			name, value, _ := strings.Cut(text[min(4, len(text)):], "\x00")
			if name == "X-Spambloom" {
				a.header = strings.TrimSuffix(value, "\x00")
			}
		default:
			a.code, a.reply = code, strings.TrimSuffix(text, "\x00")
			if !strings.ContainsRune("cdy", rune(code)) || a.action() == "" {
				return a, fmt.Errorf("the end of the message is answered %q %q", code, text)
			}
			return a, nil
		}
	}
}

// answer reads the answers due for one step. The last one contains the verdict.
func (c *soakConn) answer(s soakStep) (a soakAnswer, skip bool, err error) {
	switch {
	case !s.due(c.silent):
		return a, false, nil
	case s.code == gomilter.CodeEOB:
		a, err = c.endOfMessage()
		return a, false, err
	}
	code, data, err := c.receive()
	skip = s.code == gomilter.CodeBody && code == byte(gomilter.ActSkip) && c.silent&gomilter.OptSkip != 0
	if err == nil && !skip && code != byte(gomilter.ActContinue) {
		err = fmt.Errorf("command %q is answered %q %q", byte(s.code), code, data)
	}
	return a, skip, err
}

// play sends the steps one after another, like an MTA; pause is called before each.
func (c *soakConn) play(steps []soakStep, pause func()) (a soakAnswer, err error) {
	skipping := false
	for _, s := range steps {
		if skipping && s.code == gomilter.CodeBody {
			continue
		}
		pause()
		if err := c.write(s.packet); err != nil {
			return a, err
		}
		if a, skipping, err = c.answer(s); err != nil {
			return a, err
		}
	}
	return a, nil
}

// pipeline sends the steps of several messages at once and reads the answers meanwhile. It
// returns one answer for each end of message.
func (c *soakConn) pipeline(steps []soakStep) (answers []soakAnswer, err error) {
	var all []byte
	for _, s := range steps {
		all = append(all, s.packet...)
	}
	wrote := make(chan error, 1)
	go func() { wrote <- c.write(all) }()
	for _, s := range steps {
		var a soakAnswer
		if a, _, err = c.answer(s); err != nil {
			c.Close() // this ends the writer
			break
		}
		if s.code == gomilter.CodeEOB {
			answers = append(answers, a)
		}
	}
	return answers, cmp.Or(err, <-wrote)
}
