package mailbox

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/dovecot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// anna is a user of the mail server.
const anna = "anna@example.test"

// newMailSite prepares a daemon at which dovecot.ReportUser reports for the users of the mail
// server.
func newMailSite(t *testing.T) *harness.Site {
	t.Helper()
	testenv.Root(t) // Dovecot starts as root, and the socket has another group
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Control = "unix:" + filepath.Join(s.Dir, "control.sock")
	s.Configure(t, "[log]", fmt.Sprintf("[control]\nlisten = %[1]q\ngroup = %[2]q\ndelegates = [%[3]q]\n[log]", s.Control, dovecot.ControlGroup, dovecot.ReportUser))
	return s
}

// reportLog reads the daemon's log entries about reports and revocations since the last
// call: one "VERB REPORTER" for each.
type reportLog struct {
	s    *harness.Site
	seen int
}

func (h *reportLog) news() (words []string) {
	h.s.T.Helper()
	log := h.s.Log()
	fresh := log[h.seen:]
	h.seen = len(log)
	for line := range strings.Lines(fresh) {
		var entry struct{ Msg, Reporter string }
		if json.Unmarshal([]byte(line), &entry) != nil {
			continue
		}
		if verb, ok := strings.CutSuffix(entry.Msg, " accepted"); ok {
			words = append(words, verb+" "+entry.Reporter)
		}
	}
	return words
}

// expect compares the news with the expected ones. The move is complete by then, so no more
// can follow.
func (h *reportLog) expect(after string, want ...string) {
	h.s.T.Helper()
	if got := h.news(); !slices.Equal(got, want) {
		h.s.T.Errorf("%s: %q, want %q", after, got, want)
	}
}

// Actions in users' mail programs, and the resulting reports.
func TestDovecotMoves(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s).Start()
	h := &reportLog{s: s}
	c := d.Login(anna)
	body := harness.Text()
	c.Put("INBOX", harness.Message(body))
	c.Put("INBOX", harness.Message(harness.Text()))
	for _, folder := range []string{"Junk.2026", "Trash.old.2026", "Papierkorb.2026"} {
		c.Do("CREATE " + folder)
	}
	for _, step := range []struct{ from, command, to, want string }{
		{"INBOX", "MOVE 1", "Junk", "report " + anna},
		{"Junk", "MOVE 1", "Trash", ""}, // by its name
		{"Trash", "MOVE 1", "Junk", "report " + anna},
		{"Junk", "COPY 1", "Papierkorb", ""}, // by its special use
		{"Junk", "COPY 1", "Deleted Items", ""},
		{"Junk", "COPY 1", "Junk", ""},
		{"Junk", "COPY 1", "Junk.2026", ""}, // below the spam folder
		{"Junk", "COPY 1", "Trash.old.2026", ""},
		{"Junk", "COPY 1", "Papierkorb.2026", ""},
		{"Junk", "MOVE 1", "INBOX", "revoke " + anna},
		{"INBOX", "MOVE 1", "Trash", ""},
		{"Trash", "MOVE 1", "INBOX", ""},
		{"INBOX", "COPY 2", "Junk", "report " + anna},
	} {
		c.Do(fmt.Sprintf("SELECT %q", step.from))
		c.Do(fmt.Sprintf("%s %q", step.command, step.to))
		var want []string
		if step.want != "" {
			want = []string{step.want}
		}
		h.expect(fmt.Sprint(step), want...)
	}

	c.Put("Junk", harness.Message(harness.Text()))
	h.expect("uploaded into Junk")
	c.Do("SELECT INBOX")
	c.Do("STORE 1 +FLAGS ($Junk Junk)")
	h.expect("a keyword is set")
	if r := harness.Execute(t, "", "doveadm", "-c", d.Conf(), "move", "-u", anna, "Junk", "mailbox", "INBOX", "all"); r.Code != 0 {
		t.Errorf("doveadm: %+v", r)
	}
	h.expect("moved by the administrator")
	c.Empty("Junk")
	h.expect("deleted in Junk")
	if strings.Contains(d.Log(), "Error") {
		t.Errorf("errors in Dovecot's log:\n%s", d.Log())
	}
}

