package milter

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"
	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/milter/spill"
	"github.com/spambloom/spambloom/signature"
)

// macroBomb is a macro packet of n bytes whose names have one byte each.
func macroBomb(size int) string {
	return "M" + strings.Repeat("n\x00\x00", (size-2)/3)
}

// librarysMacros returns the macros that the library reads from a packet.
func librarysMacros(data []byte) map[string]string {
	all := strings.Split(strings.Trim(string(data[1:]), "\x00"), "\x00")
	if len(all)%2 == 1 {
		all = append(all, "")
	}
	found := make(map[string]string)
	for i := 0; i < len(all); i += 2 {
		found[all[i]] = all[i+1]
	}
	return found
}

func TestMacrosInUse(t *testing.T) {
	long := strings.Repeat("a", 1000)
	for data, want := range map[string]protocol.Known{
		"M":                                   {},
		"M\x00\x00":                           {},
		"Mi\x00Q1\x00":                        {QueueID: "Q1"},
		"C{daemon_name}\x00Stalwart v1\x00":   {Daemon: "Stalwart v1"},
		"Mj\x00host\x00i\x00Q1\x00":           {QueueID: "Q1"},
		"Mi\x00Q1\x00i\x00Q2\x00":             {QueueID: "Q2"},
		"Mi\x00Q1\x00i\x00\x00":               {},
		"M{auth_authen}\x00alice\x00i\x00Q1":  {QueueID: "Q1", Auth: "alice"},
		"Mi\x00" + long + "\x00":              {QueueID: long[:policy.MaxAddress+1]},
		macroBomb(60_000):                     {},
		macroBomb(60_000) + "\x00i\x00Q1\x00": {}, // names and values are swapped
	} {
		if got, err := protocol.Macros([]byte(data)); err != nil || got != want {
			t.Errorf("%.40q: %+v, want %+v, error %v", data, got, want, err)
		}
	}
	if _, err := protocol.Macros(nil); !errors.Is(err, protocol.ErrViolated) {
		t.Errorf("empty packet: %v", err)
	}
}

// Macros are read as the library would read them.
func TestMacrosAsTheLibraryReadsThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.SampledFrom([]string{"i", "{auth_authen}", "{daemon_name}", "", "x", "Q1", strings.Repeat("v", 200)})).Draw(t, "words")
		data := []byte("M" + strings.Join(words, "\x00") + rapid.SampledFrom([]string{"", "\x00"}).Draw(t, "end"))
		all := librarysMacros(data)
		want := protocol.Known{QueueID: all["i"], Auth: all["{auth_authen}"], Daemon: protocol.Daemon(all["{daemon_name}"]), Version: all["v"], Resolved: all["{rcpt_addr}"]}
		if got, err := protocol.Macros(data); err != nil || got != want {
			t.Fatalf("%q: %+v, want %+v, error %v", data, got, want, err)
		}
	})
}

// Header fields are read as the library would read them, except for a NUL in a value.
func TestFieldsAsTheLibraryReadsThem(t *testing.T) {
	for data, want := range map[string]signature.Field{
		"Subject\x00a b\x00":    {Name: "Subject", Value: "a b"},
		"Subject\x00\x00":       {Name: "Subject"},
		"Subject\x00":           {Name: "Subject"},
		"Subject\x00a\x00b\x00": {Name: "Subject", Value: "a b"},
		"Subject\x00a\x00\x00":  {Name: "Subject", Value: "a "},
		" \x00\r\n\x00":         {Name: " ", Value: "\r\n"},
	} {
		if name, value, err := protocol.Field([]byte(data)); err != nil || name != want.Name || value != want.Value {
			t.Errorf("%q: %q %q, want %q, error %v", data, name, value, want, err)
		}
	}
	for _, data := range []string{"", "\x00", "\x00x\x00", "Subject", "Subject\x00x"} {
		if _, _, err := protocol.Field([]byte(data)); !errors.Is(err, protocol.ErrViolated) {
			t.Errorf("%q: error %v", data, err)
		}
	}
}

// bombard opens n connections that send a packet and stay open. It returns the live memory
// of each, including the test's own side.
func bombard(t *testing.T, o Options, n int, send func(i int, w *wire)) (b *bench, each int64) {
	t.Helper()
	b = start(t, o, clean)
	begin := int64(heap())
	for i := range n {
		send(i, dialWire(t, b.addr, offerAll))
	}
	each = (int64(heap()) - begin) / int64(n)
	t.Logf("%d bytes a connection; load %+v", each, b.Load())
	return b, each
}

