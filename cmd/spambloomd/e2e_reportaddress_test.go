package main

import (
	"errors"
	"fmt"
	"net/smtp"
	"net/textproto"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reportHost is a mail server with the report addresses of contrib/postfix.md: a
// real Postfix, whose users log in by a real Dovecot.
type reportHost struct {
	*postfix
	s *site
	h *heard
}

func startReportHost(t *testing.T) *reportHost {
	t.Helper()
	s := newMailSite(t).start()
	p := startPostfix(t, "one", s.milter)
	d := newDovecot(t, s).start()
	etc := filepath.Join(p.dir, "etc")
	command := filepath.Join(d.dir, "spambloom")
	if r := execute(t, repository, "install", "-D", "-m", "0755", "contrib/postfix/spambloom-address", p.dir+"/lib/spambloom-address"); r.code != 0 {
		t.Fatalf("install: %+v", r)
	}
	paths := strings.NewReplacer(
		"example.org", "example.test",
		"/etc/postfix", etc,
		"user=spambloom-report:spambloom", fmt.Sprintf("user=%s:%s", reportUser, controlGroup),
		"argv=/usr/local/lib/spambloom/", fmt.Sprintf("argv=/usr/bin/env GORACE=%s SPAMBLOOM_CONTROL=%s SPAMBLOOM_COMMAND=%s %s/lib/",
			os.Getenv("GORACE"), s.control, command, p.dir),
	)
	appendTo(t, filepath.Join(etc, "master.cf"), paths.Replace(pageBlock(t, "postfix.md", "spambloom unix"))+
		"pickup unix n - n 60 1 pickup\n")
	appendTo(t, filepath.Join(etc, "main.cf"), paths.Replace(pageBlock(t, "postfix.md", "transport_maps"))+
		fmt.Sprintf("smtpd_sasl_auth_enable = yes\nsmtpd_sasl_type = dovecot\nsmtpd_sasl_path = %s/auth-smtp\n", d.dir))
	for name, first := range map[string]string{"transport": "report@example.org   spambloom", "report_access": "report@example.org   permit"} {
		path := write(t, filepath.Join(etc, name), paths.Replace(pageBlock(t, "postfix.md", first)))
		if r := execute(t, "", "/usr/sbin/postmap", "-c", etc, path); r.code != 0 {
			t.Fatalf("postmap: %+v", r)
		}
	}
	p.stop() // processes of before a reload may still take a mail
	p.run("start")
	return &reportHost{p, s, &heard{s: s}}
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// forward sends a mail of a user to an address; login is empty for a client that
// does not log in.
func (h *reportHost) forward(login, to, mail string) error {
	h.t.Helper()
	var c *smtp.Client
	eventually(h.t, "Postfix answers", func() bool {
		var err error
		c, err = smtp.Dial(h.addr)
		return err == nil
	})
	defer c.Close()
	steps := []func() error{
		func() error { return c.Mail(anna) }, // anybody may say so
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
			h.t.Fatal(err)
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

// heardOf waits for the next word that reached the daemon.
func (h *reportHost) heardOf(want string) {
	h.t.Helper()
	var words []string
	eventually(h.t, want, func() bool {
		words = h.h.news()
		return len(words) > 0
	})
	if len(words) > 1 || words[0] != want {
		h.t.Errorf("the daemon heard %q, want %q", words, want)
	}
}

// A forwarded spam is reported, a mail forwarded to the other address revoked, in
// the name as which the user logged in.
func TestReportAddress(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	spam := text()
	for _, mail := range []struct{ login, to, verb, verdict string }{
		{"berta@example.test", "report@example.test", "report", "spam"},
		{anna, "notspam@example.test", "revoke", "clean"},
	} {
		letter := text()
		if err := h.forward(mail.login, mail.to, attachedTo(letter, message(spam))); err != nil {
			t.Fatal(err)
		}
		h.heardOf(mail.verb + " " + mail.login)
		if got := h.s.check(t, spam).Verdict; got != mail.verdict {
			t.Errorf("%s: the attached message is %s, want %s", mail.to, got, mail.verdict)
		}
		if got := h.s.check(t, letter).Verdict; got != "clean" {
			t.Errorf("%s: the letter around it is %s", mail.to, got)
		}
	}
	eventually(t, "Postfix logs the receipt", func() bool {
		return strings.Contains(h.log(), "status=sent (delivered via spambloom service (-, attached message 1: accepted")
	})
}

// What cannot be taken is refused at once, or returns to its sender with a sentence.
func TestReportAddressRefusals(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	var refusal *textproto.Error
	if err := h.forward("", "report@example.test", attachedTo(text(), message(text()))); !errors.As(err, &refusal) || refusal.Code != 554 {
		t.Errorf("mail of a stranger: %v, want 554", err)
	}
	for to, mail := range map[string]string{
		"report@example.test":  message("---- Forwarded message ----\r\n" + text()),
		"notspam@example.test": message(text()),
	} {
		if err := h.forward(anna, to, mail); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the mail to "+to+" returns", func() bool {
			d := h.find("Final-Recipient: rfc822; " + to)
			if d == nil {
				return false
			}
			text, err := os.ReadFile(d.path)
			if err != nil {
				t.Fatal(err)
			}
			said := regexp.MustCompile(`\s+`).ReplaceAllString(string(text), " ")
			if !strings.Contains(said, "no message is attached") || !strings.Contains(said, "forward the message as attachment") {
				t.Errorf("the sender is not told what to do:\n%s", text)
			}
			return true
		})
	}
	h.fromThisMachine(attachedTo(text(), message(text())))
	eventually(t, "mail without a login is refused", func() bool {
		return strings.Contains(h.log(), "dsn=5.7.1, status=bounced (reports are taken from users who log in to send mail")
	})
	if got := h.h.news(); len(got) > 0 {
		t.Errorf("the daemon heard %q", got)
	}
}

// fromThisMachine hands a mail over as a local program does, in anna's name.
func (h *reportHost) fromThisMachine(mail string) {
	h.t.Helper()
	path := write(h.t, filepath.Join(h.dir, "letter"), strings.ReplaceAll(mail, "\r\n", "\n"))
	script := fmt.Sprintf("/usr/sbin/sendmail -C %s/etc -f %s report@example.test <%s", h.dir, anna, path)
	if r := execute(h.t, "", "sh", "-c", script); r.code != 0 {
		h.t.Errorf("sendmail: %+v", r)
	}
}

// While the daemon is away, mail to the addresses waits in Postfix' queue.
func TestReportAddressWaits(t *testing.T) {
	t.Parallel()
	h := startReportHost(t)
	h.s.stop(9)
	spam := text()
	if err := h.forward(anna, "report@example.test", attachedTo("see below", message(spam))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the mail is deferred", func() bool { return strings.Contains(h.log(), "status=deferred (") })
	h.s.start()
	h.run("flush")
	h.heardOf("report " + anna)
	if got := h.s.check(t, spam).Verdict; got != "spam" {
		t.Errorf("reported later: %s", got)
	}
}
