package milter

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature"
)

// headLines are lines of headers, and others.
var headLines = []string{
	"a:\n", "a: b\n c\n", "Content-a: b\n", "Content-Type:\n", "a:\r\n", "\ra:\n", "a : b\n", ": x\n", "a: \xe9\x00\n", "\xe9: x\n", "\x00: a\n",
	"no field\n", "no\n fold\n", "From x\n", ">From y\n", "\r\r\n", "a: \r\n \r\n b\r\n", strings.Repeat("no ", 5_000) + "\n", "From x\nFrom " + strings.Repeat("y ", 300) + "\n",
	"a: " + strings.Repeat("x", 3_000) + "\n", "a:\n" + strings.Repeat(" \n", 1_000), "Content-Transfer-Encoding: \n", "Content-Type: \x00\n", "Content-Type: text/third\n",
	"Content-Type: text/plain; x=" + strings.Repeat("y", 1_600) + "\n", "Content-Type: x/y;\n z=" + strings.Repeat("z", 960) + "\n",
	"Content-Type: x/y;" + strings.Repeat("\r\n z=", 240) + "\r\n", "Content-Type" + strings.Repeat(" ", 500) + ": x/y\n",
	"Content-ID: " + strings.Repeat("z", 1_500) + "\n", "Content-Disposition:\n " + strings.Repeat("z", 1_500) + "\n",
}

// TestHeadsAgree compares what arrives by the milter protocol, at a door in pieces, and as one text, with
// headers of all kinds, and with any memory: all of them have the body, and what says how it is read.
func TestHeadsAgree(t *testing.T) {
	const last = "Content-Type: text/x;\r\n y=z\nContent-Transfer-Encoding: 8bit\nContent-Disposition: attachment\nContent-ID: <a>\n"
	rapid.Check(t, func(t *rapid.T) {
		var raw strings.Builder
		for range rapid.IntRange(1, 5).Draw(t, "kinds") {
			raw.WriteString(strings.Repeat(rapid.SampledFrom(headLines).Draw(t, "line"), 1<<rapid.IntRange(0, 10).Draw(t, "times")))
		}
		raw.WriteString(last + rapid.SampledFrom([]string{"\n", "\r\n", "", "no field\n"}).Draw(t, "end") + "It has two\nlines: so\n")
		sent := []byte(raw.String())
		whole := signature.Parse(sent)
		if len(whole.Body) > 2_000 {
			t.Skip("the body begins earlier")
		}
		most, memory := int64(1)<<rapid.IntRange(16, 23).Draw(t, "max_message"), int64(1)<<rapid.IntRange(0, 24).Draw(t, "memory")
		s := NewServer(nil, Options{MaxMessage: most, MaxMemory: memory})
		got := map[string]signature.Message{"door": atDoor(t, s, sent, rapid.IntRange(1, 1<<15).Draw(t, "piece"))}
		m := &message{options: s.options.Load(), server: s, holder: s.clients.Enter("client")}
		for _, f := range whole.Header {
			m.addField(f.Name, f.Value)
		}
		m.addChunk(whole.Body)
		got["milter"] = m.content()
		m.release()
		if taken := s.Load().Memory; taken != 0 {
			t.Errorf("%d bytes are still booked", taken)
		}
		got["text"], _ = signature.ParseWithin(sent, most)
		for name, c := range got {
			if read, want := howRead(c), howRead(whole); string(c.Body) != string(whole.Body) || c.Truncated || !slices.Equal(read, want) {
				t.Errorf("%s: %d of %d fields, %.300q, want %.300q; the body %.50q", name, len(c.Header), len(whole.Header), read, want, c.Body)
			}
		}
	})
}

// atDoor returns what a door has of a message that arrives in pieces.
func atDoor(t *rapid.T, s *Server, sent []byte, piece int) signature.Message {
	door := s.NewMail("spamd", "", "nobody", false)
	defer door.Close()
	for p := range slices.Chunk(sent, piece) {
		if _, err := door.Write(p); err != nil {
			t.Fatal(err)
		}
		if int64(len(door.head)-len("x:\n")) > door.msg.ahead { // a line that is added
			t.Fatalf("%d bytes of a head are held, %d are booked", len(door.head), door.msg.ahead)
		}
	}
	door.endHead()
	if taken, most := s.Load().Memory, s.options.Load().MaxMemory+share; taken > most {
		t.Errorf("%d bytes are booked", taken)
	}
	return door.msg.content()
}

// howRead returns the values that say how the body is read.
func howRead(m signature.Message) (values []string) {
	for _, name := range []string{"Content-Type", "Content-Transfer-Encoding", "Content-Disposition", "Content-ID"} {
		var all []string
		for _, f := range m.Header {
			if f.Is(name) && f.Value != "" {
				all = append(all, f.Value)
			}
		}
		values = append(values, all[:min(1, len(all))]...)
		if name == "Content-ID" || name == "Content-Disposition" || len(all) < 2 {
			continue
		}
		further := all[1]
		for _, v := range all[1:] {
			if name == "Content-Type" && len(name)+len(v) <= 1_000 {
				further = v
			}
		}
		values = append(values, further)
	}
	return values
}
