package signature_test

import (
	"fmt"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// A spam in the form of a mail system's report is found again, with other words beside the report, too.
// Notices of mail systems are not listed with each other.
func TestSpamAsReport(t *testing.T) {
	const letter = "Content-Type: message/rfc822\n\n" + letterText
	report := func(from, text, behind string) signature.Set {
		return signature.Compute(signature.Parse([]byte("From: " + from + "\n" + multi("report", "\n"+text, behind))))
	}
	for name, behind := range map[string]string{
		"empty": "Content-Type: message/delivery-status\n\n", "receipt": "Content-Type: message/disposition-notification\n\nDisposition: x\n", "letter": letter,
	} {
		spam := func(copy int) signature.Set {
			return report("a@b.example", fmt.Sprintf("Dear customer number %d, ", copy)+loanOffer, behind)
		}
		if kinds := matchesOf(spam(1), spam(2)); kinds == nil {
			t.Errorf("%s: another copy is not found: %+v", name, spam(1))
		}
		if kinds := matchesOf(spam(1), signature.Compute(signature.Parse([]byte("From: c@d.example\n"+letterText)))); kinds != nil {
			t.Errorf("%s: the newsletter is listed by %v", name, kinds)
		}
	}
	const queued = "This message remains in the queue of the server, which will try again for two more days. There is nothing to do for you now, " +
		"and nobody has lost anything. We ask the users of this old server for patience while its new disks arrive from the factory by ship. "
	for from, text := range map[string]string{
		"MAILER-DAEMON@mx.example": queued, "Postmaster <x@mx.example>": queued, "x@mx.example": "This is the mail system at host mx.example. " + queued,
	} {
		notice := func(recipient string) signature.Set {
			return report(from, text+recipient, "Content-Type: message/delivery-status\n\nAction: delayed\n")
		}
		if kinds := matchesOf(notice("ann"), notice("bob")); kinds != nil {
			t.Errorf("%s: another notice is listed by %v", from, kinds)
		}
	}
}

// Receipts of Outlook come from the reader's own address and name the message between their words, and Exchange
// reports in all languages. They are not listed with each other.
func TestReportsOfOutlook(t *testing.T) {
	const exchange = "Microsoft Outlook <MicrosoftExchange329e71ec88ae4615bbc36ab6ce41109e@mx.example>"
	for _, tt := range []struct{ name, from, text string }{
		{"read, English", "ann@a.example", "Your message\n\n   To: %s\n   Subject: %s\n   Sent: Monday, November 2, 2026 10:14:00 AM (UTC-05:00) Eastern Time (US & Canada)\n\n was read on Monday, November 2, 2026 11:15:00 AM (UTC-05:00) Eastern Time (US & Canada).\n"},
		{"read, German", "ann@a.example", "Ihre Nachricht\n\n   An: %s\n   Betreff: %s\n   Gesendet: Montag, 2. November 2026 10:14:00 (UTC+01:00) Amsterdam, Berlin, Bern, Rom, Stockholm, Wien\n\n wurde am Montag, 2. November 2026 11:15:00 (UTC+01:00) Amsterdam, Berlin, Bern, Rom, Stockholm, Wien gelesen.\n"},
		{"read, French", "ann@a.example", "Votre message\n\n   À : %s\n   Sujet : %s\n   Date : lundi 2 novembre 2026 10:14:00 (UTC+01:00) Bruxelles, Copenhague, Madrid, Paris\n\n a été lu le lundi 2 novembre 2026 11:15:00 (UTC+01:00) Bruxelles, Copenhague, Madrid, Paris.\n"},
		{"not delivered, German", exchange, "Fehler bei der Nachrichtenzustellung an folgende Empfänger oder Verteilerlisten:\n\n%s\n%s\nDie eingegebene E-Mail-Adresse konnte nicht gefunden werden. Überprüfen Sie die E-Mail-Adresse des Empfängers, und versuchen Sie, die Nachricht erneut zu senden. Wenn das Problem weiterhin besteht, wenden Sie sich an den Helpdesk.\n"},
	} {
		sign := func(to, subject string) signature.Set {
			return signature.Compute(signature.Parse([]byte("From: " + tt.from + "\n" + multi("report", "Content-Type: text/plain; charset=utf-8\n\n"+fmt.Sprintf(tt.text, to, subject),
				"Content-Type: message/disposition-notification\n\nDisposition: x\n"))))
		}
		if kinds := matchesOf(sign("Carl Smith", "Repair of the roof"), sign("Doris Huber", "Minutes of the meeting")); kinds != nil {
			t.Errorf("%s: another one is listed by %v", tt.name, kinds)
		}
	}
}
