package milter

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// TestBodyBehindFields is the attack "empty fields": a header of 650 KB is charged more than the 10 MiB
// that are kept of a message. The body behind it is judged nevertheless, also without memory, and when
// there is time for the beginning only.
func TestBodyBehindFields(t *testing.T) {
	const fields, body = 200_000, "Meet us at the new shop in the old town, where the first hundred guests have a free cup of tea.\r\n"
	for name, memory := range map[string]int64{"max_message": 64 << 20, "some memory": 1 << 20, "no memory": 1} {
		for _, field := range []string{"a", "Content-Type", "Content-a"} {
			s := NewServer(nil, Options{MaxMessage: 10 << 20, MaxMemory: memory})
			m := &message{options: s.options.Load(), server: s, holder: s.clients.Enter("client")}
			for range fields {
				m.addField(field, "")
			}
			m.addField("Content-Transfer-Encoding", "8bit")
			m.addChunk([]byte(body))
			whole := m.content()
			m.short, m.kept = true, max(m.kept, share+1)
			for _, c := range []signature.Message{whole, m.content()} {
				if !bytes.Equal(c.Body, []byte(body)) || m.oversize || !m.cut || c.Header[len(c.Header)-1].Value != "8bit" {
					t.Errorf("%s, %s: %d bytes of the body, oversize %v, cut %v", name, field, len(c.Body), m.oversize, m.cut)
				}
			}
			m.release()
		}
	}
}

// TestEndBehindFields is the attack "empty fields" on the end of a long body: a header of 246 KB is charged half
// of the 10 MiB that are kept of a message. All of a body of 9 MB behind it is kept and judged nevertheless.
func TestEndBehindFields(t *testing.T) {
	const most = 10 << 20
	sent := []byte(strings.Repeat("a:\n", 82_000) + "\n" + strings.Repeat("its end is a file\n", 500_000))
	body := sent[bytes.Index(sent, []byte("\n\n"))+2:]
	s := NewServer(nil, Options{MaxMessage: most})
	door := s.NewMail("spamd", "", "nobody", false)
	_, err := door.Write(sent)
	testenv.Check(t, err)
	m := &message{options: s.options.Load(), server: s, holder: s.clients.Enter("client")}
	for range 82_000 {
		m.addField("a", "")
	}
	m.addChunk(body)
	text, _ := signature.ParseWithin(sent, most)
	for name, c := range map[string]signature.Message{"door": door.msg.content(), "milter": m.content(), "text": text} {
		if !bytes.Equal(c.Body, body) || c.Truncated {
			t.Errorf("%s: %d of %d bytes of the body, truncated %v", name, len(c.Body), len(body), c.Truncated)
		}
	}
	if m.addChunk(body); m.kept != most+int64(len(m.header))*fieldOverhead || m.booked != m.kept || !m.isLong {
		t.Errorf("%d bytes are kept of a longer one, %d booked", m.kept, m.booked)
	}
	m.release()
	door.Close()
	if taken := s.Load().Memory; taken != 0 {
		t.Errorf("%d bytes stay booked", taken)
	}
}
