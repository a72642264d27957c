package milter

import (
	"bytes"
	"testing"

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
