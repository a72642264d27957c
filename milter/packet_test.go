package milter

import (
	"testing"

	gomilter "github.com/emersion/go-milter"
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
		{'B', "body", 0},
		{'T', "", 0},
	}
	offers := []gomilter.OptProtocol{0, offerOld, offerNoNR, offerAll}
	for _, s := range stages {
		offers = append(offers, s.silent)
	}
	b := start(t, Options{}, clean)
	for _, offer := range offers {
		w := dialWire(t, b.addr, 0)
		w.write(appendPacket(nil, gomilter.CodeOptNeg, 6, 0x1ff, uint32(offer)))
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

func TestNegotiate(t *testing.T) {
	const all = uint32(neededActions)
	tests := []struct{ version, actions, protocol, wantVersion, wantProtocol uint32 }{
		{6, 0x1ff, 0x1fffff, 6, uint32(wantedProtocol)}, // Postfix, Sendmail
		{6, 0x1ff, 0x101fffff, 6, uint32(wantedProtocol)},
		{2, 0x3f, 0x7f, 2, 0}, // nothing that was not offered
		{9, ^uint32(0), 0x80, 6, 0x80},
	}
	for _, test := range tests {
		offer := appendPacket(nil, 'O', test.version, test.actions, test.protocol)
		protocol, answer, err := negotiate(offer[packetHead+1:])
		want := appendPacket(nil, 'O', test.wantVersion, all, test.wantProtocol)
		if err != nil || string(answer) != string(want) || uint32(protocol) != test.wantProtocol {
			t.Errorf("%+v: answer %x, want %x, error %v", test, answer, want, err)
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