// The macro bomb of shared/attacks: a packet of 1 MiB with 209,000 names is refused, and
// the longest permitted packet leaves nothing in memory.
func TestMacroBombs(t *testing.T) {
	t.Run("1 MiB", func(t *testing.T) {
		b := start(t, Options{}, clean)
		w := dialWire(t, b.addr, offerAll)
		if _, err := w.Write(packet('D', macroBomb(1<<20-1))); err == nil { // the server may close half-way
			w.expectClosed()
		}
		testenv.Eventually(t, "the failure count", func() bool { return b.metric("spambloom_milter_failures_total", "protocol") == 1 })
	})
	t.Run("64 KiB", func(t *testing.T) {
		const n = 100
		bomb := macroBomb(60_000)
		var last *wire
		b, each := bombard(t, Options{}, n, func(_ int, w *wire) {
			w.send('C', "h\x004\x00\x19192.0.2.1\x00")
			w.send('D', bomb)
			w.send('M', "<s>\x00")
			w.send('D', "Ri\x00Q1\x00")
			w.send('A', "")
			w.send('U', "")
			w.expect("c") // everything sent before was read
			last = w
		})
		if each > perConnection {
			t.Errorf("a macro bomb keeps %d bytes", each)
		}
		if load := b.Load(); load.Packets > n*keptBuffer {
			t.Errorf("load %+v", load)
		}
		last.send('D', bomb+"\x00i\x00Q2\x00") // 'M' is a stage; the first name is then empty
		last.send('D', "Mi\x00Q3\x00")
		last.send('M', "<s>\x00")
		last.send('E', "")
		last.expect("ic")
		if line := b.lines()[0]; line["queue_id"] != "Q3" {
			t.Errorf("log %v", line)
		}
	})
}

// A stored recipient keeps its address in memory, not the whole packet.
func TestRecipientBombs(t *testing.T) {
	const n, recipients = 10, 100
	address := packet('R', strings.Repeat("<", 60_000)+"r@example.org>\x00")
	b, each := bombard(t, Options{}, n, func(_ int, w *wire) {
		w.send('M', "<s>\x00")
		for range recipients {
			w.write(address)
		}
		w.send('U', "")
		w.expect("c")
	})
	if each > perConnection+recipients*200 {
		t.Errorf("%d recipients keep %d bytes", recipients, each)
	}
	if held := b.held.Taken(); held < n*recipients*int64(len("r@example.org")) {
		t.Errorf("%d bytes are booked", held)
	}
}

// A packet that does not end uses memory for the bytes received, up to an ordinary packet,
// and is counted.
func TestHalfPackets(t *testing.T) {
	for _, c := range []struct {
		sent        int
		least, most int64
	}{
		{1, 0, keptBuffer},
		{keptBuffer + 1000, ordinary, ordinary + protocol.Head},
		{60_000, 60_000, ordinary + protocol.Head},
	} {
		t.Run(fmt.Sprint(c.sent), func(t *testing.T) {
			const n = 20
			part := packet('B', strings.Repeat("x", 64<<10))[:protocol.Head+c.sent]
			b := start(t, Options{}, clean)
			for range n {
				w := dialWire(t, b.addr, offerAll)
				w.begin()
				w.write(part)
			}
			testenv.Eventually(t, "all that was sent", func() bool { return b.Load().Packets >= n*c.least })
			if load := b.Load(); load.Packets > n*c.most || load.Memory > 0 {
				t.Errorf("load %+v, want packets of %d to %d bytes", load, n*c.least, n*c.most)
			}
		})
	}
}

// Bodies in small chunks use at most a tenth more memory than was booked for them.
func TestSmallChunksTakeWhatIsBooked(t *testing.T) {
	s := NewServer(nil, Options{})
	x := &session{conn: &conn{Conn: new(door.Conn), server: s, holder: new(room.Client)}, server: s}
	defer x.drop()
	for i := range 1000 {
		if _, err := x.BodyChunk(make([]byte, 1+i*997%spill.SmallChunk, 64<<10), &gomilter.Modifier{}); err != nil {
			t.Fatal(err)
		}
	}
	taken := int64(0)
	for _, chunk := range x.msg.body {
		taken += int64(cap(chunk))
	}
	if booked := x.msg.booked; taken < booked || taken > booked+booked/10 {
		t.Errorf("%d bytes taken, %d booked", taken, booked)
	}
}
