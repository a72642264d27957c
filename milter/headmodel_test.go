package milter

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature"
)

// TestHeadsAgree compares what arrives by the milter protocol, at a door in pieces, and as one text, with
// headers of all kinds, and with any memory: all of them have the body, and what says how it is read.
func TestHeadsAgree(t *testing.T) {
	fields := []string{"a:\n", "a: b\n c\n", "Content-a: b\n", "Content-Type:\n", "no field\n", "a: " + strings.Repeat("x", 3_000) + "\n",
		"a:\n" + strings.Repeat(" \n", 1_000), "Content-Type: text/plain; x=" + strings.Repeat("y", 20_000) + "\n", "a:\r\n", "\ra:\n", "Content-Transfer-Encoding: \n"}
	said := []signature.Field{{Name: "Content-Type", Value: "text/x"}, {Name: "Content-Transfer-Encoding", Value: "8bit"},
		{Name: "Content-Disposition", Value: "attachment"}, {Name: "Content-ID", Value: "<a>"}} // after all others
	rapid.Check(t, func(t *rapid.T) {
		var raw strings.Builder
		for range rapid.IntRange(1, 4).Draw(t, "kinds") {
			raw.WriteString(strings.Repeat(rapid.SampledFrom(fields).Draw(t, "field"), 1<<rapid.IntRange(0, 10).Draw(t, "times")))
		}
		const body = "It has two\nlines: so\n"
		for _, f := range said {
			raw.WriteString(f.Name + ": " + f.Value + "\n")
		}
		raw.WriteString("\n" + body)
		sent := []byte(raw.String())
		whole := signature.Parse(sent)
		if string(whole.Body) != body {
			t.Skip("the body begins earlier")
		}
		most, memory := int64(1)<<rapid.IntRange(16, 23).Draw(t, "max_message"), int64(1)<<rapid.IntRange(0, 24).Draw(t, "memory")
		s := NewServer(nil, Options{MaxMessage: most, MaxMemory: memory})
		door := s.NewMail("spamd", "", "nobody")
		for p := range slices.Chunk(sent, rapid.IntRange(1, 1<<15).Draw(t, "piece")) {
			if _, err := door.Write(p); err != nil {
				t.Fatal(err)
			}
		}
		door.endHead()
		got := map[string]signature.Message{"door": door.msg.content()}
		if taken := s.Load().Memory; taken > memory+share {
			t.Errorf("%d bytes are booked", taken)
		}
		door.Close()
		m := &message{options: s.options.Load(), server: s, holder: s.clients.Enter("client")}
		for _, f := range whole.Header {
			m.addField(f.Name, f.Value)
		}
		m.addChunk(whole.Body)
		got["milter"] = m.content()
		m.release()
		got["text"], _ = signature.ParseWithin(sent, most)
		for name, c := range got {
			var read []signature.Field // the last one of each name
			for _, f := range said {
				for _, kept := range slices.Backward(c.Header) {
					if kept.Is(f.Name) {
						read = append(read, kept)
						break
					}
				}
			}
			if string(c.Body) != body || c.Truncated || !slices.Equal(read, said) {
				t.Errorf("%s: %d of %d fields, %.200q, the body %.50q", name, len(c.Header), len(whole.Header), read, c.Body)
			}
		}
	})
}