// One click is enough: the next copy is spam, until the mail is moved back, and again when it
// is moved to Junk once more. All of that is in one period.
func TestDovecotReportRevoke(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s).Start()
	c := d.Login(anna)
	body := harness.Text()
	if got := s.Check(t, body).Verdict; got != "clean" {
		t.Errorf("before: %s", got)
	}
	c.Put("INBOX", harness.Message(body))
	c.Do("SELECT INBOX")
	c.Do("MOVE 1 Junk")
	if got := s.Check(t, body).Verdict; got != "spam" {
		t.Errorf("moved into Junk: %s", got)
	}
	c.Do("SELECT Junk")
	if flags := c.Do("FETCH 1 FLAGS"); strings.Contains(flags, `\Deleted`) {
		t.Errorf("the mail in Junk: %s", flags)
	}
	c.Do("MOVE 1 INBOX")
	if got := s.Check(t, body).Verdict; got != "clean" {
		t.Errorf("moved back: %s", got)
	}
	c.Do("SELECT INBOX")
	c.Do("MOVE 1 Junk")
	if got := s.Check(t, body).Verdict; got != "spam" {
		t.Errorf("moved into Junk again: %s", got)
	}
	if strings.Contains(d.Log(), "Error") {
		t.Errorf("errors in Dovecot's log:\n%s", d.Log())
	}
}

// Mail that the server itself files into Junk is not reported.
func TestDovecotDelivery(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s).Start()
	h := &reportLog{s: s}
	c := d.Login(anna)
	c.Put("INBOX", harness.Message(harness.Text())) // this creates her home
	d.Deliver(anna, sieveRule(t), harness.Message(harness.Text(), "X-Spambloom: spam; kind=text; count=1; sites=1; site=mx1; id=text:6f1ed002ab559585"))
	if n := c.Count("Junk"); n != 1 {
		t.Errorf("%d mails in Junk, want the delivered one", n)
	}
	h.expect("filed at delivery")
	c.Do("SELECT Junk")
	c.Do("MOVE 1 INBOX")
	h.expect("the user's word about it", "revoke "+anna)
}

// sieveRule returns the one in contrib/postfix.md.
func sieveRule(t *testing.T) string {
	t.Helper()
	guide, err := os.ReadFile(filepath.Join(harness.Repository, "contrib/postfix.md"))
	testenv.Check(t, err)
	_, rule, _ := strings.Cut(string(guide), "Sieve files such mail with:\n\n```\n")
	rule, _, found := strings.Cut(rule, "```")
	if !found {
		t.Fatal("no Sieve rule in contrib/postfix.md")
	}
	return rule
}

// Mail programs that set keywords and move nothing.
func TestDovecotKeywords(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s, "#imapsieve_mailbox3", "imapsieve_mailbox3").Start()
	h := &reportLog{s: s}
	c := d.Login(anna)
	c.Put("INBOX", harness.Message(harness.Text()))
	c.Do("SELECT INBOX")
	for _, step := range []struct{ command, want string }{
		{`STORE 1 +FLAGS (NonJunk)`, ""}, // mail programs do that by themselves
		{`STORE 1 +FLAGS ($NotJunk \Seen)`, ""},
		{`STORE 1 +FLAGS ($Junk)`, "report " + anna},
		{`STORE 1 +FLAGS ($Junk)`, ""},
		{`STORE 1 -FLAGS ($Junk)`, "revoke " + anna},
		{`STORE 1 FLAGS (Junk)`, "report " + anna},
		{`STORE 1 FLAGS (NonJunk)`, "revoke " + anna},
		{`STORE 1 +FLAGS (NotMyJunk)`, ""},
	} {
		c.Do(step.command)
		var want []string
		if step.want != "" {
			want = []string{step.want}
		}
		h.expect(step.command, want...)
	}
}

