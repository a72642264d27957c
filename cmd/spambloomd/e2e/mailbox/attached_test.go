package mailbox

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/dovecot"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/signature"
)

// An attachment added by a spammer must not change what a user's report lists.

// carrying is a spam with a message attached to it.
func carrying(spam, attached string) string {
	return strings.Replace(attachedTo(spam, attached), "Subject: Fwd: this one", "Subject: You have won", 1)
}

// verdictOf returns the verdict on a whole mail.
func verdictOf(s *harness.Site, mail string) string {
	s.T.Helper()
	answer, err := client.Post(s.T.Context(), s.Client(), v1.Check, api.NewRequest(signature.Compute(signature.Parse([]byte(mail)))))
	if err != nil {
		s.T.Fatal(err)
	}
	return answer.Verdict
}

// Moving a mail into and out of Junk in a real Dovecot reports and revokes the mail itself:
// an attached "ok" does not shield it, and a newsletter attached to it is not listed.
func TestDovecotMessageInHand(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s).Start()
	c := d.Login(anna)
	newsletter := harness.Message(harness.Text())
	shielded, carrier := carrying(harness.Text(), harness.Message("ok\r\n")), carrying(harness.Text(), newsletter)
	for i, mail := range []string{shielded, carrier} {
		c.Put("INBOX", mail)
		c.Do("SELECT INBOX")
		c.Do("MOVE 1 Junk")
		if got := verdictOf(s, mail); got != "spam" {
			t.Errorf("mail %d, moved into Junk: %s, want spam", i, got)
		}
		if got := verdictOf(s, newsletter); got != "clean" {
			t.Errorf("the newsletter: %s, want clean", got)
		}
		c.Do("SELECT Junk")
		c.Do("MOVE 1 INBOX")
		if got := verdictOf(s, mail); got != "clean" {
			t.Errorf("mail %d, moved back: %s, want clean", i, got)
		}
		c.Empty("INBOX")
	}
	if strings.Contains(d.Log(), "spambloom-imap") {
		t.Errorf("Dovecot's log:\n%s", d.Log())
	}
}

// feedbackOn is a provider's complaint about a message.
func feedbackOn(mail string) string {
	return "From: loop@provider.example\r\nTo: complaints@example.test\r\nSubject: complaint\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/report; report-type=feedback-report; boundary=x\r\n\r\n" +
		"--x\r\nContent-Type: text/plain\r\n\r\n" + harness.Text() + "\r\n" +
		"--x\r\nContent-Type: message/feedback-report\r\n\r\nFeedback-Type: abuse\r\nVersion: 1\r\n\r\n" +
		"--x\r\nContent-Type: message/rfc822\r\n\r\n" + mail + "\r\n--x--\r\n"
}

// The address for feedback reports of contrib/postfix.md accepts the message in the
// complaint, but only from permitted networks: not from a program of this machine either, such as a
// user's forwarding, to which no restriction of smtpd applies, nor from a user who logs in. So it is,
// too, where a content filter hands mail back by SMTP, with or without the client's address.
func TestFeedbackAddress(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	provider, other := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
	h.installFeedback()
	h.openFeedback("127.0.0.9/32")
	filter := h.installFilter()
	h.submission = h.installSubmission()
	for i, setting := range []string{"", filter + "yes", filter + "no"} {
		testenv.Eventually(t, "no mail waits", func() bool { return h.Queued() == 0 })
		h.configure(setting)
		spam := harness.Text()
		report := feedbackOn(harness.Message(spam))
		h.client.LocalAddr = other
		if err := h.forward("", "complaints@example.test", report); err == nil {
			t.Error("a feedback report from a foreign network is accepted")
		}
		h.fromThisMachine("complaints@example.test", report)
		testenv.Check(t, h.forward(anna, "complaints@example.test", report))
		want := 2 * (i + 1)
		h.client.LocalAddr = provider
		if setting == filter+"no" { // the provider's mail cannot be told from other mail
			testenv.Check(t, h.forward("", "complaints@example.test", report))
			want++
		}
		testenv.Eventually(t, "mail of this machine and of a user is refused", func() bool {
			return strings.Count(h.Log(), "dsn=5.7.1, status=bounced (feedback reports are accepted only from the networks of their providers") == want
		})
		if got := h.h.news(); len(got) > 0 {
			t.Fatalf("%q: the daemon received %q", setting, got)
		}
		if setting == filter+"no" {
			continue
		}
		testenv.Check(t, h.forward("", "complaints@example.test", report))
		h.awaitReport("report feedback")
		if got := h.s.Check(t, spam).Verdict; got != "spam" {
			t.Errorf("%q: the message complained about: %s", setting, got)
		}
	}
}

