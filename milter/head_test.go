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
	"github.com/spambloom/spambloom/signature"
)

// TestManyFieldsInHeads is the attack "many fields": heads that arrive as one text consist of tiny
// fields, each of which takes many times its bytes. Each is booked before it is kept, so those of all
// connections together are bounded. The text of a head takes no more than its bytes: it is returned
// with the verdict.
func TestManyFieldsInHeads(t *testing.T) {
	const lines, each = 20_000, 3 + fieldOverhead // bytes of memory
	s := NewServer(nil, Options{MaxMemory: 3 * lines * each})
	head, cut := bytes.Repeat([]byte("a:\n"), lines), 0
	var mails []*Mail
	for range 10 {
		m := s.NewMail("spamd", "", "nobody", false)
		mails = append(mails, m)
		_, err := m.Write(head)
		testenv.Check(t, err)
		_, err = m.Write([]byte("\nhi\n"))
		testenv.Check(t, err)
		if m.msg.cut {
			cut++
		}
	}
	if got := s.Load().Memory; got < 2*lines*each || got > 3*lines*each+8*share || cut != 8 {
		t.Errorf("%d of 10 heads are cut, %d bytes are booked; want 8 and %d to %d", cut, got, 2*lines*each, 3*lines*each+8*share)
	}
	m := mails[0]
	if want := int64(lines*(1+fieldOverhead) + len(head) + len("\nhi\n")); len(m.msg.header) != lines || !m.IsWhole() || m.msg.booked != want {
		t.Errorf("%d fields, whole: %v, %d bytes booked; want %d, true, %d", len(m.msg.header), m.IsWhole(), m.msg.booked, lines, want)
	}
	for _, m := range mails {
		m.Close()
	}
	if got := s.Load().Memory; got != 0 {
		t.Errorf("%d bytes stay booked", got)
	}
	s = NewServer(nil, Options{MaxMemory: 3 * lines * each, MaxMessage: 1 << 20})
	m = s.NewMail("spamd", "", "nobody", false)
	defer m.Close()
	for range 15 { // its fields would take five times what there is
		if _, err := m.Write(head); err != nil {
			t.Fatal(err)
		}
	}
	_, err := m.Write([]byte("\nhi\n"))
	testenv.Check(t, err)
	if len(m.Head()) != 15*len(head)+1 || !m.IsWhole() || !m.msg.cut || m.msg.booked > 3*lines*each {
		t.Errorf("a head of %d bytes is returned with %d, whole: %v, %d bytes booked", 15*len(head)+1, len(m.Head()), m.IsWhole(), m.msg.booked)
	}
}

// TestTakenHeadIsBooked is the attack "many fields" on a head that goes on with a long one: of the tiny ones
// few have room, and what is held of the long one stays booked.
func TestTakenHeadIsBooked(t *testing.T) {
	const most = 4 << 20
	s := NewServer(nil, Options{MaxMessage: most})
	m := s.NewMail("spamd", "", "nobody", false)
	defer m.Close()
	for _, p := range []string{strings.Repeat("a:\n", most/6), "b: " + strings.Repeat("x", most/2), strings.Repeat("x", 1<<10)} {
		if _, err := m.Write([]byte(p)); err != nil {
			t.Fatal(err)
		}
	}
	if held := int64(len(m.head)); held < most/3 || held > most*2/3 || m.msg.ahead < held || s.Load().Memory < m.msg.kept+held {
		t.Errorf("of a head %d bytes are held and %d booked, of its fields %d; altogether %d", held, m.msg.ahead, m.msg.kept, s.Load().Memory)
	}
}

