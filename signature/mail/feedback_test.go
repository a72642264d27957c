package mail_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/mail"
)

func TestAsFeedback(t *testing.T) {
	const (
		head     = "MIME-Version: 1.0\nContent-Type: multipart/report; report-type=feedback-report;\n boundary=b\n\n"
		note     = "--b\nContent-Type: text/plain\n\nThis is an abuse report.\n"
		about    = "--b\nContent-Type: message/feedback-report\n\nFeedback-Type: Abuse \nUser-Agent: X/1\nVersion: 1\n"
		original = "--b\nContent-Type: message/rfc822\n\nSubject: inner\n\nhello\n"
		header   = "--b\nContent-Type: text/rfc822-headers\n\nSubject: inner\n"
	)
	for name, c := range map[string]struct {
		raw        string
		ok         bool
		typ, body  string
		headerOnly bool
	}{
		"arf":              {head + note + about + original + "--b--\n", true, "abuse", "hello", false},
		"header only":      {head + note + about + header + "--b--\n", true, "abuse", "", true},
		"nothing returned": {head + note + about + "--b--\n", true, "abuse", "", true},
		"cut":              {head + note + about + original, true, "abuse", "hello", false},
		"no type":          {head + note + strings.Replace(about, "Feedback-Type", "X-Type", 1) + original + "--b--\n", true, "", "hello", false},
		"folded, encoded": {head + note + "--b\nContent-Type: message/feedback-report\nContent-Transfer-Encoding: base64\n\nRmVlZGJhY2stVHlwZToNCiBmcmF1ZA0K\n" +
			"--b\nContent-Type: message/rfc822\nContent-Transfer-Encoding: base64\n\nU3ViamVjdDogaW5uZXIKCmhlbGxvCg==\n--b--\n", true, "fraud", "hello", false},
		"bounce": {head + note + "--b\nContent-Type: message/delivery-status\n\nStatus: 5.1.1\n" + original + "--b--\n", false, "", "", false},
		"forwarded, with a feedback report in it": {"Content-Type: multipart/mixed; boundary=b\n\n" + about + original + "--b--\n", false, "", "", false},
		"message": {"Subject: x\n\nhello\n", false, "", "", false},
	} {
		f, ok := mail.AsFeedback(mail.Parse([]byte(c.raw)))
		if ok != c.ok || ok && (f.Type != c.typ || f.HeaderOnly != c.headerOnly || strings.TrimSpace(string(f.Original.Body)) != c.body) {
			t.Errorf("%s: %q %q header only %v, %v", name, f.Type, f.Original.Body, f.HeaderOnly, ok)
		}
	}
}

// FuzzAsFeedback: all that is read of a message is a part of it.
func FuzzAsFeedback(f *testing.F) {
	f.Add([]byte("Content-Type: multipart/report; boundary=b\n\n--b\nContent-Type: message/feedback-report\n\nFeedback-Type: abuse\n\n--b\nContent-Type: message/rfc822\n\nSubject: x\n\nhello\n--b--\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		f, ok := mail.AsFeedback(mail.Parse(raw))
		if len(f.Type)+len(f.Original.Body) > 2*len(raw) || !ok && f.Type != "" {
			t.Fatalf("%+v of %d bytes", f, len(raw))
		}
	})
}
