package milter

import (
	"fmt"
	"strings"
	"testing"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/door"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/milter/spill"
)

func TestOversize(t *testing.T) {
	const limit = 100_000
	for _, test := range []struct {
		name       string
		offer      gomilter.OptProtocol
		skip       bool
		answers    string // to chunks of 60,000 bytes ('-': none), then end of message
		wantHeader string
	}{
		{"judged on what was kept", offerAll, false, "---ic", "clean; count=0; sites=0; site=mx1"},
		{"MTA that waits", offerWait, false, "csic", "clean; count=0; sites=0; site=mx1"},
		{"MTA without skip", offerWait &^ gomilter.OptSkip, false, "cccic", "clean; count=0; sites=0; site=mx1"},
		{"skipped", offerAll, true, "---ic", "skipped; reason=oversize; site=mx1"},
		{"skipped, MTA that waits", offerWait, true, "csic", "skipped; reason=oversize; site=mx1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := start(t, Options{MaxMessage: limit, SkipOversize: test.skip}, clean)
			w := dialWire(t, b.addr, test.offer)
			w.send('M', "<s>\x00")
			w.send('L', "Subject\x00long\x00")
			w.send('N', "")
			for i := 0; test.answers[i] != 'i'; i++ {
				w.send('B', strings.Repeat("x", 60_000))
				if test.answers[i] != '-' {
					w.expect(test.answers[i : i+1])
				}
			}
			w.send('U', "")
			w.expect("c") // everything sent before was read
			if test.skip && b.held.Taken() != 0 {
				t.Errorf("%d bytes held for a message that will be skipped", b.held.Taken())
			}
			w.send('E', "")
			code, data, err := w.receive()
			if err != nil || code != 'i' || !strings.Contains(string(data), test.wantHeader) {
				t.Errorf("answer %q %q %v", code, data, err)
			}
			w.expect("c")
			if test.skip {
				return
			}
			c := b.contents()[0].content
			if kept := len(c.Body) + len("Subjectlong"); !c.Truncated || kept != limit {
				t.Errorf("truncated %v, kept %d of %d", c.Truncated, kept, limit)
			}
		})
	}
}

func TestMegabyteHeaderLine(t *testing.T) {
	b := start(t, Options{}, clean)
	w := dialWire(t, b.addr, offerAll)
	w.send('M', "<s>\x00")
	w.send('L', "X-Long\x00"+strings.Repeat("x", 1_000_000)+"\x00")
	w.send('L', "Subject\x00after\x00")
	w.send('E', "")
	w.expect("ic")
	if h := b.contents()[0].content.Header; len(h) != 2 || len(h[0].Value) != 1_000_000 || h[1].Value != "after" {
		t.Errorf("%d header fields", len(h))
	}
}

func TestManyHeaderFieldsAreBounded(t *testing.T) {
	const limit = 64 << 10
	b := start(t, Options{MaxMessage: limit}, clean)
	w := dialWire(t, b.addr, offerAll)
	w.send('M', "<s>\x00")
	w.write([]byte(strings.Repeat(string(packet('L', "a\x00b\x00")), 100_000)))
	w.send('E', "")
	w.expect("ic")
	c := b.contents()[0].content
	if len(c.Header) == 0 || len(c.Header) > limit/2/fieldOverhead {
		t.Errorf("%d fields kept", len(c.Header))
	}
	if size := b.lines()[0]["size"]; size != 200_000. {
		t.Errorf("logged size %v", size)
	}
}

func TestTinyChunksAreJoined(t *testing.T) {
	s := NewServer(nil, Options{})
	x := &session{conn: &conn{Conn: new(door.Conn), server: s, holder: new(room.Client)}, server: s}
	defer x.drop()
	var want strings.Builder
	for i := range 10_000 {
		chunk := fmt.Appendf(nil, "%d,", i)
		if i == 5000 {
			chunk = []byte(strings.Repeat("x", spill.SmallChunk))
		}
		want.Write(chunk)
		if _, err := x.BodyChunk(chunk, &gomilter.Modifier{}); err != nil {
			t.Fatal(err)
		}
	}
	if len(x.msg.body) != 2 {
		t.Errorf("%d chunks held", len(x.msg.body))
	}
	if string(x.msg.content().Body) != want.String() {
		t.Error("the body is another one")
	}
}