// Whatever fails afterwards, the move succeeds, and Dovecot's log reports the failure.
func TestDovecotFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		spoil func(t *testing.T, s *harness.Site, d *dovecot.Server)
		want  string
	}{
		{"no wrapper", func(t *testing.T, _ *harness.Site, d *dovecot.Server) {
			testenv.Check(t, os.Remove(filepath.Join(d.Dir, "lib/spambloom-imap")))
		}, "failed to pipe message to program `spambloom-imap'"},
		{"no command", func(t *testing.T, _ *harness.Site, d *dovecot.Server) {
			testenv.Check(t, os.Remove(filepath.Join(d.Dir, "spambloom")))
		}, "spambloom-imap: report by " + anna + ": exit code 127: "},
		{"no permission", func(t *testing.T, s *harness.Site, _ *dovecot.Server) {
			testenv.Check(t, os.Chmod(strings.TrimPrefix(s.Control, "unix:"), 0))
		}, "spambloom-imap: report by " + anna + ": exit code 77: "},
		{"no delegate", func(t *testing.T, s *harness.Site, _ *dovecot.Server) {
			s.Configure(t, fmt.Sprintf("delegates = [%q]", dovecot.ReportUser), "delegates = []")
			s.Reload(t, `"reloaded"`)
		}, dovecot.ReportUser + " may not speak for " + anna},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newMailSite(t).Start()
			d := dovecot.New(t, s).Start()
			test.spoil(t, s, d)
			c := d.Login(anna)
			c.Put("INBOX", harness.Message(harness.Text()))
			c.Do("SELECT INBOX")
			c.Do("MOVE 1 Junk")
			if in, junk := c.Count("INBOX"), c.Count("Junk"); in != 0 || junk != 1 {
				t.Errorf("%d mails in INBOX, %d in Junk", in, junk)
			}
			d.ExpectLog(test.want)
		})
	}
}

// Other output of the command besides "accepted" appears in Dovecot's log, too.
func TestDovecotWrapper(t *testing.T) {
	t.Parallel()
	command := filepath.Join(t.TempDir(), "spambloom")
	for _, test := range []struct {
		says       string
		code, want int
		logged     bool
	}{
		{"-: accepted; id=body:0011", 0, 0, false},
		{"-: queued; no daemon answers", 0, 0, true},
		{"spambloom: warning: a report that waited since then is dropped: no\n-: accepted", 0, 0, true},
		{"spambloom: error: -: too little content to sign; message-id=<1@example.org>", 65, 65, true},
		{"spambloom: error: no permission", 77, 77, true},
	} {
		script := fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' '%s'\nexit %d\n", test.says, test.code)
		testenv.Check(t, os.WriteFile(command, []byte(script), 0o755))
		var log strings.Builder
		wrapper := exec.Command(filepath.Join(harness.Repository, "contrib/dovecot/spambloom-imap"), "report", anna)
		wrapper.Env = append(os.Environ(), "SPAMBLOOM_COMMAND="+command)
		wrapper.Stderr = &log
		err := wrapper.Run()
		if code := wrapper.ProcessState.ExitCode(); code != test.want || (log.Len() > 0) != test.logged || test.logged && !strings.Contains(log.String(), lastLine(test.says)) {
			t.Errorf("%q: exit code %d, want %d: %v; log %q", test.says, code, test.want, err, &log)
		}
	}
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// A mail that can never be reported is moved, and is a failure in Dovecot's log, with the
// reason and its Message-ID.
func TestDovecotNotReportable(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s).Start()
	h := &reportLog{s: s}
	c := d.Login(anna)
	never := harness.Write(t, filepath.Join(s.Dir, "never.eml"), harness.Message(harness.Text(), "X-Declared: yes"))
	if r := s.CLI("never", never); r.Code != 0 {
		t.Fatalf("never: %+v", r)
	}
	h.news()
	declared, err := os.ReadFile(never)
	testenv.Check(t, err)
	id := regexp.MustCompile(`(?m)^Message-ID: (.*?)\r$`)
	short := harness.Message("too short\r\n")
	for mail, want := range map[string]string{
		short:                                 "too little content to sign; message-id=" + id.FindStringSubmatch(short)[1],
		string(declared):                      "the message is on the never-list; message-id=" + id.FindStringSubmatch(string(declared))[1],
		"X-Odd: yes\r\n\r\n" + harness.Text(): "not an e-mail message: no header",
	} {
		c.Put("INBOX", mail)
		c.Do("SELECT INBOX")
		c.Do("MOVE 1 Junk")
		if in := c.Count("INBOX"); in != 0 {
			t.Errorf("%d mails in INBOX", in)
		}
		d.ExpectLog("spambloom-imap: not reportable: report by " + anna + ": exit code 65: spambloom: error: -: " + want)
	}
	if junk := c.Count("Junk"); junk != 3 {
		t.Errorf("%d mails in Junk, want 3", junk)
	}
	h.expect("nothing is accepted")
	testenv.Eventually(t, "Dovecot takes each for a failure", func() bool { return strings.Count(d.Log(), "sieve: failed to execute") >= 3 })
}

