package protocol_test

import (
	"testing"

	"github.com/spambloom/spambloom/milter/protocol"
)

func TestNegotiate(t *testing.T) {
	const all = uint32(protocol.NeededActions)
	tests := []struct{ version, actions, protocol, wantVersion, wantProtocol uint32 }{
		{6, 0x1ff, 0x1fffff, 6, uint32(protocol.WantedFlags)}, // Postfix, Sendmail
		{6, 0x1ff, 0x101fffff, 6, uint32(protocol.WantedFlags)},
		{2, 0x3f, 0x7f, 2, 0}, // nothing that was not offered
		{9, ^uint32(0), 0x80, 6, 0x80},
	}
	for _, test := range tests {
		offer := protocol.Append(nil, 'O', test.version, test.actions, test.protocol)
		flags, answer, err := protocol.Negotiate(offer[protocol.Head+1:])
		want := protocol.Append(nil, 'O', test.wantVersion, all, test.wantProtocol)
		if err != nil || string(answer) != string(want) || uint32(flags) != test.wantProtocol {
			t.Errorf("%+v: answer %x, want %x, error %v", test, answer, want, err)
		}
	}
}
