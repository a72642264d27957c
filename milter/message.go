package milter

import (
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/header"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/milter/protocol"
	"github.com/spambloom/spambloom/milter/room"
	"github.com/spambloom/spambloom/milter/spill"
	"github.com/spambloom/spambloom/milter/turns"
	"github.com/spambloom/spambloom/signature"
)

// fieldOverhead keeps many tiny fields within MaxMessage, too. Unit: bytes.
const fieldOverhead = signature.FieldOverhead

// share is the memory each message may hold regardless of the others: the whole of most
// mail, or else its beginning. Unit: bytes.
const share = turns.Small

// Reasons for not keeping or judging a whole message; the metric uses these names.
const (
	overMessage = "message" // Options.MaxMessage
	overMemory  = "memory"  // Options.MaxMemory, and the temporary files
	overTurn    = "turn"    // its sender is set back; the message is kept, but only its beginning is judged
)

const (
	maxMessageID  = 256    // bytes of the Message-ID in the log line
	maxRecipients = 10_000 // that are kept
	maxLogged     = 10     // recipients in the log line
)

// bounded returns an address or name cut to policy.MaxAddress bytes, plus one byte that marks it
// as truncated: a part must not be taken for the whole.
func bounded(s string) string { return strings.Clone(s[:min(len(s), policy.MaxAddress+1)]) }

// message is the content received from MAIL to the end of the body.
type message struct {
	protocol.Known
	policy.Envelope
	countsAll bool       // whether each recipient counts as a sighting
	options   *Options   // those in force when it began
	allowed   []string   // the rule that allows each recipient; nil if none is allowed
	door      string     // the protocol by which it arrived; "": the milter's
	place     netip.Addr // of the door's client or an ordinary user among the turns; invalid: Client and Sender have one
	isUsers   bool       // an ordinary user of this machine sends it: client, proof and queue id are whatever he likes
	id        string     // Message-ID
	forged    header.Forged

	header       []signature.Field
	room         signature.HeaderRoom
	body         spill.Chunks
	rest         *spill.File // what follows body; nil: nothing
	size         int64       // header and body bytes seen
	kept         int64       // header and body bytes held, fieldOverhead included
	oversize     bool        // part of the message was not kept
	cut          bool        // part of the header was not kept
	isLong       bool        // it is oversize because it exceeds Options.MaxMessage
	booked       int64       // all bytes booked in server.held: header, body, recipients
	named, ahead int64       // those of them for recipients, and for the head that a Mail collects or keeps
	beyond       int64       // those of them for fields that had no room in the share
	server       *Server
	holder       *room.Client // for whom it is booked

	signed chan<- signature.Set // receives its signatures, and it is not judged; nil: it is judged

	stage *turns.Stage // of its judgement; nil before that
	short bool         // only its first share bytes are judged
}

// book reserves n bytes of the memory for all messages. It reports whether that many are
// left, for its client, too, or within the message's share.
func (m *message) book(n int64) bool { return m.take(n, n <= m.left()) }

// left returns what is left of the message's share for content. Recipients take at most half of it, and
// fields beyond it take nothing from the body.
func (m *message) left() int64 { return m.share() - (m.booked - m.named - m.beyond) }

// share returns the share for content.
func (m *message) share() int64 { return share - min(m.named, share/2) }

// take reserves n bytes within the message's share or, if they are not, if so many are left.
func (m *message) take(n int64, isWithin bool) bool {
	held, part := &m.server.held, &m.holder.Memory
	if isWithin {
		held.TakeAnyway(part, n)
	} else if !held.Take(part, n, m.options.memory()) {
		return false
	}
	m.booked += n
	return true
}

// unbook returns n booked bytes.
func (m *message) unbook(n int64) {
	m.server.held.Return(&m.holder.Memory, n)
	m.booked -= n
}

// bookPart reserves as much of n bytes as possible.
func (m *message) bookPart(n int64) (booked int64) {
	if m.book(n) {
		return n
	}
	if n = min(n, m.left()); n > 0 && m.book(n) {
		return n
	}
	return 0
}

