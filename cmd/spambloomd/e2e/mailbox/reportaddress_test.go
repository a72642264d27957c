package mailbox

import (
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/dovecot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// reportHost is a mail server with the report addresses of contrib/postfix.md: a real
// Postfix, whose users log in through a real Dovecot.
type reportHost struct {
	*harness.Postfix
	s *harness.Site
	h *reportLog

	client     net.Dialer // of those who send mail by SMTP
	submission string     // where users log in; "": where all mail arrives
}

func startReportHost(t *testing.T) *reportHost {
	t.Helper()
	s := newMailSite(t).Start()
	p := harness.NewPostfix(t)
	d := dovecot.New(t, s).Start()
	etc := filepath.Join(p.Dir, "etc")
	command := filepath.Join(d.Dir, "spambloom")
	if r := harness.Execute(t, harness.Repository, "install", "-D", "-m", "0755", "contrib/postfix/spambloom-address", p.Dir+"/lib/spambloom-address"); r.Code != 0 {
		t.Fatalf("install: %+v", r)
	}
	paths := strings.NewReplacer(
		"example.org", "example.test",
		"/etc/postfix", etc,
		"user=spambloom-report:spambloom", fmt.Sprintf("user=%s:%s", dovecot.ReportUser, dovecot.ControlGroup),
		"argv=/usr/local/lib/spambloom/", fmt.Sprintf("argv=/usr/bin/env GORACE=%s SPAMBLOOM_CONTROL=%s SPAMBLOOM_COMMAND=%s %s/lib/",
			os.Getenv("GORACE"), s.Control, command, p.Dir),
	)
	p.Services = paths.Replace(harness.PageBlock(t, "postfix.md", "spambloom unix"))
	p.Extra = paths.Replace(harness.PageBlock(t, "postfix.md", "transport_maps")) +
		fmt.Sprintf("smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = %s/auth-smtp\n", d.Dir)
	p.Configure("one", "inet:"+s.Milter, "n") // for postmap
	for name, first := range map[string]string{"transport": "report@example.org   spambloom", "report_access": "report@example.org   permit"} {
		path := harness.Write(t, filepath.Join(etc, name), paths.Replace(harness.PageBlock(t, "postfix.md", first)))
		if r := harness.Execute(t, "", testenv.Program(t, "postmap"), "-c", etc, path); r.Code != 0 {
			t.Fatalf("postmap: %+v", r)
		}
	}
	p.Start("one", "inet:"+s.Milter, "n")
	return &reportHost{Postfix: p, s: s, h: &reportLog{s: s}}
}

// forward sends a mail of a user to an address; login is empty for a client that does not
// log in.
func (h *reportHost) forward(login, to, mail string) error {
	h.T.Helper()
	var c *smtp.Client
	address := h.Addr
	if login != "" && h.submission != "" {
		address = h.submission
	}
	testenv.Eventually(h.T, "Postfix answers", func() bool {
		conn, err := h.client.Dial("tcp", address)
		if err != nil {
			return false
		}
		conn.SetDeadline(time.Now().Add(testenv.Patience)) // a session without an answer is an error of its step
		if c, err = smtp.NewClient(conn, "127.0.0.1"); err != nil {
			conn.Close()
		}
		return err == nil
	})
	defer c.Close()
	steps := []func() error{
		func() error { return c.Mail(anna) }, // any client may claim this
		func() error { return c.Rcpt(to) },
		func() error {
			w, err := c.Data()
			if err == nil {
				if _, err = w.Write([]byte(mail)); err == nil {
					err = w.Close()
				}
			}
			return err
		},
		c.Quit,
	}
	if login != "" {
		if err := c.Auth(smtp.PlainAuth("", login, "secret", "127.0.0.1")); err != nil {
			h.T.Fatal(err)
		}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// attachedTo is a letter with messages attached.
func attachedTo(letter string, messages ...string) string {
	var b strings.Builder
	b.WriteString("From: anna@example.test\r\nTo: report@example.test\r\nSubject: Fwd: this one\r\nMIME-Version: 1.0\r\n" +
		"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n" + letter + "\r\n")
	for _, m := range messages {
		b.WriteString("--x\r\nContent-Type: message/rfc822\r\nContent-Disposition: attachment\r\n\r\n" + m + "\r\n")
	}
	b.WriteString("--x--\r\n")
	return b.String()
}

// awaitReport waits for the next report that reaches the daemon. Until then Postfix retries
// deferred mail.
func (h *reportHost) awaitReport(want string) {
	h.T.Helper()
	var words []string
	h.Drive(want, func() bool {
		words = h.h.news()
		return len(words) > 0
	})
	if len(words) > 1 || words[0] != want {
		h.T.Errorf("the daemon received %q, want %q", words, want)
	}
}

// A forwarded spam is reported, and a mail forwarded to the other address is revoked, in
// the name of the logged-in user.
func TestReportAddress(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	spam := harness.Text()
	for _, mail := range []struct{ login, to, verb, verdict string }{
		{"berta@example.test", "report@example.test", "report", "spam"},
		{anna, "notspam@example.test", "revoke", "clean"},
	} {
		letter := harness.Text()
		testenv.Check(t, h.forward(mail.login, mail.to, attachedTo(letter, harness.Message(spam))))
		h.awaitReport(mail.verb + " " + mail.login)
		if got := h.s.Check(t, spam).Verdict; got != mail.verdict {
			t.Errorf("%s: the attached message is %s, want %s", mail.to, got, mail.verdict)
		}
		if got := h.s.Check(t, letter).Verdict; got != "clean" {
			t.Errorf("%s: the letter around it is %s", mail.to, got)
		}
	}
	testenv.Eventually(t, "Postfix logs the receipt", func() bool {
		return strings.Contains(h.Log(), "status=sent (delivered via spambloom service (-, attached message 1: accepted")
	})
}

// Mail that cannot be accepted is rejected at once, or returned to its sender with an
// explanation.
func TestReportAddressRefusals(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	var refusal *textproto.Error
	if err := h.forward("", "report@example.test", attachedTo(harness.Text(), harness.Message(harness.Text()))); !errors.As(err, &refusal) || refusal.Code != 554 {
		t.Errorf("mail of a stranger: %v, want 554", err)
	}
	for to, mail := range map[string]string{
		"report@example.test":  harness.Message("---- Forwarded message ----\r\n" + harness.Text()),
		"notspam@example.test": harness.Message(harness.Text()),
	} {
		testenv.Check(t, h.forward(anna, to, mail))
		testenv.Eventually(t, "the mail to "+to+" returns", func() bool {
			d := h.Find("Final-Recipient: rfc822; " + to)
			if d == nil {
				return false
			}
			text, err := os.ReadFile(d.Path)
			testenv.Check(t, err)
			said := regexp.MustCompile(`\s+`).ReplaceAllString(string(text), " ")
			if !strings.Contains(said, "no message is attached") || !strings.Contains(said, "forward the message as an attachment") {
				t.Errorf("the bounce does not explain what to do:\n%s", text)
			}
			return true
		})
	}
	h.fromThisMachine("report@example.test", attachedTo(harness.Text(), harness.Message(harness.Text())))
	testenv.Eventually(t, "mail without a login is refused", func() bool {
		return strings.Contains(h.Log(), "dsn=5.7.1, status=bounced (reports are accepted only from users who log in to send mail")
	})
	if got := h.h.news(); len(got) > 0 {
		t.Errorf("the daemon received %q", got)
	}
}

// A user whose address leads to the report address does not report in the name of those who write
// to that user: Postfix keeps their login.
func TestReportAddressOfOthers(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	h.configure("virtual_alias_maps = inline:{ berta@example.test=report@example.test }")
	letter := harness.Text()
	testenv.Check(t, h.forward(anna, "berta@example.test", attachedTo("a letter for you", harness.Message(letter))))
	testenv.Eventually(t, "the mail to berta is refused", func() bool {
		return strings.Contains(h.Log(), "dsn=5.7.1, status=bounced (reports are accepted only from users who write to the report address itself")
	})
	if got := h.s.Check(t, letter).Verdict; got != "clean" {
		t.Errorf("what anna sent to berta is %s", got)
	}
	testenv.Check(t, h.forward(anna, "Report@example.test", attachedTo("a spam", harness.Message(letter))))
	h.awaitReport("report " + anna)
}

// fromThisMachine sends a mail like a local program, in anna's name.
func (h *reportHost) fromThisMachine(to, mail string) {
	h.T.Helper()
	path := harness.Write(h.T, filepath.Join(h.Dir, "letter"), strings.ReplaceAll(mail, "\r\n", "\n"))
	script := fmt.Sprintf(testenv.Program(h.T, "sendmail")+" -C %s/etc -f %s %s <%s", h.Dir, anna, to, path)
	if r := harness.Execute(h.T, "", "sh", "-c", script); r.Code != 0 {
		h.T.Errorf("sendmail: %+v", r)
	}
}

// If some of the attached messages are accepted, and the others cannot be now, the mail returns to its sender. Postfix
// would else report all of it again at each retry, also what others have revoked meanwhile.
func TestReportAddressInPart(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	h.s.Stop(15)
	h.s.Configure(t, "[reports]", "[reports]\nmax_per_hour = 2")
	h.s.Start()
	var attached []string
	for range 12 { // more than are sent at once
		attached = append(attached, harness.Message(harness.Text()))
	}
	testenv.Check(t, h.forward(anna, "report@example.test", attachedTo("see below", attached...)))
	testenv.Eventually(t, "the mail returns", func() bool {
		return regexp.MustCompile(`status=bounced \(some of the attached messages are accepted, and the rest cannot be now: forward attached message \d+ `).MatchString(h.Log())
	})
	if strings.Contains(h.Log(), "status=deferred") {
		t.Error("the mail waits")
	}
	accepted := slices.DeleteFunc(attached, func(m string) bool { return verdictOf(h.s, m) != "spam" })
	if len(accepted) != 2 {
		t.Errorf("%d messages are spam, want 2", len(accepted))
	}
}

// While the daemon is down, mail to the addresses waits in Postfix' queue.
func TestReportAddressWaits(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	h.s.Stop(9)
	spam := harness.Text()
	testenv.Check(t, h.forward(anna, "report@example.test", attachedTo("see below", harness.Message(spam))))
	testenv.Eventually(t, "the mail is deferred", func() bool { return strings.Contains(h.Log(), "status=deferred (") })
	h.s.Start()
	h.awaitReport("report " + anna)
	if got := h.s.Check(t, spam).Verdict; got != "spam" {
		t.Errorf("reported later: %s", got)
	}
}
