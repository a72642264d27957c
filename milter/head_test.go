package milter

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestManyFieldsInHeads is the attack "many fields": heads that arrive as one text consist of tiny
// fields, each of which takes many times its bytes once the head is parsed. They are booked before
// that, so the heads of all connections together are bounded.
func TestManyFieldsInHeads(t *testing.T) {
	const lines, each = 20_000, 3 + fieldOverhead // bytes of memory
	s := NewServer(nil, Options{MaxMemory: 3 * lines * each})
	head, cut := bytes.Repeat([]byte("a:\n"), lines), 0
	var mails []*Mail
	for range 10 {
		m := s.NewMail("spamd", "", "nobody")
		mails = append(mails, m)
		switch _, err := m.Write(head); {
		case errors.Is(err, io.ErrShortWrite):
			cut++
		default:
			testenv.Check(t, err)
		}
	}
	if got := s.Load().Memory; got != 3*lines*each || cut != 7 {
		t.Errorf("%d of 10 heads are cut, %d bytes are booked; want 7 and %d", cut, got, 3*lines*each)
	}
	for _, m := range mails[1:] {
		m.Close()
	}
	m := mails[0]
	_, err := m.Write([]byte("\nhi\n"))
	testenv.Check(t, err)
	if want := int64(lines*(1+fieldOverhead) + len(head) + len("\nhi\n")); len(m.msg.header) != lines || !m.IsWhole() || m.msg.booked != want {
		t.Errorf("%d fields, whole: %v, %d bytes booked; want %d, true, %d", len(m.msg.header), m.IsWhole(), m.msg.booked, lines, want)
	}
	m.Close()
	if got := s.Load().Memory; got != 0 {
		t.Errorf("%d bytes stay booked", got)
	}
}