// While the daemon is down the move succeeds, the report waits, and the line for cron
// delivers it.
func TestDovecotQueue(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s).Start()
	h := &reportLog{s: s}
	c := d.Login(anna)
	body := harness.Text()
	c.Put("INBOX", harness.Message(body))
	s.Stop(syscall.SIGKILL)
	c.Do("SELECT INBOX")
	c.Do("MOVE 1 Junk")
	if n := c.Count("Junk"); n != 1 {
		t.Errorf("%d mails in Junk, want 1", n)
	}
	d.ExpectLog("spambloom-imap: report by " + anna + ": exit code 0: -: queued; ")
	s.Start()
	h.expect("the daemon is back")

	line := d.Paths.Replace(harness.PageBlock(t, "mailbox.md", "*/5 "))
	_, command, _ := strings.Cut(line, "spambloom-report ")
	cron := exec.CommandContext(t.Context(), "sh", "-c", command)
	cron.Env = d.Environment(s)
	cron.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{
		Uid: uint32(harness.UserID(t, dovecot.ReportUser)), Gid: uint32(harness.GroupID(t, dovecot.ControlGroup))}}
	if out, err := cron.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", command, err, out)
	}
	h.expect("the line for cron", "report "+anna)
	if got := s.Check(t, body).Verdict; got != "spam" {
		t.Errorf("delivered: %s", got)
	}
}

// If many mails are moved at once all are reported, including those after one that cannot
// be. The time is logged, because the mail program waits for it.
func TestDovecotManyMails(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	d := dovecot.New(t, s).Start()
	h := &reportLog{s: s}
	c := d.Login(anna)
	const mails = 20
	c.Put("INBOX", harness.Message("too short\r\n"))
	for range mails {
		c.Put("INBOX", harness.Message(harness.Text()))
	}
	c.Do("SELECT INBOX")
	begin := time.Now()
	c.Do("MOVE 1:* Junk")
	t.Logf("%d mails moved into Junk and reported in %v", mails+1, time.Since(begin).Round(time.Millisecond))
	h.expect("moved all at once", slices.Repeat([]string{"report " + anna}, mails)...)
	const line = "spambloom-imap: not reportable: report by " + anna + ": exit code 65: "
	d.ExpectLog(line)
	if n := strings.Count(d.Log(), line); n != 1 {
		t.Errorf("%d lines in Dovecot's log about the short mail", n)
	}
}
