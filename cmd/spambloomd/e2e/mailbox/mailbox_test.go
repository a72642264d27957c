package mailbox

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/dovecot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The parts of contrib/mailbox.md besides Dovecot's Junk folder: each line is run with its
// program.

// shellUser prepares a home, and an environment in which the command is found and finds the
// daemon.
func shellUser(t *testing.T, s *harness.Site) (home string, env []string) {
	t.Helper()
	home = testenv.Dir(t)
	return home, append(os.Environ(), "HOME="+home, "TERM=xterm", "SPAMBLOOM_CONTROL="+s.Control,
		"PATH="+filepath.Dir(harness.Program(t, "spambloom"))+":"+os.Getenv("PATH"))
}

func runAs(t *testing.T, home string, env []string, stdin io.Reader, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = home, env, stdin
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

func loginName(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	testenv.Check(t, err)
	return u.Username
}

// unixMail is a message with the line ends of Unix.
func unixMail(body string) string { return strings.ReplaceAll(harness.Message(body), "\r\n", "\n") }

// quitting types a q every half second. mutt reads it when no pushed key is left.
type quitting struct{}

func (quitting) Read(p []byte) (int, error) {
	time.Sleep(time.Second / 2)
	return copy(p, "q"), nil
}

// muttUser returns a user of a site, and press, which opens a folder in mutt with the lines of mailbox.md.
func muttUser(t *testing.T) (s *harness.Site, h *reportLog, home string, press func(folder, keys string)) {
	testenv.Program(t, "mutt")
	testenv.Program(t, "script") // gives it a terminal
	s = harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	home, env := shellUser(t, s)
	harness.Write(t, filepath.Join(home, "muttrc"), harness.PageBlock(t, "mailbox.md", "set pipe_decode")+"set folder=~ wait_key=no quit=yes beep=no\n")
	return s, &reportLog{s: s}, home, func(folder, keys string) {
		// A key that does nothing drops those pushed behind it: the typed ones end mutt.
		runAs(t, home, env, quitting{}, "script", "-qec", fmt.Sprintf(`mutt -n -F muttrc -f %s -e 'push "%s"'`, folder, keys), "typescript")
	}
}

func TestMutt(t *testing.T) {
	t.Parallel()
	s, h, home, press := muttUser(t)
	bodies := []string{harness.Text(), harness.Text()}
	var mbox strings.Builder
	for _, body := range bodies {
		mbox.WriteString("From x@y Sat Nov 21 18:00:00 2026\n" + unixMail(body) + "\n")
	}
	harness.Write(t, filepath.Join(home, "mbox"), mbox.String())
	press("mbox", "Sq")
	h.expect("S on one message", "report "+loginName(t))
	press("mbox", "Xq")
	h.expect("X on one message", "revoke "+loginName(t))
	press("mbox", "T.<enter>;Sq")
	h.expect("S on two tagged ones", "report "+loginName(t), "report "+loginName(t))
	if got := s.Check(t, bodies[1]).Verdict; got != "spam" {
		t.Errorf("the second message: %s", got)
	}

	letter := harness.Text()
	harness.Write(t, filepath.Join(home, "mbox"), "From x@y Sat Nov 21 18:00:00 2026\n"+strings.ReplaceAll(attachedTo(harness.Text(), harness.Message(letter)), "\r\n", "\n"))
	press("mbox", "v2<enter><enter>S")
	h.expect("S on an attachment")
	press("mbox", "<enter>Sqq")
	h.expect("S on the mail that carries it", "report "+loginName(t))
	if got := s.Check(t, letter).Verdict; got != "clean" {
		t.Errorf("the attachment: %s", got)
	}
}

func makeMaildir(t *testing.T, home string) {
	t.Helper()
	for _, sub := range []string{"new", "tmp", "cur"} {
		testenv.Check(t, os.MkdirAll(filepath.Join(home, "maildir", sub), 0o700))
	}
}

// While the pager shows a mail, another program moves that away, and the next one is under the cursor.
func TestMuttMailThatIsGone(t *testing.T) {
	t.Parallel()
	s, h, home, press := muttUser(t)
	makeMaildir(t, home)
	next := harness.Text()
	harness.Write(t, filepath.Join(home, "maildir", "cur", "1.x.y:2,S"), unixMail(harness.Text()))
	harness.Write(t, filepath.Join(home, "2.x.y:2,S"), unixMail(next))
	harness.Write(t, filepath.Join(home, "swap"), "mv maildir/cur/1* . && mv 2* maildir/cur\n")
	press("maildir", "<enter><shell-escape>sh swap<enter>S")
	h.expect("S on a mail that is gone")
	if got := s.Check(t, next).Verdict; got != "clean" {
		t.Errorf("the next mail: %s", got)
	}
	press("maildir", "<enter>Sqq")
	h.expect("S on the next mail", "report "+loginName(t))
}

// Mutt ends the header at a field with a blank before its colon, which other programs read, and pipes the rest as
// text: here a newsletter that the page hides. The file reports the spam itself.
func TestMuttSplitsHeader(t *testing.T) {
	t.Parallel()
	s, h, home, press := muttUser(t)
	makeMaildir(t, home)
	letter := harness.Text()
	spam := unixMail("<p>" + harness.Text() + "<div style=\"display:none\">" + letter + "</div>")
	spam = strings.NewReplacer("\nMIME", "\nX-Mailer : x\nMIME", "text/plain", "text/html").Replace(spam)
	file := harness.Write(t, filepath.Join(home, "maildir", "cur", "1.x.y:2,S"), spam)
	for _, keys := range []string{"Sq", "Xq", "<enter>Sqq"} {
		press("maildir", keys)
		h.expect(keys + " on a mail whose header mutt splits")
	}
	if got := s.Check(t, letter).Verdict; got != "clean" {
		t.Errorf("the newsletter: %s", got)
	}
	appendTo(t, filepath.Join(home, "muttrc"), "set mime_forward=yes sendmail='tee sent' editor=true copy=no fast_reply=yes abort_unmodified=no from="+anna+"\n")
	press("maildir", "freport@example.test<enter>y")
	report := harness.Program(t, "spambloom") + " --control " + s.Control + " report "
	if r := harness.Execute(t, home, "sh", "-c", report+"--attached - <sent"); r.Code != 65 || !strings.Contains(r.Stderr, "attached message 1: the body begins with the rest of a header") {
		t.Errorf("what mutt forwards: %+v", r)
	}
	h.expect("what mutt forwards")
	if r := harness.Execute(t, home, "sh", "-c", report+file); r.Code != 0 {
		t.Errorf("the file: %+v", r)
	}
	h.expect("its file", "report "+loginName(t))
	if got := s.Check(t, letter).Verdict; got != "clean" {
		t.Errorf("the newsletter after the report of the file: %s", got)
	}
}

func TestProcmail(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "procmail")
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	h := &reportLog{s: s}
	home, env := shellUser(t, s)
	deliver := func(recipe, mail string) {
		rc := harness.Write(t, filepath.Join(home, "procmailrc"), "MAILDIR="+home+"\nDEFAULT=inbox/\nSHELL=/bin/sh\n"+
			"PATH="+filepath.Dir(harness.Program(t, "spambloom"))+":/usr/bin:/bin\nSPAMBLOOM_CONTROL="+s.Control+"\n"+
			harness.PageBlock(t, "mailbox.md", recipe))
		runAs(t, home, env, strings.NewReader(mail), "procmail", "-m", rc)
	}
	spam := unixMail(harness.Text())
	deliver(":0 HB", spam)
	deliver(":0 HB", strings.Replace(spam, "you@example.test", "trap@example.org", 1)) // it is not the trap's
	deliver(":0 Wc", spam)
	h.expect("mail to the trap", "report "+loginName(t))
	deliver(":0 HB", spam)
	s.Stop(9)
	deliver(":0 HB", spam)
	for folder, want := range map[string]int{"inbox/new/*": 4, "Junk/new/*": 1} {
		if got, _ := filepath.Glob(filepath.Join(home, folder)); len(got) != want {
			t.Errorf("%s: %d mails, want %d", folder, len(got), want)
		}
	}
}

