package mta

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/sendmail"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// setUp runs spambloom setup for a site.
func setUp(t *testing.T, s *harness.Site, args ...string) harness.Result {
	t.Helper()
	return s.CLI(append([]string{"setup", "-c", filepath.Join(s.Dir, "spambloom.toml"), "--data", filepath.Join(s.Dir, "state"),
		"--sendmail", "/nonexistent", "--rspamd", "/nonexistent", "--spamassassin", "/nonexistent"}, args...)...)
}

// expectLines checks lines of an output by their beginnings, in this order.
func expectLines(t *testing.T, r harness.Result, code int, wants ...string) {
	t.Helper()
	rest := "\n" + r.Stdout
	for _, want := range wants {
		_, after, found := strings.Cut(rest, "\n"+want)
		if !found {
			t.Fatalf("no line %q after the earlier ones; exit code %d:\n%s%s", want, r.Code, r.Stdout, r.Stderr)
		}
		rest = after
	}
	if r.Code != code {
		t.Errorf("exit code %d, want %d:\n%s%s", r.Code, code, r.Stdout, r.Stderr)
	}
}

// A Postfix with another milter, in a chroot: setup shows what it would do, does it, tries it
// with mail that is judged, does nothing the second time, and takes it back.
func TestSetupPostfix(t *testing.T) {
	t.Parallel()
	p := harness.NewPostfix(t)
	p.Start("mx1", "inet:127.0.0.1:1", "y")
	s := harness.NewSite(t, "mx1", filepath.Join(testenv.Dir(t), "key"), "")
	config := filepath.Join(s.Dir, "spambloom.toml")
	s.Configure(t, "listen = [\"inet:0@127.0.0.1\"]\n", "listen = [\"inet:8899@127.0.0.1\"]\n") // the default: not an administrator's choice
	before := readAll(t, config, p.Dir+"/etc/main.cf")
	flags := []string{"--postfix", p.Dir + "/etc", "--server", p.Addr, "--to", "you@example.test", "--mailbox", p.Dir + "/mail/box"}

	r := setUp(t, s, flags...)
	socket := p.Dir + "/spool/spambloom/milter.sock"
	expectLines(t, r, 0, "Found: Postfix ("+p.Dir+"/etc/main.cf)", "new folder "+filepath.Dir(socket)+", root:postfix, mode 2750",
		"-listen = ", "+group = \"postfix\"", "+listen = [\"unix:"+socket+"\"]", "by hand: restart the daemon",
		"+smtpd_milters = { unix:spambloom/milter.sock, default_action=accept }, { inet:127.0.0.1:1, default_action=accept }", "setup runs: postfix -c ")
	if got := readAll(t, config, p.Dir+"/etc/main.cf"); got != before {
		t.Errorf("changed without --yes:\n%s", got)
	}

	r = setUp(t, s, append(flags, "--yes", "--restart", "true", "--trial=false")...)
	expectLines(t, r, 1, "WARNING  daemon  mail is not judged: no daemon answers on unix:", "OK       milter  Postfix asks unix:spambloom/milter.sock")
	s.Start()
	r = setUp(t, s, append(flags, "--yes")...)
	expectLines(t, r, 0, "Nothing to change.",
		"OK       mail    Postfix handed a mail for you@example.test to the daemon: X-Spambloom: clean; kind=",
		"OK       report  reported; the next copy is spam: X-Spambloom: spam; kind=body;",
		"OK       revoke  the report was revoked, and the mail is clean again",
		"OK       milter  the user postfix may connect to "+socket)
	if strings.Contains(r.Stdout, "WARNING  milter") || strings.Contains(r.Stdout, "WARNING  daemon") {
		t.Errorf("a warning:\n%s", r.Stdout)
	}

	s.Configure(t, "local_networks = []", `local_networks = ["127.0.0.0/8"]`)
	expectLines(t, setUp(t, s, append(flags, "--yes")...), 0, "SKIPPED  mail    no mail was sent: all addresses of this machine")
	s.Configure(t, `local_networks = ["127.0.0.0/8"]`, "local_networks = []")
	expectLines(t, setUp(t, s, append(flags, "--yes", "--to", "you@elsewhere.test")...), 1, "WARNING  mail    Postfix refused the mail for you@elsewhere.test", " ")

	s.Stop(syscall.SIGTERM)
	r = setUp(t, s, append(flags, "--yes", "--remove", "--restart", "true")...)
	expectLines(t, r, 0, "-smtpd_milters = ", "-group = ", "remove "+filepath.Dir(socket))
	if main := readAll(t, p.Dir+"/etc/main.cf"); !strings.HasSuffix(before, main) {
		t.Errorf("main.cf after --remove:\n%s", main)
	}
	if _, err := os.Stat(filepath.Dir(socket)); !os.IsNotExist(err) {
		t.Errorf("the folder of the socket after --remove: %v", err)
	}
	expectLines(t, setUp(t, s, append(flags, "--yes", "--remove")...), 0, "Nothing to change.")
}

