// Package protocol has the packets of the milter protocol (Sendmail's libmilter/mfdef.h, as
// Postfix and Sendmail send them), as far as github.com/emersion/go-milter does not read or
// answer them correctly.
//
// It owns the answer to an MTA's offer and the form in which a packet reaches the library.
// It reads and writes no connection, and keeps no state.
package protocol

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	gomilter "github.com/emersion/go-milter"

	"github.com/spambloom/spambloom/milter/policy"
)

// MaxPacket is the library's own limit on a packet's code and data. MTAs send little more
// than 64 KiB. Unit: bytes.
const MaxPacket = 1 << 20

// Head is the size of the length field before each packet. Unit: bytes.
const Head = 4

// Codes that the library does not name.
const (
	CodeUnknown  gomilter.Code = 'U' // SMFIC_UNKNOWN: an SMTP command the MTA does not know
	CodeProgress gomilter.Code = 'p' // SMFIR_PROGRESS
)

// The actions a session needs and the protocol flags it wants, as in Sendmail's
// libmilter/mfdef.h. A session answers only the end of message. That saves about 20 round
// trips a message, each of which takes 45 ms with Sendmail over TCP. So the body of mail that
// is not judged is received and dropped: OptSkip is for MTAs that wait for an answer to each
// chunk. OptNoDataReply is not among them, because the library answers DATA by itself.
const (
	NeededActions = gomilter.OptAddHeader | gomilter.OptChangeHeader | gomilter.OptQuarantine
	WantedFlags   = gomilter.OptNoUnknown | gomilter.OptNoData | gomilter.OptSkip |
		gomilter.OptNoConnReply | gomilter.OptNoHeloReply | gomilter.OptNoMailReply |
		gomilter.OptNoRcptReply | gomilter.OptNoHeaderReply | gomilter.OptNoEOHReply |
		gomilter.OptNoBodyReply
)

// ErrViolated marks packets that no MTA would send.
var ErrViolated = errors.New("milter protocol violated")

// Negotiate returns the answer to an MTA's offer (SMFIC_OPTNEG: version, actions, protocol
// flags). The library would answer every offer alike. But Sendmail drops a milter that
// requests more than was offered, and an MTA that does not know a flag waits forever for
// the reply that the flag suppresses.
func Negotiate(offer []byte) (protocol gomilter.OptProtocol, answer []byte, err error) {
	const newest = 6
	if len(offer) < 12 {
		return 0, nil, fmt.Errorf("%w: offer of %d bytes", ErrViolated, len(offer))
	}
	version := binary.BigEndian.Uint32(offer)
	actions := gomilter.OptAction(binary.BigEndian.Uint32(offer[4:]))
	protocol = gomilter.OptProtocol(binary.BigEndian.Uint32(offer[8:])) & WantedFlags
	if version < 2 {
		return 0, nil, fmt.Errorf("%w: version %d, need 2 to %d", ErrViolated, version, newest)
	}
	if actions&NeededActions != NeededActions {
		return 0, nil, fmt.Errorf("%w: MTA offers actions %#x, need %#x", ErrViolated, uint32(actions), uint32(NeededActions))
	}
	answer = Append(nil, gomilter.CodeOptNeg,
		uint32(min(version, newest)), uint32(NeededActions), uint32(protocol))
	return protocol, answer, nil
}

// Append appends a packet whose data are numbers.
func Append(dst []byte, code gomilter.Code, data ...uint32) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(1+4*len(data)))
	dst = append(dst, byte(code))
	for _, n := range data {
		dst = binary.BigEndian.AppendUint32(dst, n)
	}
	return dst
}

// Repair checks a whole packet (length, code, data) before the library sees it, and returns
// it in a form that the library parses correctly. It returns an error for a packet that the
// library would log and drop, or answer with a response of its own.
func Repair(packet []byte) ([]byte, error) {
	code, data := gomilter.Code(packet[Head]), packet[Head+1:]
	switch code {
	case gomilter.CodeConn:
		return repairConnect(packet)
	case gomilter.CodeHeader:
		return packet, repairHeader(data)
	case gomilter.CodeAbort, gomilter.CodeBody, gomilter.CodeEOB, gomilter.CodeHelo, gomilter.CodeMail,
		gomilter.CodeEOH, gomilter.CodeQuit, gomilter.CodeRcpt, gomilter.CodeData:
	default:
		return nil, fmt.Errorf("%w: unknown command %q", ErrViolated, byte(code))
	}
	return packet, nil
}

// Known are the macros in use. MTAs send a packet of them before each stage. Postfix has the queue
// id only after the first recipient; Sendmail sends it only at MAIL. Therefore the macros of all
// stages are merged.
type Known struct {
	QueueID string
	Auth    string // the authenticated user
	Daemon  Daemon
	Version string // of the MTA

	// Resolved is the recipient of the next RCPT, as the MTA delivers it. Merge does not take it over.
	Resolved string
}

