package signature

import (
	"bytes"
	"mime"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A guard knows mail that is nearly the same from many senders or to many
// recipients, and that nobody wants to lose to one report by mistake. Such a message
// signs exactly, by its body and attachments; its text does not sign, and its sketch
// is only asked: a spammer gains nothing by such words in the copies of what was
// reported without them.
type guard uint8

const (
	guardNone       guard = iota
	guardCode             // a code for one use
	guardInvitation       // a calendar invitation, or the answer to one
	guardBounce           // a mail system's notice that is no multipart/report
	guardReceipt          // "your message was read"
	guardAway             // an automatic reply
	guardChallenge        // "confirm that you are a person"
	guardList             // a mailing list's own mail: reminders, confirmations
)

// String is the guard's name in figures and tests.
func (g guard) String() string {
	return [...]string{"none", "code", "invitation", "bounce", "receipt", "away", "challenge", "list"}[g]
}

// Lengths of normalised text, in bytes, up to which mail can be such: longer mail
// has words of its own.
const (
	maxCodeText       = 1000
	maxInvitationText = 1500
	maxReceiptText    = 600
	maxAwayText       = 1500
	maxChallengeText  = 2000
	maxListText       = 3000
	noticeStart       = 400 // of text, in which bounces, challenges and lists say what they are
)

// guardOf tells what a message is, of which text is the visible text: that must say
// so, as a header field is soon written.
func (c *computer) guardOf(m Message, text []byte) guard {
	says := func(p *phrases) bool { return p.has(text) }
	begins := func(p *phrases) bool { return p.has(startOf(text)) }
	switch n := len(text); {
	case n == 0:
	case c.calendar && n <= maxInvitationText && says(invitationWords()):
		return guardInvitation
	case isSentBy(m.Header, "mailer-daemon", "postmaster", "mail delivery s") && begins(bounceWords()):
		return guardBounce
	case n <= maxReceiptText && says(receiptWords()):
		return guardReceipt
	case n <= maxAwayText && isReplyByProgram(m.Header) && says(awayWords()):
		return guardAway
	case len(c.files) > 0:
	case n <= maxChallengeText && begins(challengeWords()):
		return guardChallenge
	case n <= maxListText && (begins(listWords()) || isSentBy(m.Header, listPrograms...) && says(confirmWords())):
		return guardList
	case n <= maxCodeText && says(codeWords()) && says(codeHints()) && c.showsCode():
		return guardCode
	}
	return guardNone
}

// startOf is the text in which a notice says what it is.
func startOf(text []byte) []byte { return text[:min(len(text), noticeStart)] }

// field returns the value of the first header field of a name, unfolded.
func field(header []Field, name string) string {
	for _, f := range header {
		if f.is(name) {
			return strings.TrimSpace(unfold.Replace(f.Value))
		}
	}
	return ""
}

// isSentBy tells whether From names one of these programs, in lower case.
func isSentBy(header []Field, programs ...string) bool {
	from := strings.ToLower(field(header, "From"))
	for _, p := range programs {
		if strings.Contains(from, p) {
			return true
		}
	}
	return false
}

// isReplyByProgram knows automatic replies by what vacation programs put into the
// header (RFC 3834 section 5 and older habits), or by their subject.
func isReplyByProgram(header []Field) bool {
	switch {
	case strings.HasPrefix(strings.ToLower(field(header, "Auto-Submitted")), "auto-"),
		field(header, "X-Autoreply") != "", field(header, "X-Autorespond") != "", field(header, "X-Autoresponder") != "",
		strings.EqualFold(field(header, "Precedence"), "auto_reply"):
		return true
	}
	subject := strings.ToLower(subjectOf(header))
	for _, prefix := range awaySubjects {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}

// maxSubject bounds, in bytes, what is read of a subject.
const maxSubject = 1000

// subjectOf decodes the subject (RFC 2047) as far as its charset is known.
func subjectOf(header []Field) string {
	raw := field(header, "Subject")
	raw = raw[:min(len(raw), maxSubject)]
	if decoded, err := new(mime.WordDecoder).DecodeHeader(raw); err == nil {
		return decoded
	}
	return raw
}

// maxCodeSource bounds the text, in bytes and markup included, that is searched for
// a code.
const maxCodeSource = 256 << 10

// showsCode tells whether a code stands in the visible text.
func (c *computer) showsCode() bool {
	for i := range c.texts {
		t := &c.texts[i]
		if t.aside || t.end > maxCodeSource || c.isReplaced(t) {
			continue
		}
		c.work.spend(t.end - t.start)
		if hasCode(c.show(t).text) {
			return true
		}
	}
	return false
}

// hasCode looks for a word that is a code, or for two groups of three digits.
func hasCode(text []byte) bool {
	digits := 0 // of the word before, where that is nothing else
	for word := range bytes.FieldsFuncSeq(text, isNoCode) {
		word = bytes.Trim(word, "-")
		if isCode(word) {
			return true
		}
		n := 0
		if isDigits(word) {
			n = len(word)
		}
		if n == 3 && digits == 3 {
			return true
		}
		digits = n
	}
	return false
}

// isNoCode are the characters between words. Scripts without blanks write a code
// next to letters.
func isNoCode(r rune) bool {
	return r >= utf8.RuneSelf || r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// isCode tells 4 to 8 digits, the same in groups, and 5 to 10 capital letters and
// digits mixed, with at least two digits. A year is none.
func isCode(word []byte) bool {
	digits, letters, hyphens := 0, 0, 0
	for _, c := range word {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case 'A' <= c && c <= 'Z':
			letters++
		case c == '-':
			hyphens++
		default:
			return false
		}
	}
	if letters == 0 && digits == 4 && hyphens == 0 {
		return !bytes.HasPrefix(word, []byte("19")) && !bytes.HasPrefix(word, []byte("20"))
	}
	if hyphens > 2 || digits < 2 {
		return false
	}
	return letters == 0 && 4 <= digits && digits <= 8 || letters > 0 && 5 <= digits+letters && digits+letters <= 10
}

func isDigits(word []byte) bool {
	return len(word) > 0 && !bytes.ContainsFunc(word, func(r rune) bool { return r < '0' || r > '9' })
}

// isCalendarMethod tells a calendar object that asks or answers (RFC 5546).
func isCalendarMethod(content []byte) bool {
	head := bytes.ToUpper(content[:min(len(content), 4096)])
	return bytes.Contains(head, []byte("BEGIN:VCALENDAR")) && bytes.Contains(head, []byte("METHOD:"))
}
