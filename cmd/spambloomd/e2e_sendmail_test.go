package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/emersion/go-smtp"
)

// encodedHTML is a mail whose content headers would garble any other one.
func encodedHTML() string {
	head := []string{"Content-Type: text/html; charset=utf-16le", "Content-Transfer-Encoding: base64",
		"From: a@example.net", "To: you@example.test", "Subject: other", fmt.Sprintf("Message-ID: <%x@example.net>", rand.Uint64()), ""}
	var utf16 []byte
	for _, c := range []byte("<p>" + text()) {
		utf16 = append(utf16, c, 0)
	}
	for line := range slices.Chunk(utf16, 57) {
		head = append(head, base64.StdEncoding.EncodeToString(line))
	}
	return strings.Join(head, "\r\n") + "\r\n"
}

// Mail of all verdicts and actions on one SMTP connection, with recipients that
// Sendmail refuses. Nothing of a message shows in the next one, and what belongs
// to the connection stays.
func TestSendmail(t *testing.T) {
	t.Parallel()
	overNetworks(t, func(t *testing.T, s *site, m *sendmail) {
		c, other := m.connect("127.0.0.2"), m.connect("127.0.0.3")
		body := text()
		forged := []string{"X-Spambloom: clean; site=elsewhere", "X-Spam-Flag: YES", "x-spam-flag: no", "X-Spam-Flag:", "X-SPAMBLOOM : spam", "X-Spambloom:"}

		first := c.send(message(body, forged...))
		expectVerdict(t, first, "clean", 1, "one")
		if r := s.cli("report", first.path); r.code != 0 {
			t.Fatalf("report: %+v", r)
		}
		expectVerdict(t, c.send(encodedHTML()), "clean", 1, "one")
		expectVerdict(t, c.send(message(body)), "spam", 2, "one")
		expectVerdict(t, c.send(message(text())), "clean", 1, "one")
		expectVerdict(t, c.send(message(body, forged...), "a@example.test", nobodyHere, "b@example.test"), "spam", 4, "one")
		c.expectAllRefused()
		large := c.send(message(strings.Repeat(text(), 1000), forged...))
		if got, fields := large.verdict(t); got != "skipped" || fields["reason"] != "oversize" || len(large.header["X-Spam-Flag"]) > 0 {
			t.Errorf("a large message: %s %v %q", got, fields, large.header["X-Spam-Flag"])
		}
		expectVerdict(t, c.send(message(body)), "spam", 5, "one")
		expectActions(t, s, c, body)
		expectVerdict(t, c.send(message(text())), "clean", 1, "one")
		if err := c.Quit(); err != nil {
			t.Error(err)
		}
		other.send(message(text()))
		expectMessageLines(t, s, m, "127.0.0.2", 16)
		expectMessageLines(t, s, m, "127.0.0.3", 1)
	})
}

// expectAllRefused begins a mail that comes to nothing.
func (s *smtpSession) expectAllRefused() {
	s.m.t.Helper()
	if err := s.Mail("someone@example.net", nil); err != nil {
		s.m.t.Fatal(err)
	}
	if err := s.Rcpt(nobodyHere, nil); err == nil {
		s.m.t.Errorf("%s is accepted", nobodyHere)
	}
	if err := s.Reset(); err != nil {
		s.m.t.Fatal(err)
	}
}

