package doors

import (
	"errors"
	"fmt"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// eximConf is a server that delivers all mail to one folder. The lines of the guide are
// inserted.
const eximConf = `exim_path = %[1]s
spool_directory = %[2]s/spool
log_file_path = %[2]s/log/%%s
primary_hostname = mx.example.org
tls_advertise_hosts =
keep_environment =
%[3]s
acl_smtp_rcpt = acl_check_rcpt
acl_smtp_data = acl_check_data
begin acl
acl_check_rcpt:
  accept
acl_check_data:
%[4]s
  accept
begin routers
all:
  driver = accept
  transport = file
begin transports
file:
  driver = appendfile
  directory = %[2]s/mail
  maildir_format
  user = nobody
begin retry
`

// exim is a real Exim, unpacked by make test: its package excludes Postfix'. Debian's Exim
// looks its user up, so that it sees a file of users of its own.
type exim struct {
	t       *testing.T
	dir     string
	program string
}

func newExim(t *testing.T, settings, rules string) *exim {
	t.Helper()
	testenv.Root(t)
	x := &exim{t: t, dir: testenv.Dir(t)}
	program, err := os.ReadFile(filepath.Join(testenv.Unpacked("exim"), "usr/sbin/exim4"))
	testenv.Need(t, err == nil, "exim4")
	x.program = filepath.Join(x.dir, "exim4") // its other user may not enter the cache
	if err := errors.Join(os.WriteFile(x.program, program, 0o600), os.Chmod(x.program, 0o755)); err != nil {
		t.Fatal(err)
	}
	nobody := harness.UserID(t, "nobody")
	for _, name := range []string{"spool", "mail", "log"} {
		if err := os.Mkdir(filepath.Join(x.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(x.dir, name), nobody, 0); err != nil {
			t.Fatal(err)
		}
	}
	users, err := os.ReadFile("/etc/passwd")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := os.ReadFile("/etc/group")
	if err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{
		"passwd": string(users) + fmt.Sprintf("Debian-exim:x:%d:0::/nonexistent:/usr/sbin/nologin\n", nobody),
		"group":  string(groups) + fmt.Sprintf("Debian-exim:x:%d:\n", nobody),
		"conf":   fmt.Sprintf(eximConf, x.program, x.dir, settings, rules),
	} {
		if err := os.Chmod(harness.Write(t, filepath.Join(x.dir, path), text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

// send submits a mail by SMTP and returns the last answer to it.
func (x *exim) send(text string) (answer string) {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), testenv.Program(x.t, "unshare"), "--mount", "sh", "-c",
		`mount --bind "$0/passwd" /etc/passwd && mount --bind "$0/group" /etc/group && exec "$1" -C "$0/conf" -odf -bs -oMa 192.0.2.9`, x.dir, x.program)
	dots := strings.ReplaceAll(text, "\n.", "\n..")
	cmd.Stdin = strings.NewReader("EHLO client\r\nMAIL FROM:<someone@example.net>\r\nRCPT TO:<you@example.test>\r\nDATA\r\n" + dots + "\r\n.\r\nQUIT\r\n")
	var log strings.Builder
	cmd.Stderr = &log
	out, err := cmd.Output()
	if err != nil && !strings.Contains(string(out), "221 ") {
		x.t.Fatalf("exim: %v\n%s%s", err, out, &log)
	}
	_, after, ok := strings.Cut(string(out), "354 ")
	if !ok {
		x.t.Fatalf("exim:\n%s", out)
	}
	lines := strings.Split(after, "\r\n")
	return lines[1]
}

// delivered returns the only delivered mail and removes it; nil if there is none.
func (x *exim) delivered() *mail.Message {
	x.t.Helper()
	found, err := filepath.Glob(filepath.Join(x.dir, "mail/new/*"))
	if err != nil || len(found) > 1 {
		x.t.Fatalf("%v: %q", err, found)
	}
	if len(found) == 0 {
		return nil
	}
	text, err := os.ReadFile(found[0])
	if err == nil {
		err = os.Remove(found[0])
	}
	if err != nil {
		x.t.Fatal(err)
	}
	m, err := mail.ReadMessage(strings.NewReader(string(text)))
	if err != nil {
		x.t.Fatalf("%v:\n%s", err, text)
	}
	return m
}

// reported reports a mail by the control socket.
func (d *door) reported(t *testing.T, text string) string {
	t.Helper()
	d.MustReport(t, api.NewRequest(signature.Compute(signature.Parse([]byte(text)))))
	return text
}

// The guide's lines for Exim: spam has the flag and the verdict, other mail and mail that
// cannot be judged have neither, and forged ones are removed. Mail passes without the daemon.
func TestExim(t *testing.T) {
	d := startDoor(t, "")
	rules := harness.PageBlock(t, "spamd.md", "  warn    remove_header")
	setting := strings.ReplaceAll(harness.PageBlock(t, "spamd.md", "spamd_address = /run"), "/run/spambloom/spamd.sock", d.socket)
	x := newExim(t, setting, rules)
	expect := func(what, text string, isSpam bool) {
		t.Helper()
		if answer := x.send(text); !strings.HasPrefix(answer, "250 OK") {
			t.Fatalf("%s: %s", what, answer)
		}
		m := x.delivered()
		if m == nil {
			t.Fatalf("%s: not delivered", what)
		}
		flag, verdict := m.Header["X-Spam-Flag"], m.Header["X-Spambloom"]
		if isSpam && (len(flag) != 1 || flag[0] != "YES" || len(verdict) != 1 || !strings.HasPrefix(verdict[0], "spam; kind=")) {
			t.Errorf("%s: %q, %q", what, flag, verdict)
		}
		if !isSpam && len(flag)+len(verdict) > 0 {
			t.Errorf("%s: %q, %q", what, flag, verdict)
		}
	}
	forged := []string{"X-Spam-Flag: NO", "X-Spambloom: clean"}
	spam := d.reported(t, harness.Message(harness.Text(), forged...))
	expect("spam", spam, true)
	expect("other mail", harness.Message(harness.Text(), "X-Spam-Flag: YES", "X-Spambloom: spam; kind=body"), false)
	expect("too little to judge", harness.Message("hi\r\n"), false)
	d.Stop(syscall.SIGTERM)
	expect("spam without a daemon", spam, false)
}

// Mail that the daemon cannot judge is not spam for Exim, which compares the score with the
// threshold of the answer itself.
func TestEximPassesWhatIsNotJudged(t *testing.T) {
	d := startDoor(t, "[milter]\njudge_timeout = \"1s\"\nmax_message = \"64KiB\"\noversize = \"skip\"\n")
	setting := "spamd_address = " + d.socket
	x := newExim(t, setting, "  deny message = reported as spam\n       spam = nobody/defer_ok\n")
	long := d.reported(t, harness.Message(strings.Repeat(harness.Text(), 200)))
	if answer := x.send(long); !strings.HasPrefix(answer, "250 OK") || x.delivered() == nil {
		t.Errorf("a mail that is skipped: %s", answer)
	}
	spam := d.reported(t, harness.Message(harness.Text()))
	if answer := x.send(spam); answer != "550 reported as spam" || x.delivered() != nil {
		t.Errorf("spam: %s", answer)
	}
}
