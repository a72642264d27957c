package milter

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/room"
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

// TestSignsNoPart is the attack "report without memory": while others hold the memory, the report of a long
// mail would list its first file alone, and its revocation revoke nothing else. Beyond MaxMessage nobody reads
// it, so that part is enough.
func TestSignsNoPart(t *testing.T) {
	file := "--b\nContent-Type: application/pdf\n\n" + strings.Repeat("a file ", 5000) + "\n"
	long := "Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + file + "--b\n\n" + strings.Repeat("and its text\n", 5000) + "--b--\n"
	head := strings.Repeat("a: "+strings.Repeat("x", 997)+"\n", 1100)
	for _, tc := range []struct {
		mail string
		max  int64
		held bool
		want string
	}{
		{long, 1 << 20, false, "signed"},
		{long, 1 << 20, true, "refused"},
		{"Subject: x\nContent-Type: multipart/mixed; boundary=b\n\n" + file + "--b--\n", 1 << 20, true, "signed"},
		{long, 60_000, false, "signed"},
		{head + long, 16 << 20, false, "signed"},
		{head + long, 1 << 20, false, "nothing to sign"}, // for good: the header alone is longer than what is read
		{head + long, 60_000, false, "nothing to sign"},
	} {
		s := NewServer(nil, Options{MaxMessage: tc.max, MaxMemory: 16 << 20})
		if tc.held {
			s.held.TakeAnyway(&new(room.Client).Memory, 16<<20)
		}
		m := s.NewMail("spamd", "", "nobody")
		for piece := range slices.Chunk([]byte(tc.mail), 4<<10) {
			if _, err := m.Write(piece); err != nil && !errors.Is(err, io.ErrShortWrite) {
				t.Fatal(err)
			}
		}
		set, err := m.Sign()
		got := "signed"
		if err != nil {
			got = "refused"
		} else if len(set.Signatures) == 0 {
			got = "nothing to sign"
		}
		if got != tc.want {
			t.Errorf("%d bytes, at most %d, memory held: %v: %s (%v), want %s", len(tc.mail), tc.max, tc.held, got, err, tc.want)
		}
		m.Close()
	}
}
