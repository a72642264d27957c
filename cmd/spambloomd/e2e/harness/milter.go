package harness

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// MilterConn is one connection of an MTA to a milter, like that of Postfix. It offers the
// whole protocol (version 6), does not wait for answers that the milter has suppressed, and
// begins each message except the first with an ABORT. It does little work itself, because
// its work is part of the measurement.
type MilterConn struct {
	net.Conn
	In      *bufio.Reader
	out     []byte // written but not sent
	silent  uint32 // protocol flags requested by the milter
	aborted bool
}

// Deliver passes one mail to a daemon like an MTA. If it returns no error, the daemon has
// judged and counted the mail.
func Deliver(address, mail string) error {
	m, err := DialMilter("tcp", address, "192.0.2.1")
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.Begin(NewParcel([]byte(mail))); err != nil {
		return err
	}
	final, _, err := m.End()
	if err == nil && final != 'a' && final != 'c' {
		err = fmt.Errorf("answer %q", final)
	}
	return err
}

// The protocol's letters and flags are in Sendmail's libmilter/mfdef.h.
const (
	milterVersion = 6
	allActions    = 0x1ff
	allProtocol   = 0x1fffff
	noData        = 0x200 // the milter does not want DATA
)

// noReply are the flags by which a milter suppresses its answer to a command.
var noReply = map[byte]uint32{'C': 0x1000, 'H': 0x2000, 'M': 0x4000, 'R': 0x8000, 'T': 0x10000, 'L': 0x80, 'N': 0x40000, 'B': 0x80000}

// MilterPacket returns a command in its wire format.
func MilterPacket(code byte, data ...string) []byte {
	n := 1
	for _, d := range data {
		n += len(d)
	}
	p := append(binary.BigEndian.AppendUint32(nil, uint32(n)), code)
	for _, d := range data {
		p = append(p, d...)
	}
	return p
}

// DialMilter connects and proceeds to HELO.
func DialMilter(network, addr, client string) (*MilterConn, error) {
	nc, err := net.DialTimeout(network, addr, testenv.Patience)
	if err != nil {
		return nil, err
	}
	m := &MilterConn{Conn: nc, In: bufio.NewReader(nc)}
	if err := m.open(client); err != nil {
		nc.Close()
		return nil, err
	}
	return m, nil
}

func (m *MilterConn) open(client string) error {
	var offer []byte
	for _, n := range []uint32{milterVersion, allActions, allProtocol} {
		offer = binary.BigEndian.AppendUint32(offer, n)
	}
	m.out = MilterPacket('O', string(offer))
	code, data, err := m.answer()
	if err != nil {
		return err
	}
	if code != 'O' || len(data) < 12 {
		return fmt.Errorf("answer to the offer: %q %q", code, data)
	}
	m.silent = binary.BigEndian.Uint32(data[8:])
	if err := m.command('C', MilterPacket('C', "client.example.net\x00", "4\x00\x19", client, "\x00")); err != nil {
		return err
	}
	return m.command('H', MilterPacket('H', "client.example.net\x00"))
}

// Sync returns when the daemon has read everything. It sends an unknown SMTP command, which the
// daemon always answers.
func (m *MilterConn) Sync() error { return m.command('U', MilterPacket('U', "\x00")) }

// command sends a packet, and waits for the answer if there is one.
func (m *MilterConn) command(code byte, packet []byte) error {
	m.out = append(m.out, packet...)
	if m.silent&noReply[code] != 0 {
		return nil
	}
	answer, data, err := m.answer()
	if err == nil && answer != 'c' && answer != 's' {
		err = fmt.Errorf("answer %q %q to %q", answer, data, code)
	}
	return err
}

// answer sends the written data and reads one packet, skipping progress packets.
func (m *MilterConn) answer() (code byte, data []byte, err error) {
	m.SetDeadline(time.Now().Add(testenv.Patience)) // the read returns an error
	if len(m.out) > 0 {
		if _, err := m.Write(m.out); err != nil {
			return 0, nil, err
		}
		m.out = m.out[:0]
	}
	for {
		var head [5]byte
		if _, err := io.ReadFull(m.In, head[:]); err != nil {
			return 0, nil, err
		}
		n := binary.BigEndian.Uint32(head[:4])
		if n < 1 || n > 1<<20 {
			return 0, nil, fmt.Errorf("packet of %d bytes", n)
		}
		data := make([]byte, n-1)
		if _, err := io.ReadFull(m.In, data); err != nil {
			return 0, nil, err
		}
		if head[4] != 'p' {
			return head[4], data, nil
		}
	}
}

