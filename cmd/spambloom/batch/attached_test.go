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
