package guard

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/words"
)

// Guard is a class of mail that is nearly the same from many senders or to many
// recipients, and that one mistaken report must not list. Such a message signs exactly,
// by its body and attachments. Its text does not sign, and its sketch is only asked. A
// spammer gains nothing by such words in the copies of a spam that was reported without
// them.
type Guard uint8

const (
	None       Guard = iota
	Code             // a code for one use
	Invitation       // a calendar invitation, or the answer to one
	Bounce           // a mail system's notice that is no multipart/report
	Receipt          // "your message was read"
	Away             // an automatic reply
	Challenge        // "confirm that you are a person"
	List             // a mailing list's own mail: reminders, confirmations
)

// String returns the guard's name in figures and tests.
func (g Guard) String() string {
	return [...]string{"none", "code", "invitation", "bounce", "receipt", "away", "challenge", "list"}[g]
}

// The lengths of normalised text, in bytes, up to which each guard applies. Longer mail
// has words of its own.
const (
	maxCodeText       = 1000
	maxInvitationText = 1500
	maxMeetingText    = 4000 // of a calendar object beside a text: how to join may name the telephone numbers of all countries
	maxReceiptText    = 600
	maxAwayText       = 1500
	maxChallengeText  = 2000
	maxListText       = 3000
	noticeStart       = 400 // of the text, in which bounces, challenges and lists identify themselves
)

// Message is the part of a message that the guards read.
type Message struct {
	Header     []mail.Field
	Text       []byte      // the visible text, normalised
	IsCalendar bool        // a part is a calendar object that asks or answers
	HasFile    bool        // an attachment signs
	ShowsCode  func() bool // reports whether a code stands in the visible text
}

// Of returns the guard that covers a message. Its visible text must contain the words, as
// anyone can write a header field.
func Of(m Message) Guard {
	has := func(p *words.Phrases) bool { return p.Has(m.Text) }
	begins := func(p *words.Phrases) bool { return p.Has(startOf(m.Text)) }
	switch n := len(m.Text); {
	case n == 0:
	case m.IsCalendar && n <= maxInvitationText && has(invitationWords()):
		return Invitation
	case isSentBy(m.Header, mailSystems...) && begins(bounceWords()):
		return Bounce
	case n <= maxReceiptText && has(receiptWords()):
		return Receipt
	case n <= maxAwayText && isReplyByProgram(m.Header) && has(awayWords()):
		return Away
	case m.HasFile:
	case n <= maxChallengeText && begins(challengeWords()):
		return Challenge
	case n <= maxListText && (begins(listWords()) || isSentBy(m.Header, listPrograms...) && has(confirmWords())):
		return List
	case n <= maxCodeText && has(codeWords()) && has(codeHints()) && m.ShowsCode():
		return Code
	}
	return None
}

// mailSystems are names of mail systems in From. The last one is Exchange's, everywhere.
var mailSystems = []string{"mailer-daemon", "postmaster", "mail delivery s", "microsoftexchange329e71ec88ae4615bbc36ab6ce41109e"}

// IsNotice reports whether a multipart/report with that text is one: a mail system's name or words, or a
// receipt. Whatever its type, another one is a message like any other.
func IsNotice(header []mail.Field, text []byte) bool {
	return isSentBy(header, mailSystems...) || bounceWords().Has(startOf(text)) ||
		len(text) <= maxReceiptText && (receiptWords().Has(text) || readWords().Has(text))
}

// IsMeeting reports whether the text of a calendar object is that of a meeting, most of which programs write.
func IsMeeting(text []byte) bool { return len(text) <= maxMeetingText && invitationWords().Has(text) }

// startOf returns the text in which a notice identifies itself.
func startOf(text []byte) []byte { return text[:min(len(text), noticeStart)] }

// isSentBy reports whether From names one of these programs, which are in lower case.
func isSentBy(header []mail.Field, programs ...string) bool {
	from := strings.ToLower(mail.Value(header, "From"))
	for _, p := range programs {
		if strings.Contains(from, p) {
			return true
		}
	}
	return false
}

// isReplyByProgram reports whether a message is an automatic reply, by the fields that
// vacation programs add (RFC 3834 section 5 and older habits), or by its subject.
func isReplyByProgram(header []mail.Field) bool {
	switch {
	case strings.HasPrefix(strings.ToLower(mail.Value(header, "Auto-Submitted")), "auto-"),
		mail.Value(header, "X-Autoreply") != "", mail.Value(header, "X-Autorespond") != "", mail.Value(header, "X-Autoresponder") != "",
		strings.EqualFold(mail.Value(header, "Precedence"), "auto_reply"):
		return true
	}
	subject := strings.ToLower(mail.Subject(header))
	for _, prefix := range awaySubjects {
		if strings.HasPrefix(subject, prefix) {
			return true
		}
	}
	return false
}

// HasCode reports whether text contains a word that is a code, or two groups of three
// digits.
func HasCode(text []byte) bool {
	digits := 0 // of the word before, if it has only digits
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

// isNoCode reports whether r stands between words. Scripts without blanks write a code
// next to letters.
func isNoCode(r rune) bool {
	return r >= utf8.RuneSelf || r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// isCode reports whether word has 4 to 8 digits, the same in groups, or 5 to 10 capital
// letters and digits mixed, with at least two digits. A year is none.
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

// IsCalendarMethod reports whether content is a calendar object that asks or answers (RFC
// 5546).
func IsCalendarMethod(content []byte) bool {
	head := bytes.ToUpper(content[:min(len(content), 4096)])
	return bytes.Contains(head, []byte("BEGIN:VCALENDAR")) && bytes.Contains(head, []byte("METHOD:"))
}
