package milter

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// fieldOverhead is charged for each header field beside its bytes, so that many
// tiny fields stay within MaxMessage too. Unit: bytes.
const fieldOverhead = 64

// maxMessageID bounds the Message-ID in the log line. Unit: bytes.
const maxMessageID = 256

// macros are the MTA's macros that matter here. MTAs send them piecemeal, a
// packet before each stage; Postfix knows the queue id only after the first
// recipient, Sendmail tells it only at MAIL. So they are merged over all stages.
type macros struct {
	queueID string // i
	auth    string // {auth_authen}: the authenticated user
}

func (a *macros) merge(from map[string]string) {
	if v := from["i"]; v != "" {
		a.queueID = v
	}
	if v := from["{auth_authen}"]; v != "" {
		a.auth = v
	}
}

// message is what a message brought from MAIL to the end of its body.
type message struct {
	macros
	options    *Options // those in force when it began
	client     netip.Addr
	recipients uint32
	id         string // Message-ID
	forged     forged

	header   []signature.Field
	body     [][]byte // the chunks as the library allocated them
	size     int64    // header and body bytes seen
	kept     int64    // header and body bytes held, fieldOverhead included
	oversize bool     // something was not kept
}

// skip is the reason why the message needs no judgement; "" for none. It may
// come up at any stage; content is not kept from then on.
func (m *message) skip() (reason string) {
	if m.options.SkipAuthenticated && m.auth != "" {
		return reasonAuthenticated
	}
	for _, network := range m.options.LocalNetworks {
		if network.Contains(m.client) {
			return reasonLocal
		}
	}
	if m.options.SkipOversize && m.oversize {
		return reasonOversize
	}
	return ""
}

func (m *message) addField(name, value string) {
	m.forged.see(name)
	if strings.EqualFold(name, "Message-ID") {
		m.id = value[:min(len(value), maxMessageID)]
	}
	n := int64(len(name) + len(value))
	m.size += n
	n += fieldOverhead
	if m.skip() != "" {
		return
	}
	if m.oversize || m.kept+n > m.options.MaxMessage {
		m.oversize = true
		return
	}
	m.kept += n
	m.header = append(m.header, signature.Field{Name: name, Value: value})
}

// addChunk says whether more of the body is of use.
func (m *message) addChunk(chunk []byte) (more bool) {
	m.size += int64(len(chunk))
	if m.skip() != "" {
		return false
	}
	n := min(int64(len(chunk)), m.options.MaxMessage-m.kept)
	m.oversize = m.oversize || n < int64(len(chunk))
	if n > 0 {
		m.kept += n
		m.body = append(m.body, chunk[:n])
	}
	if m.oversize && m.options.SkipOversize {
		m.header, m.body = nil, nil
	}
	return !m.oversize
}

// content is the message for signature.Compute. A body of one chunk, which is
// most mail, is not copied.
func (m *message) content() signature.Message {
	c := signature.Message{Header: m.header, Truncated: m.oversize}
	if len(m.body) == 1 {
		c.Body = m.body[0]
	} else {
		c.Body = slices.Concat(m.body...)
	}
	return c
}

// sightings is how often the message is counted.
func (m *message) sightings() uint32 {
	if m.options.CountRecipients {
		return max(1, m.recipients)
	}
	return 1
}

// log writes the message's one line. It names no sender and no recipient.
func (m *message) log(d Decision, took time.Duration) {
	kinds, ids := make([]string, len(d.Signatures)), make([]string, len(d.Signatures))
	for i, s := range d.Signatures {
		kinds[i], ids[i] = s.Kind.String(), s.ID()
	}
	m.options.Log.Info("message",
		slog.String("queue_id", m.queueID),
		slog.String("message_id", m.id),
		slog.String("client", m.client.String()),
		slog.String("verdict", string(d.Verdict)),
		slog.String("action", string(d.Action)),
		slog.String("reason", d.Reason),
		slog.String("kinds", strings.Join(kinds, ",")),
		slog.String("ids", strings.Join(ids, ",")),
		slog.Uint64("count", d.Count),
		slog.Int("sites", d.Sites),
		slog.Int64("size", m.size),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000))
}
