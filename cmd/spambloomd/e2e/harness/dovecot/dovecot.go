// Package dovecot starts a real Dovecot with contrib/dovecot, with its own folder and port,
// for the end-to-end tests, and connects to it as a user's mail program.
package dovecot

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Users and a group of every Debian, in place of those created on a mail server.
const (
	MailOwner    = "mail"   // vmail, the owner of the mailboxes
	ReportUser   = "backup" // spambloom-report, the delegate
	ControlGroup = "games"  // spambloom, the group of the control socket
)

// Server is a separate instance, with the mailboxes of example.test.
type Server struct {
	t       testing.TB
	Dir     string
	program string
	port    int
	cmd     *exec.Cmd
	ended   chan error
	Paths   *strings.Replacer // from the paths in contrib to this instance's
	changes []string          // see New
}

const dovecotConf = `
base_dir = %[1]s/run
state_dir = %[1]s/state
log_path = %[1]s/log
protocols = imap
listen = 127.0.0.1
ssl = no
disable_plaintext_auth = no
auth_mechanisms = plain
first_valid_uid = 1
first_valid_gid = 1
mail_location = maildir:~/Maildir
passdb {
  driver = static
  args = password=secret
}
userdb {
  driver = static
  args = uid=%[2]s gid=%[2]s home=%[1]s/mail/%%u allow_all_users=yes
}
service imap-login {
  inet_listener imap {
    port = %[3]d
  }
  inet_listener imaps {
    port = 0
  }
}
service auth {
  unix_listener %[1]s/auth-smtp {
    mode = 0666
  }
}
namespace inbox {
  inbox = yes
  mailbox Junk {
    special_use = \Junk
    auto = create
  }
  mailbox Trash {
    auto = create
  }
  mailbox Papierkorb {
    special_use = \Trash
    auto = create
  }
  mailbox "Deleted Items" {
    auto = create
  }
}
protocol lda {
  mail_plugins = $mail_plugins sieve
}
!include %[1]s/90-spambloom.conf
`

// New prepares an instance whose wrapper uses the daemon of s. Changes to
// contrib/dovecot/90-spambloom.conf are pairs of an old and a new text.
func New(t testing.TB, s *harness.Site, changes ...string) *Server {
	t.Helper()
	testenv.Root(t)
	d := &Server{t: t, Dir: testenv.Dir(t), program: testenv.Program(t, "dovecot"), port: testenv.Port(t), changes: changes}
	testenv.Program(t, "sievec")
	for _, name := range []string{"run", "state", "mail"} {
		testenv.Check(t, os.Mkdir(filepath.Join(d.Dir, name), 0o755))
	}
	testenv.Check(t, os.Chown(filepath.Join(d.Dir, "mail"), harness.UserID(t, MailOwner), -1))
	d.Paths = strings.NewReplacer(
		"/etc/dovecot/conf.d", d.Dir,
		"/etc/dovecot/sieve", d.Dir+"/sieve",
		"executable = script ", "executable = script /usr/bin/env "+strings.Join(d.Environment(s), " ")+" ",
		"/var/lib/spambloom-report", d.Dir+"/home",
		"/usr/bin/spambloom", d.copyCommand(),
		"/usr/local/lib/spambloom", d.Dir+"/lib",
		"user = spambloom-report", "user = "+ReportUser,
		"-o spambloom-report", "-o "+ReportUser,
		"group = spambloom", "group = "+ControlGroup,
		"user = vmail", "user = "+MailOwner,
		"sievec ", "sievec -c "+d.Conf()+" ",
	)
	harness.Write(t, d.Conf(), fmt.Sprintf(dovecotConf, d.Dir, MailOwner, d.port))
	return d
}

// Environment replaces the usual paths of a mail server for programs of this instance.
func (d *Server) Environment(s *harness.Site) []string {
	return []string{"GORACE=" + os.Getenv("GORACE"), "SPAMBLOOM_CONTROL=" + s.Control,
		"SPAMBLOOM_COMMAND=" + filepath.Join(d.Dir, "spambloom"), "SPAMBLOOM_QUEUE=" + filepath.Join(d.Dir, "home/queue")}
}

// Conf returns the path of the configuration.
func (d *Server) Conf() string { return filepath.Join(d.Dir, "dovecot.conf") }

