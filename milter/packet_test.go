package milter

import (
	"testing"

	gomilter "github.com/emersion/go-milter"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/signature"
)

// The MTA gets exactly the replies it waits for, for each flag alone. Otherwise one side
// waits forever, or takes a reply for another.
func TestRepliesAsNegotiated(t *testing.T) {
	stages := []struct {
		code   byte
		data   string
		silent gomilter.OptProtocol
	}{
		{'C', "h\x004\x00\x19192.0.2.1\x00", gomilter.OptNoConnReply},
		{'H', "helo\x00", gomilter.OptNoHeloReply},
		{'M', "<s>\x00", gomilter.OptNoMailReply},
		{'R', "<r>\x00", gomilter.OptNoRcptReply},
		{'L', "Subject\x00x\x00", gomilter.OptNoHeaderReply},
		{'L', "Empty\x00\x00", gomilter.OptNoHeaderReply},
		{'L', "NUL\x00a\x00b\x00", gomilter.OptNoHeaderReply},
		{'N', "", gomilter.OptNoEOHReply},
		{'B', "body", gomilter.OptNoBodyReply},
		{'T', "", 0},
	}
	offers := []gomilter.OptProtocol{0, offerOld, offerNoNR, offerAll}
	for _, s := range stages {
		offers = append(offers, s.silent)
	}
	b := start(t, Options{}, clean)
	for _, offer := range offers {
		w := dialWire(t, b.addr, 0)
		w.write(protocol.Append(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offer)))
		w.expect("O")
		for _, s := range stages {
			w.send(s.code, s.data)
			if s.silent&offer == 0 {
				w.expect("c")
			}
		}
		w.send('E', "")
		w.expect("ic")
		w.send('Q', "")
		w.expectClosed()
	}
	for _, j := range b.contents() {
		if h := j.content.Header; len(h) != 3 || h[1] != (signature.Field{Name: "Empty"}) || h[2] != (signature.Field{Name: "NUL", Value: "a b"}) {
			t.Errorf("header %q", h)
		}
	}
}

func TestUnknownCommandAndNewClient(t *testing.T) {
	b := start(t, Options{SkipAuthenticated: true}, clean)
	w := dialWire(t, b.addr, offerAll)
	w.send('D', "C{auth_authen}\x00alice\x00")
	w.send('C', "h\x004\x00\x19192.0.2.1\x00")
	w.send('U', "FOO\x00")
	w.expect("c")
	w.send('M', "<s>\x00")
	w.send('K', "") // forgets everything of the first client
	w.send('C', "h\x004\x00\x19192.0.2.2\x00")
	w.send('M', "<s>\x00")
	w.send('E', "")
	w.expect("ic")
	if lines := b.lines(); len(lines) != 1 || lines[0]["client"] != "192.0.2.2" {
		t.Errorf("log %v", lines)
	}
}
