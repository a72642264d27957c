package mta

import (
	"bufio"
	"errors"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The main task on one site: a user reports a delivered mail, and the next copy is tagged;
// the report is revoked, and the next copy is clean again.
func TestMailReportRevoke(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	body := harness.Text()
	forged := []string{"X-Spambloom: clean; count=0; site=elsewhere", "X-Spam-Flag: YES", "x-spam-flag: yes", "X-SPAMBLOOM: spam"}

	first := p.Send(harness.Message(body, forged...))
	harness.ExpectVerdict(t, first, "clean", 1, "one")
	if r := s.CLI("check", first.Path); r.Code != 1 {
		t.Errorf("check of an unknown message: %+v, want exit 1", r)
	}
	if r := s.CLI("report", first.Path); r.Code != 0 {
		t.Fatalf("report: %+v", r)
	}
	second := p.Send(harness.Message(body))
	harness.ExpectVerdict(t, second, "spam", 2, "one")
	if r := s.CLI("check", second.Path); r.Code != 0 {
		t.Errorf("check of a reported message: %+v, want exit 0", r)
	}
	harness.ExpectVerdict(t, p.Send(harness.Message(harness.Text(), forged...)), "clean", 1, "one")
	if r := s.CLI("revoke", second.Path); r.Code != 0 {
		t.Fatalf("revoke: %+v", r)
	}
	harness.ExpectVerdict(t, p.Send(harness.Message(body)), "clean", 3, "one")

	if short := p.Send(harness.Message("ok, thanks\r\n")); short.Header.Get("X-Spambloom") == "" || !strings.HasPrefix(short.Header.Get("X-Spambloom"), "skipped;") {
		t.Errorf("a message with too little content: %q", short.Header["X-Spambloom"])
	}
	expectLogLines(t, s, p)
	if _, metrics := s.Get("/metrics"); !strings.Contains(metrics, `verdict="spam"`) {
		t.Error("/metrics does not show the spam")
	}
}

// An administrator asks about a mail that was delivered, and revokes it, by the header
// line in it and by the MTA's queue id. Another site's user would have the mail only.
func TestLookupOfDeliveredMail(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	body := harness.Text()
	explain := func(arg string, want ...string) {
		t.Helper()
		r := s.CLI("explain", arg)
		for _, w := range want {
			if r.Code != 0 || !regexp.MustCompile(w).MatchString(r.Stdout) {
				t.Errorf("explain %q: %+v, want %s", arg, r, w)
			}
		}
	}
	first := p.Send(harness.Message(body))
	explain("X-Spambloom: "+first.Header.Get("X-Spambloom"), `: clean; count=1; `, `(?m)^  judged .* clean$`, `(?m)^  not known: near-duplicates`)
	if r := s.CLI("report", "--as", "bert", first.Path); r.Code != 0 {
		t.Fatalf("report: %+v", r)
	}
	second := p.Send(harness.Message(body))
	harness.ExpectVerdict(t, second, "spam", 2, "one")
	queueID := regexp.MustCompile(`ESMTP id (\w+)`).FindStringSubmatch(second.Header.Get("Received"))
	if queueID == nil {
		t.Fatalf("no queue id in %q", second.Header.Get("Received"))
	}
	explain(queueID[1], `: spam; kind=body,text,sketch; count=2; `, `(?m)^  reported .* by bert `, `(?m)^  judged .* queue id `+queueID[1]+` +spam$`)
	if r := s.CLI("revoke", queueID[1]); r.Code != 0 || !strings.Contains(r.Stdout, ": accepted; id=") {
		t.Errorf("revoke: %+v", r)
	}
	harness.ExpectVerdict(t, p.Send(harness.Message(body)), "clean", 3, "one")
	if strings.Contains(s.Log(), `"level":"ERROR"`) {
		t.Errorf("the log has errors:\n%s", s.Log())
	}
}

// Each message has one log line, with the queue id of the MTA's log.
func expectLogLines(t *testing.T, s *harness.Site, p *harness.Postfix) {
	t.Helper()
	messages := 0
	for line := range strings.Lines(s.Log()) {
		if !strings.Contains(line, `"msg":"message"`) {
			continue
		}
		messages++
		id := harness.JSONField(t, line, "queue_id")
		if id == "" || !strings.Contains(p.Log(), id) {
			t.Errorf("Postfix did not log the queue id %q of %s", id, line)
		}
	}
	if messages != 5 {
		t.Errorf("%d lines for 5 messages:\n%s", messages, s.Log())
	}
}

// The setup in contrib/postfix.md for Debian: smtpd in its chroot, and the milter's unix
// socket inside it, with Postfix' group.
func TestUnixSocketInChroot(t *testing.T) {
	t.Parallel()
	s, p := harness.UnixSite(t, "one")
	s.Start()
	p.Start("one", "unix:spambloom/milter.sock", "y")
	harness.ExpectVerdict(t, p.Send(harness.Message(harness.Text())), "clean", 1, "one")
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
	if left, _ := filepath.Glob(filepath.Join(p.Dir, "spool", "spambloom", "*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// SIGTERM lets the message in flight get its verdict; later mail passes without one.
func TestStopFinishesMessage(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	mail := harness.Message(harness.Text())
	transaction := p.Begin()
	transaction.Write(mail[:len(mail)/2])
	testenv.Check(t, s.Cmd.Process.Signal(syscall.SIGTERM))
	testenv.Eventually(t, "the daemon stops", func() bool { return strings.Contains(s.Log(), `"stopping"`) })
	transaction.Write(mail[len(mail)/2:])
	harness.ExpectVerdict(t, transaction.End(), "clean", 1, "one")
	if code := s.Stop(harness.NoSignal); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, s.Log())
	}
	if after := p.Send(harness.Message(harness.Text())); after.Header.Get("X-Spambloom") != "" {
		t.Errorf("a verdict without a daemon: %q", after.Header["X-Spambloom"])
	}
}

// During a stop, mail is judged until the requests have ended: a user of the control socket may send one slowly. The mail
// has the ten seconds for which the daemon waits for the rest of the request.
func TestStopJudgesDuringRequests(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	request, err := net.Dial("unix", strings.TrimPrefix(s.Control, "unix:"))
	testenv.Check(t, err)
	defer request.Close()
	_, err = io.WriteString(request, "POST /v1/check HTTP/1.1\r\nHost: spambloom\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n")
	testenv.Check(t, err)
	if line, err := bufio.NewReader(request).ReadString('\n'); !strings.Contains(line, " 100 ") {
		t.Fatalf("%q, %v: the body is not awaited", line, err)
	}
	testenv.Check(t, s.Cmd.Process.Signal(syscall.SIGTERM))
	testenv.Eventually(t, "the daemon stops", func() bool { return strings.Contains(s.Log(), `"stopping"`) })
	harness.ExpectVerdict(t, p.Send(harness.Message(harness.Text())), "clean", 1, "one")
	request.Close()
	if code := s.Stop(harness.NoSignal); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, s.Log())
	}
}

