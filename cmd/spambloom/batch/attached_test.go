package batch

import (
	"errors"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// TestManyAttached is the attack "many attached": a user sends one mail with thousands of tiny
// messages to the report address. It is refused as a whole, so that it does not keep the reports
// of others waiting.
func TestManyAttached(t *testing.T) {
	const part = "--b\nContent-Type: message/rfc822\n\nFrom: a@example.org\n\nhello\n"
	for _, n := range []int{1, maxAttached, maxAttached + 1, 5000} {
		mail := "From: anna@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n" + strings.Repeat(part, n) + "--b--\n"
		used, refused := 0, 0
		for _, err := range attachedTo(Input{Name: "-", Message: signature.Parse([]byte(mail))}) {
			switch {
			case errors.Is(err, errManyAttached):
				refused++
			case err != nil:
				t.Error(err)
			default:
				used++
			}
		}
		if n > maxAttached && (used != 0 || refused != 1) || n <= maxAttached && (used != n || refused != 0) {
			t.Errorf("of %d messages %d are used, %d refused", n, used, refused)
		}
	}
}

// An outsider has a program answer to the report address, with a newsletter attached: a list that rejects a post, or an
// automatic reply. Nothing of that is reported. What a user forwards is, and so is a feedback report.
func TestAnswersOfPrograms(t *testing.T) {
	const rest = "From: list-bounces@example.org\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nYour post was rejected.\n" +
		"--b\nContent-Type: message/rfc822\n\nFrom: news@example.net\n\nThe newsletter\n--b--\n"
	for header, refused := range map[string]bool{
		"Precedence: bulk\n": true, "Precedence: Junk\n": true, "Auto-Submitted: auto-replied (vacation)\n": true, "auto-submitted : auto-generated\n": true, "X-Autoreply: yes\n": true,
		"": false, "Auto-Submitted: no\n": false, "Precedence: first-class\n": false,
	} {
		n := 0
		for _, err := range attachedTo(Input{Name: "-", Message: signature.Parse([]byte(header + rest))}) {
			if n++; errors.Is(err, errAutomatic) != refused || !refused && err != nil {
				t.Errorf("%q: %v", header, err)
			}
		}
		if n != 1 {
			t.Errorf("%q: %d messages", header, n)
		}
	}
	const feedback = "Auto-Submitted: auto-generated\nContent-Type: multipart/report; report-type=feedback-report; boundary=b\n\n--b\n\nreport\n" +
		"--b\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\nUser-Agent: a/1\nVersion: 1\n\n--b\nContent-Type: message/rfc822\n\nFrom: a@example.net\n\nspam\n--b--\n"
	for _, err := range attachedTo(Input{Name: "-", Message: signature.Parse([]byte(feedback))}) {
		if err != nil {
			t.Error(err)
		}
	}
}