// The lines for Roundcube are run as by its plugin: quoted values replace %u and %f, and a
// shell runs them. The mail is one message, even if it begins like an mbox.
func TestRoundcubeLines(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "").Start()
	h := &reportLog{s: s}
	home, env := shellUser(t, s)
	const postmark = "From x@example.net Sat Nov 21 18:00:00 2026\r\n"
	mail := harness.Write(t, filepath.Join(home, "rcmSALearn"), postmark+harness.Message(harness.Text())+"\r\n"+postmark+harness.Message(harness.Text()))
	for line := range strings.Lines(harness.PageBlock(t, "mailbox.md", "$config['markasjunk")) {
		_, command, _ := strings.Cut(line, "_cmd'] = '")
		command, _, found := strings.Cut(command, " | logger")
		if !found {
			continue // the name of the driver
		}
		runAs(t, home, env, nil, "sh", "-c", strings.NewReplacer("%u", "'"+anna+"'", "%f", "'"+mail+"'").Replace(command))
	}
	h.expect("both lines", "report "+anna, "revoke "+anna)
}

// The Sieve script for a trap's address, at delivery.
func TestDovecotTrap(t *testing.T) {
	t.Parallel()
	s := newMailSite(t).Start()
	h := &reportLog{s: s}
	d := dovecot.New(t, s, "  sieve_pipe_socket_dir", "  sieve_before = /etc/dovecot/sieve/trap.sieve\n  sieve_pipe_socket_dir").Start()
	script := harness.Write(t, filepath.Join(d.Dir, "sieve/trap.sieve"), harness.PageBlock(t, "mailbox.md", `require ["copy", "envelope"`))
	testenv.Check(t, os.Chmod(script, 0o644))
	if r := harness.Execute(t, "", "sievec", "-c", d.Conf(), script); r.Code != 0 {
		t.Fatalf("sievec: %+v", r)
	}
	d.Login(anna).Put("INBOX", harness.Message(harness.Text())) // this creates her home
	d.Deliver(anna, "keep;", harness.Message(harness.Text()), "-a", anna)
	h.expect("mail to a person")
	d.Deliver(anna, "keep;", harness.Message(harness.Text()), "-a", "trap@example.org")
	h.expect("mail to the trap", "report trap")
}

