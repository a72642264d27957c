package harness

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// wire is an MTA that may send anything.
type wire struct {
	t testing.TB
	net.Conn
	in *bufio.Reader
}

func DialWire(t testing.TB, address string) *wire {
	t.Helper()
	c, err := net.Dial("tcp", address)
	testenv.Check(t, err)
	t.Cleanup(func() { c.Close() })
	w := &wire{t, c, bufio.NewReader(c)}
	w.packet('O', "\x00\x00\x00\x06\x00\x00\x01\xff\x00\x00\x00\x00")
	w.answer()
	return w
}

// Letter is a mail as received over the wire.
type Letter struct {
	Client, QueueID, From string
	LetterTo              []string
	Header                [][2]string
	Body                  string
}

// LetterTo returns a mail from a foreign sender.
func LetterTo(body string, recipients ...string) Letter {
	l := Letter{Client: "203.0.113.7", QueueID: "4QX", From: "<stranger@example.com>", Body: body}
	for _, r := range recipients {
		l.LetterTo = append(l.LetterTo, "<"+r+">")
	}
	return l
}

// Send sends a whole mail. It waits for the final answer and returns the action and the
// verdict with its fields; "" if there is no header.
func (w *wire) Send(l Letter) (action, verdict string) {
	w.t.Helper()
	w.Begin(l)
	return w.Finish()
}

func (w *wire) Begin(l Letter) {
	w.t.Helper()
	family := "4"
	if netip.MustParseAddr(l.Client).Is6() {
		family = "6"
	}
	w.Say('C', "client.example\x00"+family+"\x00\x19"+l.Client+"\x00")
	w.packet('D', "Mi\x00"+l.QueueID+"\x00")
	w.Say('M', l.From+"\x00")
	for _, to := range l.LetterTo {
		w.Say('R', to+"\x00")
	}
	for _, f := range l.Header {
		w.Say('L', f[0]+"\x00"+f[1]+"\x00")
	}
	w.Say('N', "")
	w.Say('B', l.Body)
}

// Finish is Send for a mail that has begun.
func (w *wire) Finish() (action, verdict string) {
	w.t.Helper()
	w.packet('E', "")
	action = "accept"
	for {
		switch code, data := w.answer(); code {
		case 'c', 'a':
			return action, verdict
		case 'd':
			return "discard", ""
		case 'y':
			return map[string]string{"550": "reject", "451": "tempfail"}[data[:3]], ""
		case 'q':
			action = "quarantine"
		case 'i':
			if _, value, ok := strings.Cut(data, "X-Spambloom\x00"); ok {
				verdict = strings.Trim(value, " \x00")
			}
			if action == "accept" {
				action = "tag"
			}
		case 'h', 'm', 'p': // other changes of the header, progress
		default:
			w.t.Fatalf("answer %q", code)
		}
	}
}

// Say sends a packet and waits until the daemon continues.
func (w *wire) Say(code byte, data string) {
	w.t.Helper()
	w.packet(code, data)
	if got, _ := w.answer(); got != 'c' {
		w.t.Errorf("answer to %q: %q", code, got)
	}
}

func (w *wire) packet(code byte, data string) {
	w.t.Helper()
	b := binary.BigEndian.AppendUint32(nil, uint32(1+len(data)))
	if _, err := w.Write(append(append(b, code), data...)); err != nil {
		w.t.Error(err)
	}
}

func (w *wire) answer() (code byte, data string) {
	w.t.Helper()
	w.SetDeadline(time.Now().Add(testenv.Patience)) // the read returns an error
	var head [5]byte
	if _, err := io.ReadFull(w.in, head[:]); err != nil {
		w.t.Fatal(err)
	}
	rest := make([]byte, min(binary.BigEndian.Uint32(head[:4]), 1<<20)-1)
	if _, err := io.ReadFull(w.in, rest); err != nil {
		w.t.Fatal(err)
	}
	return head[4], string(rest)
}
