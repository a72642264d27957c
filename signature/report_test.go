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