// copyCommand copies spambloom to where the owner of the mailboxes may run it.
func (d *Server) copyCommand() string {
	d.t.Helper()
	path := filepath.Join(d.Dir, "spambloom")
	if r := harness.Execute(d.t, "", "install", "-m", "0755", harness.Program(d.t, "spambloom"), path); r.Code != 0 {
		d.t.Fatalf("install: %+v", r)
	}
	return path
}

// install runs the commands of contrib/mailbox.md that only affect files.
func (d *Server) install() {
	d.t.Helper()
	commands := harness.PageBlock(d.t, "mailbox.md", "useradd ") + harness.PageBlock(d.t, "mailbox.md", "systemctl restart dovecot")
	for command := range strings.Lines(commands) {
		switch program, _, _ := strings.Cut(strings.TrimSpace(command), " "); program {
		case "useradd", "systemctl":
			continue
		}
		if r := harness.Execute(d.t, harness.Repository, "sh", "-c", strings.ReplaceAll(d.Paths.Replace(command), "/usr/share/doc/spambloom/", "")); r.Code != 0 || r.Stderr != "" {
			d.t.Fatalf("%s: %+v", command, r)
		}
		if strings.Contains(command, "90-spambloom.conf") {
			d.edit()
		}
	}
}

// edit changes the installed configuration like an administrator.
func (d *Server) edit() {
	d.t.Helper()
	path := filepath.Join(d.Dir, "90-spambloom.conf")
	text, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	conf := string(text)
	for i := 0; i < len(d.changes); i += 2 {
		if !strings.Contains(conf, d.changes[i]) {
			d.t.Fatalf("no %q in\n%s", d.changes[i], conf)
		}
		conf = strings.ReplaceAll(conf, d.changes[i], d.changes[i+1])
	}
	harness.Write(d.t, path, d.Paths.Replace(conf))
}

// Start installs and runs the instance.
func (d *Server) Start() *Server {
	t := d.t
	t.Helper()
	d.install()
	d.cmd = exec.Command(d.program, "-F", "-c", d.Conf())
	testenv.Check(t, harness.StartChild(d.cmd))
	// Dovecot drops a report if it waits for a processor for 5 ms while it passes it on (contrib/mailbox.md),
	// which happens beside other tests. A container may forbid this.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, d.cmd.Process.Pid, -15)
	d.ended = make(chan error, 1)
	go func() { d.ended <- d.cmd.Wait() }()
	t.Cleanup(d.stop)
	testenv.Eventually(t, "Dovecot answers", func() bool {
		if len(d.ended) > 0 {
			t.Fatal("Dovecot ended at its start")
		}
		conn, err := net.Dial("tcp", d.addr())
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return d
}

func (d *Server) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)) }

func (d *Server) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	if err := <-d.ended; err != nil {
		d.t.Errorf("dovecot: %v", err)
	}
	if d.t.Failed() {
		d.t.Logf("Dovecot:\n%s", d.Log())
	}
}

// ExpectLog waits for a line: Dovecot answers a client before it writes the log.
func (d *Server) ExpectLog(want string) {
	d.t.Helper()
	testenv.Eventually(d.t, "Dovecot's log has "+want, func() bool { return strings.Contains(d.Log(), want) })
}

// Log returns what the instance has logged.
func (d *Server) Log() string {
	text, _ := os.ReadFile(filepath.Join(d.Dir, "log")) // none if Dovecot did not start
	return string(text)
}

// Deliver passes a mail to the user's local delivery, with a Sieve script.
func (d *Server) Deliver(user, script, mail string, flags ...string) {
	d.t.Helper()
	home := filepath.Join(d.Dir, "mail", user)
	harness.Write(d.t, filepath.Join(home, ".dovecot.sieve"), script)
	if err := os.Chown(filepath.Join(home, ".dovecot.sieve"), harness.UserID(d.t, MailOwner), harness.GroupID(d.t, MailOwner)); err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command("/usr/lib/dovecot/dovecot-lda", append(flags, "-c", d.Conf(), "-d", user)...)
	cmd.Stdin = strings.NewReader(mail)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("dovecot-lda: %v\n%s%s", err, out, d.Log())
	}
}

// Login connects as user, which creates the user's mailboxes.
func (d *Server) Login(user string) *IMAP {
	d.t.Helper()
	conn, err := net.DialTimeout("tcp", d.addr(), testenv.Patience)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	c := &IMAP{t: d.t, conn: conn, in: bufio.NewReader(conn)}
	c.line()
	c.Do(fmt.Sprintf("LOGIN %q secret", user))
	return c
}
