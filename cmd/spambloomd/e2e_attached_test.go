package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/reporting"
	"github.com/spambloom/spambloom/signature"
)

// What a sender attaches to a spam must not decide what a user's word lists.

// carrying is a spam with a message attached to it.
func carrying(spam, attached string) string {
	return strings.Replace(attachedTo(spam, attached), "Subject: Fwd: this one", "Subject: You have won", 1)
}

// verdictOf asks for the verdict on a whole mail.
func (s *site) verdictOf(mail string) string {
	s.t.Helper()
	answer, err := s.client().Check(s.t.Context(), reporting.NewRequest(signature.Compute(signature.Parse([]byte(mail)))))
	if err != nil {
		s.t.Fatal(err)
	}
	return answer.Verdict
}

// Moved into Junk and out of it in a real Dovecot, the mail itself is reported and
// revoked: neither an attached "ok" shields it, nor is a newsletter listed that it
// carries.
func TestDovecotMessageInHand(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).start()
	d := newDovecot(t, s).start()
	c := d.login(anna)
	newsletter := message(text())
	shielded, carrier := carrying(text(), message("ok\r\n")), carrying(text(), newsletter)
	for i, mail := range []string{shielded, carrier} {
		c.put("INBOX", mail)
		c.do("SELECT INBOX")
		c.do("MOVE 1 Junk")
		if got := s.verdictOf(mail); got != "spam" {
			t.Errorf("mail %d, moved into Junk: %s, want spam", i, got)
		}
		if got := s.verdictOf(newsletter); got != "clean" {
			t.Errorf("the newsletter: %s, want clean", got)
		}
		c.do("SELECT Junk")
		c.do("MOVE 1 INBOX")
		if got := s.verdictOf(mail); got != "clean" {
			t.Errorf("mail %d, moved back: %s, want clean", i, got)
		}
		c.empty("INBOX")
	}
	if strings.Contains(d.log(), "spambloom-imap") {
		t.Errorf("Dovecot's log:\n%s", d.log())
	}
}

// feedbackOn is a provider's complaint about a message.
func feedbackOn(mail string) string {
	return "From: loop@provider.example\r\nTo: complaints@example.test\r\nSubject: complaint\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/report; report-type=feedback-report; boundary=x\r\n\r\n" +
		"--x\r\nContent-Type: text/plain\r\n\r\n" + text() + "\r\n" +
		"--x\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nVersion: 1\r\n\r\n" +
		"--x\r\nContent-Type: message/rfc822\r\n\r\n" + mail + "\r\n--x--\r\n"
}

// The address for feedback reports of contrib/postfix.md takes the message that is
// complained about, and only from the networks that are let in.
func TestFeedbackAddress(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	spam := text()
	h.installFeedback()
	h.openFeedback("192.0.2.0/24")
	if err := h.forward("", "complaints@example.test", feedbackOn(message(spam))); err == nil {
		t.Error("a stranger's feedback report is taken")
	}
	h.openFeedback("127.0.0.0/8")
	if err := h.forward("", "complaints@example.test", feedbackOn(message(spam))); err != nil {
		t.Fatal(err)
	}
	h.heardOf("report feedback")
	if got := h.s.check(t, spam).Verdict; got != "spam" {
		t.Errorf("the message complained about: %s", got)
	}
}

// installFeedback makes the address for feedback reports of the guide.
func (h *reportHost) installFeedback() {
	h.t.Helper()
	etc := filepath.Join(h.dir, "etc")
	master, err := os.ReadFile(filepath.Join(etc, "master.cf"))
	if err != nil {
		h.t.Fatal(err)
	}
	program := regexp.MustCompile(`argv=.*/spambloom-address`).FindString(string(master)) // with this test's environment
	guide := strings.NewReplacer("example.org", "example.test", "/etc/postfix", etc,
		"user=spambloom-report:spambloom", fmt.Sprintf("user=%s:%s", reportUser, controlGroup),
		"argv=/usr/local/lib/spambloom/spambloom-address", program)
	for name, first := range map[string]string{
		"master.cf": "spambloom-feedback unix", "main.cf": "smtpd_restriction_classes",
		"transport": "complaints@example.org  spambloom-feedback", "report_access": "complaints@example.org  feedback_senders",
	} {
		appendTo(h.t, filepath.Join(etc, name), guide.Replace(pageBlock(h.t, "postfix.md", first)))
	}
	for _, name := range []string{"transport", "report_access"} {
		if r := execute(h.t, "", "/usr/sbin/postmap", "-c", etc, filepath.Join(etc, name)); r.code != 0 {
			h.t.Fatalf("postmap: %+v", r)
		}
	}
}

// openFeedback lets a network write to that address.
func (h *reportHost) openFeedback(network string) {
	h.t.Helper()
	block := strings.Replace(pageBlock(h.t, "postfix.md", "192.0.2.0/24"), "192.0.2.0/24", network, 1)
	write(h.t, filepath.Join(h.dir, "etc/feedback_senders"), block)
	h.stop()
	h.run("start")
}