// Users whose mailboxes have their own uid report for themselves.
func TestDovecotSystemUsers(t *testing.T) {
	t.Parallel()
	s := newMailSite(t)
	s.Configure(t, fmt.Sprintf("group = %q", dovecot.ControlGroup), fmt.Sprintf("group = %q", dovecot.MailOwner))
	s.Start()
	conf, err := os.ReadFile(filepath.Join(harness.Repository, "contrib/dovecot/90-spambloom.conf"))
	testenv.Check(t, err)
	service := string(conf[strings.Index(string(conf), "service spambloom-imap {"):])
	d := dovecot.New(t, s, "  sieve_pipe_socket_dir = .\n", "", service, harness.PageBlock(t, "mailbox.md", "plugin {\n  sieve_pipe_bin_dir"),
		"vsz_limit = 4G", "vsz_limit = 0") // the race detector needs it all
	d.Start()
	wrapper := filepath.Join(d.Dir, "lib/spambloom-imap")
	script, err := os.ReadFile(wrapper)
	testenv.Check(t, err)
	harness.Write(t, wrapper, strings.Replace(string(script), "set -u", "set -u\nexport "+strings.Join(d.Environment(s), " "), 1))
	h := &reportLog{s: s}
	for _, test := range []struct{ login, want string }{
		{dovecot.MailOwner, "report " + dovecot.MailOwner},
		{anna, ""}, // another user's name
	} {
		c := d.Login(test.login)
		c.Put("INBOX", harness.Message(harness.Text()))
		c.Do("SELECT INBOX")
		c.Do("MOVE 1 Junk")
		var want []string
		if test.want != "" {
			want = []string{test.want}
		}
		h.expect(test.login, want...)
	}
	d.ExpectLog(dovecot.MailOwner + " may not speak for " + anna)
}