// expectActions lets the same spam meet each action that does not deliver it.
func expectActions(t *testing.T, s *site, c *smtpSession, spam string) {
	t.Helper()
	s.configure(t, "[log]", "[actions]\nspam = \"tag\"\n[log]")
	before := "tag"
	for _, test := range []struct {
		action string
		answer string
	}{
		{"reject", "550 5.7.1 Message refused: spam body:"},
		{"tempfail", "451 4.7.1 Try again later: spam body:"},
		{"discard", ""},
		{"quarantine", ""},
	} {
		s.configure(t, fmt.Sprintf("spam = %q", before), fmt.Sprintf("spam = %q", test.action))
		s.reload(t, `"reloaded"`)
		before = test.action
		mail, answer := message(spam), ""
		var refusal *smtp.SMTPError
		if err := c.try(mail); errors.As(err, &refusal) {
			code := refusal.EnhancedCode
			answer = fmt.Sprintf("%d %d.%d.%d %s", refusal.Code, code[0], code[1], code[2], refusal.Message)
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(answer, test.answer) || (answer == "") != (test.answer == "") {
			t.Errorf("%s: answer %q, want %q", test.action, answer, test.answer)
		}
		c.send(message(text())) // by now, the one before would be there too
		if d := c.m.find(mail); d != nil {
			t.Errorf("%s: the mail is delivered: %v", test.action, d.header)
		}
	}
	held, err := filepath.Glob(filepath.Join(c.m.dir, "queue", "hf*"))
	if err != nil || len(held) != 1 {
		t.Errorf("quarantined by Sendmail: %v (%v), want one", held, err)
	}
}

// expectMessageLines holds the lines about a client's messages against what was
// delivered: the queue id is the one that Sendmail writes into its Received
// header.
func expectMessageLines(t *testing.T, s *site, m *sendmail, client string, want int) {
	t.Helper()
	queueID := regexp.MustCompile(`\bid (\w+)`)
	seen := map[string]bool{}
	for _, line := range s.messages() {
		if line.Client != client {
			continue
		}
		if line.QueueID == "" || seen[line.QueueID] {
			t.Errorf("queue id %q, seen before: %v", line.QueueID, seen[line.QueueID])
		}
		seen[line.QueueID] = true
		d := m.find("Message-ID: " + line.MessageID)
		if d == nil {
			if line.Action == "tag" {
				t.Errorf("not delivered: %+v", line)
			}
			continue
		}
		if id := queueID.FindStringSubmatch(d.header.Get("Received")); id == nil || id[1] != line.QueueID {
			t.Errorf("queue id %q, Sendmail has %q", line.QueueID, d.header.Get("Received"))
		}
	}
	if len(seen) != want {
		t.Errorf("%d messages of %s in the log, want %d:\n%s", len(seen), client, want, s.log())
	}
}

// Sendmail writes an IPv6 client in a form of its own, on each later message too.
func TestSendmailIPv6(t *testing.T) {
	t.Parallel()
	need(t, hasIPv6(), "an address ::1")
	overNetworks(t, func(t *testing.T, s *site, m *sendmail) {
		c := m.connect("::1")
		c.send(message(text()))
		c.expectAllRefused()
		c.send(message(text()))
		expectMessageLines(t, s, m, "::1", 2)
		s.configure(t, "local_networks = []", `local_networks = ["::1/128"]`)
		s.reload(t, `"reloaded"`)
		if d := c.send(message(text(), "X-Spambloom: clean")); len(d.header["X-Spambloom"]) > 0 {
			t.Errorf("mail from a local network: %q", d.header["X-Spambloom"])
		}
	})
}

// SIGTERM lets the message in flight have its verdict. After that mail flows
// without one, on the same SMTP connection too, and a new daemon is found by the
// next.
func TestSendmailStop(t *testing.T) {
	t.Parallel()
	overNetworks(t, func(t *testing.T, s *site, m *sendmail) {
		idle, c := m.connect("127.0.0.1"), m.connect("127.0.0.1")
		expectVerdict(t, idle.send(message(text())), "clean", 1, "one")
		mail := message(text())
		data := c.begin("you@example.test")
		if _, err := io.WriteString(data, mail[:len(mail)/2]); err != nil {
			t.Fatal(err)
		}
		if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the daemon stops", func() bool { return strings.Contains(s.log(), `"stopping"`) })
		if _, err := io.WriteString(data, mail[len(mail)/2:]); err != nil {
			t.Fatal(err)
		}
		if err := data.Close(); err != nil {
			t.Fatal(err)
		}
		expectVerdict(t, m.await(mail), "clean", 1, "one")
		if code := s.stop(noSignal); code != 0 {
			t.Errorf("exit code %d, want 0\n%s", code, s.log())
		}
		if strings.Contains(s.log(), "milter connection broken") {
			t.Errorf("an orderly stop broke a connection:\n%s", s.log())
		}
		for _, session := range []*smtpSession{idle, c, m.connect("127.0.0.1")} {
			if after := session.send(message(text())); after.header.Get("X-Spambloom") != "" {
				t.Errorf("a verdict without a daemon: %q", after.header["X-Spambloom"])
			}
		}
		s.start()
		expectVerdict(t, m.connect("127.0.0.1").send(message(text())), "clean", 1, "one")
	})
}

// What users report is what was delivered. Its signatures are those that
// spambloomd saw. (Lines over 2,040 bytes are not among these mails: Sendmail
// breaks them when it hands on by SMTP.)
func TestSendmailReportsDelivered(t *testing.T) {
	t.Parallel()
	overNetworks(t, func(t *testing.T, s *site, m *sendmail) {
		c := m.connect("127.0.0.1")
		plain := "Message-ID: <%x@example.net>\r\nSubject: odd\r\n"
		for name, body := range map[string]string{
			"no more headers":   plain + "\r\n" + text(),
			"no MIME, 8 bit":    plain + "\r\n" + strings.ReplaceAll(text(), "e", "\u00e9"),
			"utf-8, 8 bit":      plain + "MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n" + strings.ReplaceAll(text(), "e", "\u00e9"),
			"dots":              plain + "\r\n" + strings.ReplaceAll(text(), "\r\n", "\r\n..\r\n.") + ".\r\n",
			"blanks at the end": plain + "\r\n" + strings.ReplaceAll(text(), ".\r\n", ". \t\r\n") + "\r\n\r\n\r\n",
			"mbox From":         plain + "\r\n" + strings.ReplaceAll(text(), ".\r\n", ".\r\nFrom "),
			"a line of 1 kB":    plain + "\r\n" + strings.ReplaceAll(text()+text(), "\r\n", " "),
			"long header":       plain + "X-Long: " + strings.Repeat("word\r\n ", 2000) + "end\r\n\r\n" + text(),
			"folded type": plain + "MIME-Version: 1.0\r\nContent-Type: multipart/alternative;\r\n\tboundary=\"b\"\r\n\r\n" +
				"--b\r\nContent-Type: text/html\r\n\r\n<p>" + text() + "\r\n--b--\r\n",
		} {
			first := c.send(fmt.Sprintf(body, rand.Uint64()))
			if r := s.cli("report", first.path); r.code != 0 {
				t.Errorf("%s: report: %+v", name, r)
			}
			if verdict, fields := c.send(fmt.Sprintf(body, rand.Uint64())).verdict(t); verdict != "spam" {
				t.Errorf("%s: %s %v after the report, want spam", name, verdict, fields)
			}
		}
	})
}
