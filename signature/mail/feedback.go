package mail

import "strings"

// maxFeedback bounds what is read of the fields of a feedback report, in bytes.
const maxFeedback = 64 << 10

// Feedback is a complaint about a message in the Abuse Reporting Format (RFC 5965): a
// multipart/report of which the second part says what sort of complaint it is, and
// the third one is the message, or its header alone.
type Feedback struct {
	Type     string  // Feedback-Type, lower case: abuse, fraud, virus, not-spam, other
	Original Message // that is complained about; meaningless where HeaderOnly
	// HeaderOnly: the body of the original was left out (text/rfc822-headers), or
	// the original altogether.
	HeaderOnly bool
}

// AsFeedback reads m as a feedback report; ok is false where it is none. A bounce, which
// is a multipart/report too, is none.
func AsFeedback(m Message) (f Feedback, ok bool) {
	if messageMIME(m.Header).MediaType != "multipart/report" {
		return Feedback{}, false
	}
	f.HeaderOnly = true
	walk(m, false, func(l Leaf) {
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

// feedbackType finds the field Feedback-Type (RFC 5965, section 3.1); of several the
// first counts.
func feedbackType(fields []byte) string {
	s := fieldScanner{data: fields[:min(len(fields), maxFeedback)]}
	for {
		name, value, ok := s.next()
		if !ok {
			return ""
		}
		if strings.EqualFold(string(name), "Feedback-Type") {
			return strings.ToLower(strings.TrimSpace(string(value)))
		}
	}
}

// Attached returns the messages attached to m as message/rfc822, as mail
// programs forward them. Those inside an attached message stay there. The
// messages in a multipart/report (RFC 6522) and a multipart/digest (RFC 2046
// section 5.1.5) are not attached: a mail system returned the one to its
// sender, and a mailing list bundled the others.
func Attached(m Message) []Message {
	var attached []Message
	walk(m, false, func(l Leaf) {
		if !isMessage(l.mimeHeader) || l.IsReport || l.IsDigest {
			return
		}
		inner := Parse(decodeTransfer(nil, l.raw, l.encoding))
		inner.Truncated = l.IsCut
		attached = append(attached, inner)
	})
	return attached
}
