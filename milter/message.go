package milter

import (
	"bytes"
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

// smallChunk is the size below which a body chunk is joined to the one before:
// MTAs send 64 KiB and a rest, and a client of tiny chunks must not take many
// times their memory. Chunks are joined up to joined bytes. Unit: bytes.
const (
	smallChunk = 4 << 10
	joined     = 64 << 10
)

// share is what each message may hold whatever the others do: the whole of most mail,
// else its begin. Unit: bytes.
const share = 64 << 10

// Why a message is not kept to its end, as the metric names it.
const (
	overMessage = "message" // Options.MaxMessage
	overMemory  = "memory"  // Options.MaxMemory, and the temporary files
	overTurn    = "turn"    // its sender is set back; kept, but judged on its beginning
)

// maxMessageID bounds the Message-ID in the log line. Unit: bytes.
const maxMessageID = 256

// maxAddress bounds an address of the envelope, in bytes; maxRecipients those that
// are kept, and maxLogged those that the log names.
const (
	maxAddress    = 320 // 64 + "@" + 255, RFC 5321, section 4.5.3.1
	maxRecipients = 10_000
	maxLogged     = 10
)

// bounded is an address or a name without what is beyond maxAddress, but for a byte that
// shows it: what was cut off must not be taken for the whole.
func bounded(s string) string { return strings.Clone(s[:min(len(s), maxAddress+1)]) }

// envelope is how a message came, as the policy sees it.
type envelope struct {
	listener   string // name of the listener, as given to Server.Serve
	client     netip.Addr
	helo       string   // as the client calls itself
	sender     string   // without <>; "" for a bounce
	recipients []string // those that are kept, in their order
	count      uint32   // of all recipients
	countsAll  bool     // each recipient is a sighting
	forms      *forms   // of the domains in envelope and header; nil: none yet
}

// audience are the recipients, with "" for those that were not kept. It has at
// least one element.
func (e *envelope) audience() []string {
	if len(e.recipients) == 0 || uint32(len(e.recipients)) < e.count {
		return append(slices.Clone(e.recipients), "")
	}
	return e.recipients
}

// macros are the MTA's macros that matter here. MTAs send them piecemeal, a
// packet before each stage; Postfix knows the queue id only after the first
// recipient, Sendmail tells it only at MAIL. So they are merged over all stages.
type macros struct {
	queueID string // i
	auth    string // {auth_authen}: the authenticated user
}

func (a *macros) merge(from map[string]string) {
	if v := from[macroQueueID]; v != "" {
		a.queueID = bounded(v)
	}
	if v := from[macroAuth]; v != "" {
		a.auth = bounded(v)
	}
}

// message is what a message brought from MAIL to the end of its body.
type message struct {
	macros
	envelope
	options *Options // those in force when it began
	allowed []string // by which rule each recipient is allowed; nil: none is
	id      string   // Message-ID
	forged  forged

	header   []signature.Field
	body     [][]byte // the chunks as the library allocated them
	rest     *spill   // what follows on them; nil: nothing
	size     int64    // header and body bytes seen
	kept     int64    // header and body bytes held, fieldOverhead included
	oversize bool     // something was not kept
	cut      bool     // of the header, too
	booked   int64    // all that is booked in server.held: header, body, recipients
	server   *Server

	stage *stage // of its judgement; nil before
	short bool   // it is judged on its first share bytes
}

// book takes n bytes of the memory for all messages, if they are left or within the
// message's share.
func (m *message) book(n int64) bool {
	if held := &m.server.held; held.Add(n) > m.options.MaxMemory && m.booked+n > share {
		held.Add(-n)
		return false
	}
	m.booked += n
	return true
}

// bookPart is book for as much of n bytes as there is.
func (m *message) bookPart(n int64) (booked int64) {
	if m.book(n) {
		return n
	}
	if n = min(n, share-m.booked); n > 0 && m.book(n) {
		return n
	}
	return 0
}

// release gives back what the message held.
func (m *message) release() {
	m.server.held.Add(-m.booked)
	m.rest.close(&m.server.spilled)
	m.disown()
}

// disown leaves what the message holds to a copy of it.
func (m *message) disown() {
	m.booked, m.kept, m.header, m.body, m.rest = 0, 0, nil, nil, nil
}

// addRecipient notes a recipient. One for which no memory is left is only counted.
func (m *message) addRecipient(address string) {
	m.count++
	if len(address) <= maxAddress && len(m.recipients) < maxRecipients && m.book(int64(len(address))+fieldOverhead) {
		m.recipients = append(m.recipients, strings.Clone(address)) // of a packet that may be much longer
	}
}

// skip is the reason why the message needs no judgement; "" for none. It may
// come up at any stage; content is not kept from then on.
func (m *message) skip() (reason string) {
	if m.options.SkipAuthenticated && m.auth != "" {
		return reasonAuthenticated
	}
	if m.options.rules.local.contain(m.client) {
		return reasonLocal
	}
	if m.options.SkipOversize && m.oversize {
		return reasonOversize
	}
	return ""
}

func (m *message) addField(name, value string) {
	m.forged.see(name)
	if strings.EqualFold(name, "Message-ID") {
		id := strings.TrimSpace(value)                        // it is often folded
		m.id = strings.Clone(id[:min(len(id), maxMessageID)]) // of a value that may not be kept
	}
	n := int64(len(name) + len(value))
	m.size += n
	if m.oversize || m.skip() != "" {
		return
	}
	reason := ""
	switch n += fieldOverhead; {
	case m.kept+n > m.options.MaxMessage:
		reason = overMessage
	case !m.book(n):
		reason = overMemory
	}
	if reason != "" {
		m.cut = true
		m.overflow(reason)
		return
	}
	m.kept += n
	m.header = append(m.header, signature.Field{Name: name, Value: value})
}

// wholeHeader is the header, or nil if a part of it is not there: a field that must
// be the only one may have another behind it.
func (m *message) wholeHeader() []signature.Field {
	if m.cut {
		return nil
	}
	return m.header
}

// addChunk says whether more of the body is of use.
func (m *message) addChunk(chunk []byte) (more bool) {
	m.size += int64(len(chunk))
	if m.oversize || m.skip() != "" {
		return false
	}
	within := chunk[:min(int64(len(chunk)), m.options.MaxMessage-m.kept)]
	n := 0
	if m.rest == nil { // else it must stay in order
		n = int(m.bookPart(int64(len(within))))
		m.hold(within[:n])
	}
	m.kept += int64(len(within))
	switch {
	case n < len(within) && !m.spill(within[n:]):
		m.overflow(overMemory)
	case len(within) < len(chunk):
		m.overflow(overMessage)
	}
	return !m.oversize
}

// hold appends to the body in memory. Only what is booked is kept, but for 4 KiB a chunk.
func (m *message) hold(chunk []byte) {
	last := len(m.body) - 1
	switch {
	case len(chunk) == 0:
	case last >= 0 && len(chunk) < smallChunk && len(m.body[last])+len(chunk) <= joined:
		m.body[last] = joinChunk(m.body[last], chunk)
	case cap(chunk)-len(chunk) > smallChunk || len(chunk) < smallChunk: // of a longer packet
		m.body = append(m.body, bytes.Clone(chunk))
	default:
		m.body = append(m.body, chunk)
	}
}

// joinChunk is append that takes at most smallChunk bytes ahead.
func joinChunk(to, chunk []byte) []byte {
	if n := len(to) + len(chunk); n > cap(to) {
		to = append(make([]byte, 0, n+min(n, smallChunk)), to...)
	}
	return append(to, chunk...)
}

// overflow notes that the message is not kept to its end.
func (m *message) overflow(reason string) {
	m.oversize = true
	m.server.metrics.truncated.WithLabelValues(reason).Inc()
	if m.options.SkipOversize {
		m.release()
	}
}

// content is the message for signature.Compute. A body of one chunk, which is
// most mail, is not copied.
func (m *message) content() signature.Message {
	if m.short && m.kept > share {
		return m.beginning()
	}
	c := signature.Message{Header: m.header, Truncated: m.oversize}
	if m.rest != nil {
		body, err := m.rest.behind(m.body)
		if err == nil {
			c.Body = body
			return c
		}
		m.server.spillFailed(m.options.Log, err)
		c.Truncated = true
	}
	if len(m.body) == 1 {
		c.Body = m.body[0]
	} else {
		c.Body = slices.Concat(m.body...)
	}
	return c
}

// beginning is the first share bytes of the message. It reads no temporary file.
func (m *message) beginning() signature.Message {
	c := signature.Message{Truncated: true}
	left := share
	for _, f := range m.header {
		if left -= len(f.Name) + len(f.Value) + fieldOverhead; left < 0 {
			return c
		}
		c.Header = append(c.Header, f)
	}
	for _, chunk := range m.body {
		n := min(left, len(chunk))
		c.Body, left = append(c.Body, chunk[:n]...), left-n
	}
	return c
}

// sightings is how often the message is counted.
func (m *message) sightings() uint32 {
	if m.countsAll {
		return max(1, m.count)
	}
	return 1
}

// log writes the message's one line.
func (m *message) log(d Decision, took time.Duration) {
	kinds, ids := make([]string, len(d.Signatures)), make([]string, len(d.Signatures))
	for i, s := range d.Signatures {
		kinds[i], ids[i] = s.Kind.String(), s.ID()
	}
	attrs := []any{
		slog.String("queue_id", m.queueID),
		slog.String("message_id", m.id),
		slog.String("listener", m.listener),
		slog.String("client", m.client.String()),
		slog.String("from", m.sender),
		slog.Any("to", m.recipients[:min(len(m.recipients), maxLogged)]),
		slog.Uint64("recipients", uint64(m.count)),
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
	if d.Policy != "" || len(d.Milder) > 0 {
		attrs = append(attrs, slog.String("policy", d.policyName()), slog.String("mildest_of", strings.Join(d.Milder, ", ")))
	}
	if m.forged.some() {
		attrs = append(attrs, slog.Int("forged", m.forged.verdict+m.forged.flag))
	}
	if d.Short {
		attrs = append(attrs, slog.Bool("short", true))
	}
	if d.Limits != 0 {
		attrs = append(attrs, slog.String("limits", strings.Join(d.Limits.Names(), ",")))
	}
	m.options.Log.Info("message", attrs...)
}
