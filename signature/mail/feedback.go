package mail

import "strings"

// maxFeedback bounds the fields of a feedback report that are read, in bytes.
const maxFeedback = 64 << 10

// Feedback is a complaint about a message in the Abuse Reporting Format (RFC 5965): a
// multipart/report whose second part names the sort of complaint. Its third part is the
// message, or the message's header.
type Feedback struct {
	Type     string  // Feedback-Type, lower case: abuse, fraud, virus, not-spam, other
	Original Message // the message complained about; meaningless if HeaderOnly
	// HeaderOnly is set if the report lacks the body of the original
	// (text/rfc822-headers), or all of it.
	HeaderOnly bool
}

// AsFeedback reads m as a feedback report; ok is false if it is none. A bounce, which is
// a multipart/report too, is none.
func AsFeedback(m Message) (f Feedback, ok bool) {
	if messageMIME(m.Header, nil).MediaType != "multipart/report" {
		return Feedback{}, false
	}
	f.HeaderOnly = true
	walk(m, false, nil, func(l Leaf) {
		switch {
		case l.MediaType == "message/feedback-report" && !ok:
			f.Type, ok = feedbackType(decodeTransfer(nil, l.raw, l.encoding)), true
		case isMessage(l.mimeHeader) && f.HeaderOnly:
			f.Original = Parse(decodeTransfer(nil, l.raw, l.encoding))
			f.Original.Truncated, f.HeaderOnly = l.IsCut, false
		}
	})
	return f, ok
}

// feedbackType returns the first field Feedback-Type (RFC 5965, section 3.1).
func feedbackType(fields []byte) string {
	s := fieldScanner{data: fields[:min(len(fields), maxFeedback)]}
	for name, value, ok := s.next(); ok; name, value, ok = s.next() {
		if strings.EqualFold(string(name), "Feedback-Type") {
			return strings.ToLower(strings.TrimSpace(string(value)))
		}
	}
	return ""
}

// Attached returns the messages attached to m as message/rfc822, as mail programs forward
// them. Those inside an attached message are not returned. Messages in a multipart/report
// (RFC 6522) or a multipart/digest (RFC 2046 section 5.1.5) are not attached: a mail
// system returned them to the sender, or a mailing list bundled them.
func Attached(m Message) []Message {
	var attached []Message
	walk(m, false, nil, func(l Leaf) {
		if !isMessage(l.mimeHeader) || l.IsReport || l.IsDigest {
			return
		}
		inner := Parse(decodeTransfer(nil, l.raw, l.encoding))
		inner.Truncated = l.IsCut
		attached = append(attached, inner)
	})
	return attached
}

// EachText visits the decoded parts of m of type text/*, without those in attached messages. Their
// charset is not decoded.
func EachText(m Message, visit func(mediaType string, text []byte)) {
	walk(m, false, nil, func(l Leaf) {
		if strings.HasPrefix(l.MediaType, "text/") {
			visit(l.MediaType, l.Content(nil))
		}
	})
}
