package milter

import (
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spambloom/spambloom/signature"
)

// fieldOverhead is charged for each header field beside its bytes, so that many
// tiny fields stay within MaxMessage too. Unit: bytes.
const fieldOverhead = 64

// smallChunk is the size below which a body chunk is joined to the one before:
// MTAs send 64 KiB and a rest, and a client of tiny chunks must not take many
// times their memory. Unit: bytes.
const smallChunk = 4 << 10

// heldMessages bounds what all messages in flight keep together, in units of
// MaxMessage: a thousand MTA connections must not fill the memory. A message for
// which nothing is left is treated like one over MaxMessage.
const heldMessages = 32

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
	body     [][]byte      // the chunks as the library allocated them
	size     int64         // header and body bytes seen
	kept     int64         // header and body bytes held, fieldOverhead included
	oversize bool          // something was not kept
	held     *atomic.Int64 // kept, summed over the server's messages
}

// keep says whether n more bytes may be held, and books them.
func (m *message) keep(n int64) bool {
	if m.kept+n > m.options.MaxMessage {
		return false
	}
	if m.held.Add(n) > heldMessages*m.options.MaxMessage {
		m.held.Add(-n)
		return false
	}
	m.kept += n
	return true
}

// release gives back what the message held.
func (m *message) release() {
	m.held.Add(-m.kept)
	m.kept, m.header, m.body = 0, nil, nil
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
		m.id = strings.TrimSpace(value) // it is often folded
		m.id = m.id[:min(len(m.id), maxMessageID)]
	}
	n := int64(len(name) + len(value))
	m.size += n
	if m.oversize || m.skip() != "" {
		return
	}
	if !m.keep(n + fieldOverhead) {
		m.overflow()
		return
	}
	m.header = append(m.header, signature.Field{Name: name, Value: value})
}

// addChunk says whether more of the body is of use.
func (m *message) addChunk(chunk []byte) (more bool) {
	m.size += int64(len(chunk))
	if m.oversize || m.skip() != "" {
		return false
	}
	n := min(int64(len(chunk)), m.options.MaxMessage-m.kept)
	if !m.keep(n) {
		n = 0
	}
	if last := len(m.body) - 1; last >= 0 && n < smallChunk {
		m.body[last] = append(m.body[last], chunk[:n]...)
	} else {
		m.body = append(m.body, chunk[:n])
	}
	if n < int64(len(chunk)) {
		m.overflow()
	}
	return !m.oversize
}

// overflow notes that the message is not kept to its end.
func (m *message) overflow() {
	m.oversize = true
	if m.options.SkipOversize {
		m.release()
	}
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
	attrs := []any{
		slog.String("queue_id", m.queueID),
		slog.String("message_id", m.id),
		slog.String("client", m.client.String()),
		slog.String("verdict", string(d.Verdict)),
		slog.String("action", string(d.Action)),
		slog.String("reason", d.Reason),
		slog.String("class", d.className()),
		slog.String("kinds", strings.Join(kinds, ",")),
		slog.String("ids", strings.Join(ids, ",")),
		slog.Uint64("count", d.Count),
		slog.Int("sites", d.Sites),
		slog.Int64("size", m.size),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	}
	if d.Limits != 0 {
		attrs = append(attrs, slog.String("limits", strings.Join(d.Limits.Names(), ",")))
	}
	m.options.Log.Info("message", attrs...)
}
