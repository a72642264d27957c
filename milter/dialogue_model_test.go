package milter

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	gomilter "github.com/emersion/go-milter"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/signature"
)

// modelMacros are the macros in use.
type modelMacros struct{ queueID, auth string }

func (a modelMacros) with(b modelMacros) modelMacros {
	if b.queueID != "" {
		a.queueID = b.queueID
	}
	if b.auth != "" {
		a.auth = b.auth
	}
	return a
}

// modelMessage is the expected content of a message at its judgement.
type modelMessage struct {
	macros     modelMacros
	listener   string
	client     netip.Addr
	sender     string
	recipients []string
	header     []signature.Field
	body       string
	kept       int  // bytes of the header, with what is charged for its fields, and of the body
	isLong     bool // the body exceeded MaxMessage
	fields     signature.HeaderRoom
	forged     map[string]int // fields of ours, by name
}

// String is for comparisons. If the message was too long, it omits the content.
func (m *modelMessage) String() string {
	s := fmt.Sprintf("%+v %s %v from %q to %q", m.macros, m.listener, m.client, m.sender, m.recipients)
	if m.isLong {
		return s + " truncated"
	}
	return s + fmt.Sprintf(" %q %q", m.header, m.body)
}

// seen returns the same for a message that the server judged.
func seen(m *message) *modelMessage {
	c := m.content()
	s := &modelMessage{macros: modelMacros{m.QueueID, m.Auth}, listener: m.Listener, client: m.Client,
		sender: m.Sender, recipients: slices.Clone(m.Recipients), header: slices.Clone(c.Header), body: string(c.Body)}
	s.isLong = c.Truncated
	return s
}

// skipped reports whether the message is not judged.
func (m *modelMessage) skipped() bool {
	return m.macros.auth != "" || netip.MustParsePrefix("127.0.0.0/8").Contains(m.client)
}

// modelSession is the expected state of a session: a model of session and library together,
// in terms of the protocol.
type modelSession struct {
	listener string
	limit    int // MaxMessage
	agreed   gomilter.OptProtocol
	pending  modelMacros // of the last macro packet, for the next command; another one replaces it
	macros   modelMacros // of connect and HELO
	client   netip.Addr
	msg      *modelMessage
}

// due is one answer that the server owes.
type due struct {
	code byte
	end  *modelMessage // at an end of message: that one
}

// message returns the message in flight. Any part of a message begins one.
func (x *modelSession) message() *modelMessage {
	if x.msg == nil {
		x.msg = &modelMessage{macros: x.macros, listener: x.listener, client: x.client, forged: map[string]int{}}
	}
	x.msg.macros, x.pending = x.msg.macros.with(x.pending), modelMacros{}
	return x.msg
}

// reply is due unless it was suppressed in the negotiation.
func (x *modelSession) reply(silent gomilter.OptProtocol) []due {
	if x.agreed&silent != 0 {
		return nil
	}
	return []due{{code: 'c'}}
}

func (x *modelSession) offer(flags uint32) []due {
	x.agreed = gomilter.OptProtocol(flags) & protocol.WantedFlags
	return []due{{code: 'O'}}
}

func (x *modelSession) connect(client netip.Addr) []due {
	x.client = client
	x.macros, x.pending = x.macros.with(x.pending), modelMacros{}
	return x.reply(gomilter.OptNoConnReply)
}

func (x *modelSession) helo() []due {
	x.macros, x.pending = x.macros.with(x.pending), modelMacros{}
	return x.reply(gomilter.OptNoHeloReply)
}

func (x *modelSession) mail(sender string) []due {
	x.msg = nil
	sender = strings.Trim(sender, "<>")
	x.message().sender = sender[:min(len(sender), policy.MaxAddress+1)]
	return x.reply(gomilter.OptNoMailReply)
}

func (x *modelSession) rcpt(recipient string) []due {
	m := x.message()
	recipient = strings.Trim(recipient, "<>")
	if len(recipient) <= policy.MaxAddress {
		m.recipients = append(m.recipients, recipient)
	}
	return x.reply(gomilter.OptNoRcptReply)
}

func (x *modelSession) field(name, value string) []due {
	m := x.message()
	switch name := strings.ToLower(strings.TrimSpace(name)); name {
	case "x-spambloom", "x-spam-flag":
		m.forged[name]++
	}
	f := signature.Field{Name: name, Value: strings.ReplaceAll(value, "\x00", " ")}
	m.header = m.fields.Add(m.header, f, func(n, quarters int64) bool {
		hasRoom := !m.isLong && m.kept+int(n) <= x.limit/4*int(quarters)
		if hasRoom {
			m.kept += int(n)
		}
		return hasRoom
	})
	return x.reply(gomilter.OptNoHeaderReply)
}

func (x *modelSession) endOfHeader() []due {
	x.message()
	return x.reply(gomilter.OptNoEOHReply)
}

func (x *modelSession) chunk(data string) []due {
	m := x.message()
	charged := len(m.header) * signature.FieldOverhead // it takes nothing from the body
	if m.isLong = m.isLong || m.kept-charged+len(data) > x.limit; !m.isLong {
		m.kept += len(data)
		m.body += data
	}
	if x.agreed&gomilter.OptNoBodyReply != 0 {
		return nil
	}
	if (m.isLong || m.skipped()) && x.agreed&gomilter.OptSkip != 0 {
		return []due{{code: 's'}}
	}
	return []due{{code: 'c'}}
}

func (x *modelSession) endOfMessage() []due {
	m := x.message()
	x.msg = nil
	return []due{{end: m}}
}

func (x *modelSession) abort() []due {
	x.msg, x.pending = nil, modelMacros{}
	return nil
}

// newClient forgets everything except what was negotiated.
func (x *modelSession) newClient() []due {
	*x = modelSession{listener: x.listener, limit: x.limit, agreed: x.agreed}
	return nil
}