// A head that takes nearly all memory leaves its share to the body, although its text is kept for the answer.
func TestHeadLeavesShareToBody(t *testing.T) {
	head := strings.Repeat("Content-Type: x/y;"+strings.Repeat("\r\n z=", 240)+"\r\n", 128) + "\r\n"
	s := NewServer(nil, Options{MaxMemory: 1 << 18})
	m := s.NewMail("spamd", "", "nobody", false)
	defer m.Close()
	for piece := range slices.Chunk([]byte(head+strings.Repeat("and its text\r\n", 1_000)), 4<<10) {
		if _, err := m.Write(piece); err != nil {
			t.Fatalf("%v, %d bytes booked", err, m.msg.booked)
		}
	}
	if !m.IsWhole() || m.msg.booked > 1<<18+share {
		t.Errorf("whole: %v, %d bytes booked", m.IsWhole(), m.msg.booked)
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
		{head + long, 1 << 20, false, "signed"},         // fields beyond half of that are left out
		{head + long, 60_000, false, "nothing to sign"}, // of its first file a part alone
	} {
		s := NewServer(nil, Options{MaxMessage: tc.max, MaxMemory: 16 << 20})
		if tc.held {
			s.held.TakeAnyway(&new(room.Client).Memory, 16<<20)
		}
		m := s.NewMail("spamd", "", "nobody", false)
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

// TestBodyBehindHead is the attack "empty fields" at a door: a header that takes all that may be kept of a
// message, or all memory, hides no body. What says how the body is read is kept, too.
func TestBodyBehindHead(t *testing.T) {
	const body = "Meet us at the new shop in the old town, where the first hundred guests have a free cup of tea.\n"
	const last = "Content-Type: text/html\n\n"
	long := "Content-Type: multipart/mixed; x=" + strings.Repeat("y", 8_000) + "; boundary=b\n\n"
	for name, head := range map[string]string{
		"empty fields":        strings.Repeat("a:\n", 18_000) + last,
		"one long type":       strings.Repeat("a:\n", 18_000) + long,
		"other fields":        strings.Repeat("Content-a:\n", 18_000) + last,
		"many of the type":    strings.Repeat("Content-Transfer-Encoding: 8bit\n", 18_000) + last,
		"fields without end":  strings.Repeat("a: "+strings.Repeat("x", 3_000)+"\n", 500) + long,
		"CRLF":                strings.Repeat("a:\r\n", 18_000) + "Content-Type: text/html\r\n\r\n",
		"fields of the body":  strings.Repeat("Content-Type:\n", 18_000) + "\n",
		"one field":           "a: " + strings.Repeat("x", 5<<18) + "\n" + last,
		"one folded field":    "a:\n" + strings.Repeat(" \n", 20_000) + last,
		"lines of no field":   strings.Repeat("a:\nno field\n", 18_000) + last,
		"no empty line":       strings.Repeat("a:\n", 18_000) + last[:len(last)-1] + "It begins here:\n",
		"one line is a field": strings.Repeat("a", 5<<18) + ":\n" + last,
	} {
		for _, memory := range []int64{64 << 20, 1 << 20, 1 << 18, 1} {
			for _, piece := range []int{4 << 10, 19, 1 << 20} {
				s := NewServer(nil, Options{MaxMessage: 1 << 20, MaxMemory: memory})
				m := s.NewMail("spamd", "", "nobody", false)
				for p := range slices.Chunk([]byte(head+body), piece) {
					if _, err := m.Write(p); err != nil {
						t.Fatalf("%s in pieces of %d bytes, memory %d: %v", name, piece, memory, err)
					}
				}
				m.endHead()
				c := m.msg.content()
				if !bytes.HasSuffix(c.Body, []byte(body)) || len(c.Body) > len(body)+20 || c.Truncated || !strings.HasPrefix(name, "fields") && len(m.msg.header) == 0 {
					t.Errorf("%s in pieces of %d bytes, memory %d: %d fields, the body %.100q; truncated %v", name, piece, memory, len(m.msg.header), c.Body, c.Truncated)
				}
				if !strings.HasPrefix(name, "fields") && name != "no empty line" && !slices.ContainsFunc(c.Header, func(f signature.Field) bool {
					return f.Name == "Content-Type" && (!strings.HasSuffix(head, long) || strings.HasSuffix(f.Value, "; boundary=b"))
				}) {
					t.Errorf("%s in pieces of %d bytes, memory %d: Content-Type is not kept", name, piece, memory)
				}
				if got, most := s.Load().Memory, memory+share; memory == 1 && got > share || got > most {
					t.Errorf("%s: %d bytes are booked", name, got)
				}
				m.Close()
				if got := s.Load().Memory; got != 0 {
					t.Errorf("%s: %d bytes stay booked", name, got)
				}
			}
		}
	}
}