// Parcel is a mail as packets, from MAIL to the end of its body.
type Parcel struct {
	envelope, header []byte   // MAIL and RCPT; then the fields with the end of the header
	fields           [][]byte // the same header for a milter that answers each field
	chunks           [][]byte
	Size             int
}

// NewParcel splits a mail like Postfix: fields without the blank after the colon, body in
// chunks of at most 65,535 bytes with CRLF line ends.
func NewParcel(mail []byte) *Parcel {
	mail = bytes.ReplaceAll(mail, []byte("\r\n"), []byte("\n"))
	head, body, _ := bytes.Cut(mail, []byte("\n\n"))
	p := &Parcel{Size: len(mail)}
	p.From("sender@example.net")
	for _, field := range fields(string(head)) {
		name, value, _ := strings.Cut(field, ":")
		packet := MilterPacket('L', name, "\x00", strings.TrimPrefix(value, " "), "\x00")
		p.fields = append(p.fields, packet)
		p.header = append(p.header, packet...)
	}
	p.header = append(p.header, MilterPacket('N')...)
	for chunk := range slices.Chunk(bytes.ReplaceAll(body, []byte("\n"), []byte("\r\n")), 65535) {
		p.chunks = append(p.chunks, MilterPacket('B', string(chunk)))
	}
	return p
}

// From sets the sender of the envelope.
func (p *Parcel) From(sender string) *Parcel {
	p.envelope = slices.Concat(
		MilterPacket('D', "M", "i\x00", "4QX\x00"), MilterPacket('M', "<"+sender+">\x00"),
		MilterPacket('D', "R", "i\x00", "4QX\x00"), MilterPacket('R', "<you@example.test>\x00"))
	return p
}

// fields returns the header's fields, each with its folded lines, without invalid ones.
func fields(head string) (all []string) {
	for line := range strings.Lines(head) {
		line = strings.TrimSuffix(line, "\n")
		folded := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		name, _, colon := strings.Cut(line, ":")
		switch {
		case folded && len(all) > 0:
			all[len(all)-1] += "\n" + line
		case colon && name != "" && !strings.ContainsAny(name, " \t"):
			all = append(all, line)
		}
	}
	return all
}

// Begin sends a mail without its end. Packets without an answer are sent with the next one
// that has one.
func (m *MilterConn) Begin(p *Parcel) error {
	if m.aborted {
		m.out = append(m.out, MilterPacket('A')...)
	}
	m.aborted = true
	if err := m.envelope(p); err != nil {
		return err
	}
	if m.silent&noReply['L'] != 0 && m.silent&noReply['N'] != 0 {
		m.out = append(m.out, p.header...)
	} else if err := m.header(p); err != nil {
		return err
	}
	for _, chunk := range p.chunks {
		if err := m.command('B', chunk); err != nil {
			return err
		}
	}
	return nil
}

func (m *MilterConn) envelope(p *Parcel) error {
	m.out = append(m.out, p.envelope...)
	for _, code := range []byte("MR") {
		if err := m.command(code, nil); err != nil {
			return err
		}
	}
	if m.silent&noData != 0 {
		return nil
	}
	return m.command('T', MilterPacket('T'))
}

// header waits for the answer to each field.
func (m *MilterConn) header(p *Parcel) error {
	for _, field := range p.fields {
		if err := m.command('L', field); err != nil {
			return err
		}
	}
	return m.command('N', MilterPacket('N'))
}

// End sends the end of the message. It returns the final answer, and the added headers.
func (m *MilterConn) End() (final byte, added []string, err error) {
	m.out = append(m.out, MilterPacket('E')...)
	for {
		code, data, err := m.answer()
		if err != nil {
			return 0, nil, err
		}
		switch code {
		case 'h':
			added = append(added, string(bytes.TrimSuffix(data, []byte{0})))
		case 'i':
			added = append(added, string(bytes.TrimSuffix(data[min(4, len(data)):], []byte{0})))
		case 'm', 'q', '+', '-', 'b', 'e':
		case 'c', 'a', 'r', 't', 'd', 'y':
			return code, added, nil
		default:
			return 0, nil, fmt.Errorf("answer %q %q to the end of the message", code, data)
		}
	}
}