// Their names, as MTAs send them.
const (
	queueID  = "i"
	auth     = "{auth_authen}"
	daemon   = "{daemon_name}"
	version  = "v"
	resolved = "{rcpt_addr}"
)

// Merge takes over the values of a packet that are not empty.
func (k *Known) Merge(from Known) {
	k.QueueID = cmp.Or(from.QueueID, k.QueueID)
	k.Auth = cmp.Or(from.Auth, k.Auth)
	k.Daemon = cmp.Or(from.Daemon, k.Daemon)
	k.Version = cmp.Or(from.Version, k.Version)
}

// Recipient returns the address of a recipient as Postfix delivers it, before alias lookup: a sender may
// write it in many forms. That of other MTAs is the one that the client gave: Sendmail's {rcpt_addr} is
// that after virtusertable, or has no domain.
func (k *Known) Recipient(given, resolved string) string {
	if strings.HasPrefix(k.Version, "Postfix ") && strings.Contains(resolved, "@") && len(resolved) <= policy.MaxAddress {
		return resolved
	}
	return given
}

// bounded returns a value cut to policy.MaxAddress bytes, plus one byte that marks it as
// truncated: a part must not be taken for the whole.
func bounded(value []byte) string { return string(value[:min(len(value), policy.MaxAddress+1)]) }

// Daemon is the name that an MTA has for itself.
type Daemon string

// RepeatsHeader reports whether the MTA may send the header a second time, before the body:
// versions of Stalwart send the whole message as the body (its issue 2346). A sender cannot set
// this name, and Postfix', which is a host name, has no space.
func (d Daemon) RepeatsHeader() bool { return strings.HasPrefix(string(d), "Stalwart ") }

// Macros returns the macros in use of a macro packet. A packet may contain thousands of others. The
// last value of a repeated macro counts, as in the library.
func Macros(data []byte) (k Known, err error) {
	if len(data) == 0 {
		return k, fmt.Errorf("%w: empty macro packet", ErrViolated)
	}
	var id, user, name, mta, recipient []byte
	rest, more := bytes.Trim(data[1:], "\x00"), true
	for more {
		var macro, value []byte
		if macro, rest, more = bytes.Cut(rest, []byte{0}); more {
			value, rest, more = bytes.Cut(rest, []byte{0})
		}
		switch string(macro) {
		case queueID:
			id = value
		case auth:
			user = value
		case daemon:
			name = value
		case version:
			mta = value
		case resolved:
			recipient = value
		}
	}
	return Known{bounded(id), bounded(user), Daemon(bounded(name)), bounded(mta), bounded(recipient)}, nil
}

// Field returns the header field in a packet's data, which it may change.
func Field(data []byte) (name, value string, err error) {
	if err := repairHeader(data); err != nil {
		return "", "", err
	}
	name, value, _ = strings.Cut(string(data[:len(data)-1]), "\x00")
	return name, value, nil
}

// repairConnect removes the tag from an address like IPv6:2001:db8::1. Sendmail writes it
// (anynet_ntop) and net.ParseIP does not parse it; without an address the client would be
// taken for a local one.
func repairConnect(packet []byte) ([]byte, error) {
	const tag = "IPv6:"
	host := bytes.IndexByte(packet[Head+1:], 0)
	family := Head + 1 + host + 1
	if host < 0 || family >= len(packet) {
		return nil, fmt.Errorf("%w: connect packet without a family", ErrViolated)
	}
	switch gomilter.ProtoFamily(packet[family]) {
	case gomilter.FamilyUnknown, gomilter.FamilyUnix:
		return packet, nil
	case gomilter.FamilyInet, gomilter.FamilyInet6:
	default:
		return nil, fmt.Errorf("%w: unknown address family %q", ErrViolated, packet[family])
	}
	address := family + 3 // after the port
	if address > len(packet) {
		return nil, fmt.Errorf("%w: connect packet without a port", ErrViolated)
	}
	if end := address + len(tag); end <= len(packet) && strings.EqualFold(string(packet[address:end]), tag) {
		packet = append(packet[:address], packet[end:]...)
		binary.BigEndian.PutUint32(packet, uint32(len(packet)-Head))
	}
	return packet, nil
}

// repairHeader replaces each NUL inside a value with a blank. The library drops a header
// with such a NUL, and answers it even if no answer is due.
func repairHeader(data []byte) error {
	name := bytes.IndexByte(data, 0)
	if name < 1 || data[len(data)-1] != 0 {
		return fmt.Errorf("%w: header packet without a name or an end", ErrViolated)
	}
	for i := name + 1; i < len(data)-1; i++ {
		if data[i] == 0 {
			data[i] = ' '
		}
	}
	return nil
}