// installFilter prepares a content filter, which hands each mail back by SMTP. It returns the setting
// that enables it, without the word of whether it passes the client's address on.
func (h *reportHost) installFilter() string {
	h.T.Helper()
	back := testenv.Port(h.T)
	appendTo(h.T, filepath.Join(h.Dir, "etc/master.cf"), fmt.Sprintf("filter unix - - n - - smtp\n127.0.0.1:%d inet n - n - - smtpd\n"+
		" -o content_filter=\n -o smtpd_milters=\n -o smtpd_recipient_restrictions=\n -o smtpd_authorized_xforward_hosts=127.0.0.0/8\n", back))
	return fmt.Sprintf("content_filter = filter:[127.0.0.1]:%d\nsmtp_send_xforward_command = ", back)
}

// installSubmission prepares a port for users who log in, and may write to every address.
func (h *reportHost) installSubmission() (address string) {
	h.T.Helper()
	address = fmt.Sprintf("127.0.0.1:%d", testenv.Port(h.T))
	appendTo(h.T, filepath.Join(h.Dir, "etc/master.cf"), address+" inet n - n - - smtpd\n -o smtpd_recipient_restrictions=permit_sasl_authenticated,reject\n")
	return address
}

// configure adds settings to those of Postfix, and restarts it.
func (h *reportHost) configure(settings string) {
	h.T.Helper()
	appendTo(h.T, filepath.Join(h.Dir, "etc/main.cf"), settings+"\n")
	h.Restart()
}

// installFeedback creates the address for feedback reports of the guide.
func (h *reportHost) installFeedback() {
	h.T.Helper()
	etc := filepath.Join(h.Dir, "etc")
	master, err := os.ReadFile(filepath.Join(etc, "master.cf"))
	if err != nil {
		h.T.Fatal(err)
	}
	program := regexp.MustCompile(`argv=.*/spambloom-address`).FindString(string(master)) // with this test's environment
	guide := strings.NewReplacer("example.org", "example.test", "/etc/postfix", etc,
		"user=spambloom-report:spambloom", fmt.Sprintf("user=%s:%s", dovecot.ReportUser, dovecot.ControlGroup),
		"argv=/usr/local/lib/spambloom/spambloom-address", program)
	for name, first := range map[string]string{
		"master.cf": "spambloom-feedback unix", "main.cf": "smtpd_restriction_classes",
		"transport": "complaints@example.org  spambloom-feedback", "report_access": "complaints@example.org  feedback_senders",
	} {
		appendTo(h.T, filepath.Join(etc, name), guide.Replace(harness.PageBlock(h.T, "postfix.md", first)))
	}
	for _, name := range []string{"transport", "report_access"} {
		if r := harness.Execute(h.T, "", testenv.Program(h.T, "postmap"), "-c", etc, filepath.Join(etc, name)); r.Code != 0 {
			h.T.Fatalf("postmap: %+v", r)
		}
	}
}

// openFeedback permits a network to write to that address.
func (h *reportHost) openFeedback(network string) {
	h.T.Helper()
	block := strings.Replace(harness.PageBlock(h.T, "postfix.md", "192.0.2.0/24"), "192.0.2.0/24", network, 1)
	testenv.Check(h.T, os.Chmod(harness.Write(h.T, filepath.Join(h.Dir, "etc/feedback_senders"), block), 0o644))
	h.Restart()
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	before, err := os.ReadFile(path)
	testenv.Check(t, err)
	if err := os.WriteFile(path, append(before, text...), 0); err != nil { // its mode stays
		t.Fatal(err)
	}
}