// release frees what the message held.
func (m *message) release() {
	m.releaseContent()
	m.unbook(m.booked)
	m.disown()
}

// releaseContent frees what the message held, but for its recipients and a Mail's head.
func (m *message) releaseContent() {
	m.unbook(m.booked - m.named - m.ahead)
	m.dropSpilled()
	m.beyond, m.kept, m.header, m.body, m.rest = 0, 0, nil, nil, nil
}

// disown clears the message without freeing its content, which a copy of it now holds.
func (m *message) disown() {
	m.booked, m.named, m.ahead, m.beyond, m.kept, m.header, m.body, m.rest = 0, 0, 0, 0, 0, nil, nil, nil
}

// addRecipient records a recipient. If no memory is left, the recipient is only counted.
func (m *message) addRecipient(address string) {
	m.Count++
	n := int64(len(address)) + fieldOverhead
	if len(address) <= policy.MaxAddress && len(m.Recipients) < maxRecipients && m.take(n, m.booked+n <= share/2) {
		m.named += n
		m.Recipients = append(m.Recipients, strings.Clone(address)) // address is part of a packet that may be much longer
	}
}

// skip returns the reason for not judging the message, or "". The reason may arise at any
// stage; from then on content is not kept.
func (m *message) skip() (reason string) {
	if m.options.SkipAuthenticated && m.Auth != "" {
		return policy.ReasonAuthenticated
	}
	if m.options.rules.IsLocal(m.Client) {
		return policy.ReasonLocal
	}
	if m.options.SkipOversize && m.isLong {
		return policy.ReasonOversize
	}
	return ""
}

func (m *message) addField(name, value string) {
	m.forged.Note(name, m.options.SpamFlag)
	if strings.EqualFold(name, "Message-ID") {
		id := strings.TrimSpace(value)                        // it is often folded
		m.id = strings.Clone(id[:min(len(id), maxMessageID)]) // value may not be kept
	}
	m.size += int64(len(name) + len(value))
	if m.oversize || m.skip() != "" {
		return
	}
	m.header = m.room.Add(m.header, signature.Field{Name: name, Value: value}, m.bookField)
}

// bookField books n bytes for a field, for which the header may take so many quarters of what is kept. It
// reports whether there is room. The head that a Mail collects is not yet in fields.
func (m *message) bookField(n, quarters int64) bool {
	isWithin := m.booked-m.named-m.ahead-m.beyond+n <= m.share()/4*quarters
	switch {
	case m.kept+n > m.options.MaxMessage/4*quarters:
		m.cutHeader(overMessage)
		return false
	case !m.take(n, isWithin):
		m.cutHeader(overMemory)
		return false
	case !isWithin:
		m.beyond += n
	}
	m.kept += n
	return true
}

// cutHeader records that part of the header is not kept.
func (m *message) cutHeader(reason string) {
	if !m.cut {
		m.server.metrics.Truncated.WithLabelValues(reason).Inc()
	}
	m.cut = true
}

// wholeHeader returns the header, or nil if part of it was not kept: a field that must be
// the only one may occur again in the missing part.
func (m *message) wholeHeader() []signature.Field {
	if m.cut {
		return nil
	}
	return m.header
}