// SIGHUP applies new actions, reports keys that need a restart, and survives an invalid
// file.
func TestReload(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	p := harness.StartPostfix(t, "one", s.Milter)
	body := harness.Text()
	if r := s.CLI("report", p.Send(harness.Message(body)).Path); r.Code != 0 {
		t.Fatalf("report: %+v", r)
	}
	s.Configure(t, "[log]", "[actions]\nspam = \"delete\"\n[log]")
	s.Reload(t, `"reload failed`)
	s.Configure(t, "delete", "reject")
	s.Configure(t, "threshold = 50", "threshold = 60\nkeep = 3")
	s.Reload(t, `"changed keys need a restart"`) // the last line of a reload
	for _, want := range []string{
		`spambloom.toml:20: actions.spam: \"delete\" is not one of the choices`,
		`"changed":["actions.spam","bulk.threshold"]`,
		`"changed keys need a restart","keys":["bulk.keep"]`,
	} {
		if !strings.Contains(s.Log(), want) {
			t.Errorf("the log lacks %s:\n%s", want, s.Log())
		}
	}
	s.Configure(t, "threshold = 60", "threshold = 70")
	s.Reload(t, `"changed keys need a restart","keys":["bulk.keep"]`) // repeated until there is one
	transaction := p.Begin()
	transaction.Write(harness.Message(body))
	var refusal *smtp.SMTPError
	if err := transaction.Data.Close(); !errors.As(err, &refusal) || refusal.Code != 550 || refusal.EnhancedCode != (smtp.EnhancedCode{5, 7, 1}) {
		t.Errorf("spam with the action reject: %v, want 550 5.7.1", err)
	}
	if err := transaction.Client.Quit(); err != nil {
		t.Error(err)
	}
}