// A Sendmail whose sendmail.mc lists no filter. Its Makefile calls m4, like that of Debian.
func TestSetupSendmail(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "make")
	m := sendmail.New(t)
	m.Start("inet:1@127.0.0.1")
	s := harness.NewSite(t, "mx1", filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, `listen = ["inet:0@127.0.0.1"]`, `listen = ["unix:`+m.Dir+`/milter.sock"]`) // for another folder than /run
	s.Start()
	etc := testenv.Dir(t)
	mc := readAll(t, filepath.Join(harness.Repository, "cmd/spambloomd/e2e/harness/sendmail/sendmail.mc"))
	mc = regexp.MustCompile("(?ms)^ifdef\\(`TEST_(VERIFIER|SECOND_MILTER)'.*?^'\\)dnl\n").ReplaceAllString(mc, "")
	mc = regexp.MustCompile("(?m)^.*spambloom.*\n").ReplaceAllString(mc, "")
	harness.Write(t, etc+"/sendmail.mc", mc)
	harness.Write(t, etc+"/sendmail.cf", readAll(t, m.Dir+"/sendmail.cf"))
	harness.Write(t, etc+"/Makefile", "sendmail.cf: sendmail.mc\n\tm4 '"+strings.Join(m.M4, "' '")+"' sendmail.mc >sendmail.cf\n\tcp sendmail.cf "+m.Dir+"/sendmail.cf\n")
	flags := []string{"--postfix", "/nonexistent", "--sendmail", etc, "--server", fmt.Sprintf("127.0.0.1:%d", m.Port),
		"--to", "you@example.test", "--mailbox", m.Maildir, "--reload", "kill -HUP $(head -1 " + m.Dir + "/pid)"}

	r := setUp(t, s, append(flags, "--yes")...)
	expectLines(t, r, 0, "Found: Sendmail ("+etc+"/sendmail.mc)", "+INPUT_MAIL_FILTER(`spambloom', `S=unix:"+m.Dir+"/milter.sock, T=",
		"setup runs: make -C "+etc, "OK       mail    Sendmail handed a mail for you@example.test to the daemon: X-Spambloom: clean; ",
		"OK       report  reported; the next copy is spam: X-Spambloom: spam; ", "OK       revoke", "OK       milter  Sendmail asks unix:")
	expectLines(t, setUp(t, s, append(flags, "--yes", "--trial=false")...), 0, "Nothing to change.")
	expectLines(t, setUp(t, s, append(flags, "--yes", "--remove", "--restart", "true")...), 0, "-INPUT_MAIL_FILTER")
	if got := readAll(t, etc+"/sendmail.mc"); got != mc {
		t.Errorf("sendmail.mc after --remove:\n%s", got)
	}
}

// readAll returns the texts of files.
func readAll(t *testing.T, paths ...string) (all string) {
	t.Helper()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		testenv.Check(t, err)
		all += string(text)
	}
	return all
}