// addChunk reports whether more of the body is needed.
func (m *message) addChunk(chunk []byte) (more bool) {
	m.size += int64(len(chunk))
	if m.oversize || m.skip() != "" {
		return false
	}
	text := m.kept - int64(len(m.header))*fieldOverhead // many fields hide no end of the body
	within := chunk[:min(int64(len(chunk)), m.options.MaxMessage-text)]
	n := 0
	if m.rest == nil { // later chunks follow rest, to keep the order
		n = int(m.bookPart(int64(len(within))))
		m.body.Add(within[:n]) // only booked bytes
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

// overflow records that the end of the message is not kept.
func (m *message) overflow(reason string) {
	if m.oversize { // the first reason counts
		return
	}
	m.oversize, m.isLong = true, reason == overMessage
	m.server.metrics.Truncated.WithLabelValues(reason).Inc()
	if m.options.SkipOversize && m.isLong {
		m.releaseContent()
	}
}

// content returns the message for signature.Compute.
func (m *message) content() signature.Message {
	c := m.received()
	if m.Daemon.RepeatsHeader() {
		c.Body = header.Strip(c.Body, c.Header, len(c.Header) < len(m.header) || m.cut)
	}
	return c
}

// received is content, with the body as the MTA sent it.
func (m *message) received() signature.Message {
	if m.short && m.kept > share {
		return m.beginning()
	}
	c := signature.Message{Header: m.header, Truncated: m.oversize}
	if m.rest != nil {
		body, err := m.rest.Join(m.body)
		if err == nil {
			c.Body = body
			return c
		}
		m.server.spillFailed(m.options.Log, err)
		c.Truncated = true
	}
	c.Body = m.body.Bytes()
	return c
}

// from returns who answers for the message.
func (m *message) from() bloomdb.Sender {
	return bloomdb.Sender{From: m.options.rules.Sender(&m.Envelope, m.wholeHeader())}
}

// beginning returns the first share bytes of the message. It reads no temporary file.
func (m *message) beginning() signature.Message {
	c, left, room := signature.Message{}, int64(share), signature.HeaderRoom{}
	book := func(n, quarters int64) bool {
		hasRoom := share-left+n <= share/4*quarters
		if hasRoom {
			left -= n
		}
		return hasRoom
	}
	for _, f := range m.header {
		c.Header = room.Add(c.Header, f, book)
	}
	c.Body, c.Truncated = m.body.Beginning(int(left)), m.oversize || m.rest != nil || m.body.Size() > left // or only fields are left out
	return c
}

// clientName returns the client for the log. Mail of a door was submitted locally.
func (m *message) clientName() string {
	if m.door == "" {
		return m.Client.String()
	}
	return localhost.String()
}

// sightings returns the number of times that the message is counted.
func (m *message) sightings() uint32 {
	if !m.countsAll {
		return 1
	}
	return m.Different()
}

// log writes the one log line of the message.
func (m *message) log(d policy.Decision, took time.Duration) {
	kinds, ids := make([]string, len(d.Signatures)), make([]string, len(d.Signatures))
	for i, s := range d.Signatures {
		kinds[i], ids[i] = s.Kind.String(), s.ID()
	}
	attrs := []any{
		slog.String("queue_id", m.QueueID),
		slog.String("message_id", m.id),
		slog.String("listener", m.Listener),
		slog.String("client", m.clientName()),
		slog.String("from", m.Sender),
		slog.Any("to", m.Recipients[:min(len(m.Recipients), maxLogged)]),
		slog.Uint64("recipients", uint64(m.Count)),
		slog.String("verdict", string(d.Verdict)),
		slog.String("action", string(d.Action)),
		slog.String("reason", d.Reason),
		slog.String("class", header.ClassName(d)),
		slog.String("kinds", strings.Join(kinds, ",")),
		slog.String("ids", strings.Join(ids, ",")),
		slog.Uint64("count", d.Count),
		slog.Int("sites", d.Sites),
		slog.Int64("size", m.size),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	}
	if m.door != "" {
		attrs = append(attrs, slog.String("door", m.door))
	}
	if d.Policy != "" || len(d.Milder) > 0 {
		attrs = append(attrs, slog.String("policy", d.PolicyName()), slog.String("mildest_of", strings.Join(d.Milder, ", ")))
	}
	if m.forged.ExceedsLimit() {
		attrs = append(attrs, slog.Int("forged", m.forged.Count()))
	}
	if d.Short {
		attrs = append(attrs, slog.Bool("short", true))
	}
	if d.Spared != "" {
		attrs = append(attrs, slog.String("spared", d.Spared))
	}
	if d.SparedBy != "" {
		attrs = append(attrs, slog.String("spared_by", d.SparedBy))
	}
	if d.Limits != 0 {
		attrs = append(attrs, slog.String("limits", strings.Join(d.Limits.Names(), ",")))
	}
	m.options.Log.Info("message", attrs...)
}
