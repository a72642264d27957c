package milter

import (
	"bytes"
	"log"
	"testing"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
)

// FuzzSession sends arbitrary bytes after a proper offer. The session ends, no message
// exceeds its limit, and the library logs nothing: its own panics and errors would appear
// there.
func FuzzSession(f *testing.F) {
	dialogue := string(packet('C', "h\x004\x00\x19192.0.2.1\x00")) + string(packet('D', "Mi\x00Q\x00")) +
		string(packet('M', "<s>\x00")) + string(packet('R', "<r>\x00")) + string(packet('L', "X-Spambloom\x00spam\x00")) +
		string(packet('N', "")) + string(packet('B', "body")) + string(packet('E', ""))
	f.Add(uint32(offerAll), []byte(dialogue+string(packet('A', ""))+string(packet('Q', ""))))
	f.Add(uint32(offerOld), []byte(dialogue[:len(dialogue)-3]))
	f.Add(uint32(offerNoNR), []byte(dialogue+string(packet('U', "FOO\x00"))+string(packet('K', ""))+dialogue))
	f.Fuzz(func(t *testing.T, offer uint32, data []byte) {
		var std bytes.Buffer
		defer log.SetOutput(log.Writer())
		log.SetOutput(&std)

		const limit = 1000
		s := NewServer(nil, Options{MaxMessage: limit})
		s.judge = func(m *message) policy.Decision {
			c := m.content()
			size := len(c.Body)
			for _, field := range c.Header {
				size += len(field.Name) + len(field.Value)
			}
			if size > limit {
				t.Errorf("%d bytes kept", size)
			}
			return clean(judged{})
		}
		mta := &script{Reader: bytes.NewReader(append(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, offer), data...))}
		mta.run(t, s)
		if std.Len() > 0 {
			t.Errorf("process-wide log: %s", std.String())
		}
		for p := mta.answers.Bytes(); len(p) > 0; {
			n := protocol.Head + int(p[0])<<24 + int(p[1])<<16 + int(p[2])<<8 + int(p[3])
			if n <= protocol.Head || n > len(p) {
				t.Fatalf("answer is no packet: %q", p)
			}
			p = p[n:]
		}
	})
}
