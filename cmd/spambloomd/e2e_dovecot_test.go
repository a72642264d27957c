package main

// A real Dovecot with contrib/dovecot, in a folder and on a port of its own. This
// file starts and stops it, and speaks IMAP to it.

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Users and a group that every Debian has, in the places of those that are made on
// a mail server.
const (
	mailOwner    = "mail"   // vmail, the owner of the mailboxes
	reportUser   = "backup" // spambloom-report, the delegate
	controlGroup = "games"  // spambloom, the group of the control socket
)

// dovecot is an own instance, with the mailboxes of example.test.
type dovecot struct {
	t       *testing.T
	dir     string
	program string
	port    int
	cmd     *exec.Cmd
	ended   chan error
	paths   *strings.Replacer // from those in contrib to this instance's
	changes []string          // see newDovecot
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

// newDovecot prepares an instance whose wrapper finds the daemon of s. The changes
// are those to contrib/dovecot/90-spambloom.conf: an old text and the new one, in turn.
func newDovecot(t *testing.T, s *site, changes ...string) *dovecot {
	t.Helper()
	need(t, os.Geteuid() == 0, "root, which Dovecot starts as")
	d := &dovecot{t: t, dir: folder(t), program: find(t, "dovecot"), port: freePort(t), changes: changes}
	find(t, "sievec")
	for _, name := range []string{"run", "state", "mail"} {
		if err := os.Mkdir(filepath.Join(d.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(d.dir, "mail"), userID(t, mailOwner), -1); err != nil {
		t.Fatal(err)
	}
	d.paths = strings.NewReplacer(
		"/etc/dovecot/conf.d", d.dir,
		"/etc/dovecot/sieve", d.dir+"/sieve",
		"executable = script ", "executable = script /usr/bin/env "+strings.Join(d.environment(s), " ")+" ",
		"/var/lib/spambloom-report", d.dir+"/home",
		"/usr/bin/spambloom", d.copyCommand(),
		"/usr/local/lib/spambloom", d.dir+"/lib",
		"user = spambloom-report", "user = "+reportUser,
		"-o spambloom-report", "-o "+reportUser,
		"group = spambloom", "group = "+controlGroup,
		"user = vmail", "user = "+mailOwner,
		"sievec ", "sievec -c "+d.conf()+" ",
	)
	write(t, d.conf(), fmt.Sprintf(dovecotConf, d.dir, mailOwner, d.port))
	return d
}

// environment is what programs of this instance find instead of what a mail server
// has in its usual places.
func (d *dovecot) environment(s *site) []string {
	return []string{"GORACE=" + os.Getenv("GORACE"), "SPAMBLOOM_CONTROL=" + s.control,
		"SPAMBLOOM_COMMAND=" + filepath.Join(d.dir, "spambloom"), "SPAMBLOOM_QUEUE=" + filepath.Join(d.dir, "home/queue")}
}

func (d *dovecot) conf() string { return filepath.Join(d.dir, "dovecot.conf") }

// copyCommand puts spambloom where the owner of the mailboxes may run it.
func (d *dovecot) copyCommand() string {
	d.t.Helper()
	path := filepath.Join(d.dir, "spambloom")
	if r := execute(d.t, "", "install", "-m", "0755", program(d.t, "spambloom"), path); r.code != 0 {
		d.t.Fatalf("install: %+v", r)
	}
	return path
}

// install runs the commands of contrib/mailbox.md that concern nothing but files.
func (d *dovecot) install() {
	d.t.Helper()
	commands := pageBlock(d.t, "mailbox.md", "useradd ") + pageBlock(d.t, "mailbox.md", "sievec ")
	for command := range strings.Lines(commands) {
		switch program, _, _ := strings.Cut(strings.TrimSpace(command), " "); program {
		case "useradd", "systemctl":
			continue
		}
		if r := execute(d.t, repository, "sh", "-c", d.paths.Replace(command)); r.code != 0 || r.stderr != "" {
			d.t.Fatalf("%s: %+v", command, r)
		}
		if strings.Contains(command, "90-spambloom.conf") {
			d.edit()
		}
	}
}

// edit does to the installed configuration what an administrator would.
func (d *dovecot) edit() {
	d.t.Helper()
	path := filepath.Join(d.dir, "90-spambloom.conf")
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
	write(d.t, path, d.paths.Replace(conf))
}

// start installs and runs the instance.
func (d *dovecot) start() *dovecot {
	t := d.t
	t.Helper()
	d.install()
	d.cmd = exec.Command(d.program, "-F", "-c", d.conf())
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.ended = make(chan error, 1)
	go func() { d.ended <- d.cmd.Wait() }()
	t.Cleanup(d.stop)
	eventually(t, "Dovecot answers", func() bool {
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

func (d *dovecot) addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(d.port)) }

func (d *dovecot) stop() {
	_ = d.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	if err := <-d.ended; err != nil {
		d.t.Errorf("dovecot: %v", err)
	}
	if d.t.Failed() {
		d.t.Logf("Dovecot:\n%s", d.log())
	}
}

func (d *dovecot) log() string {
	text, _ := os.ReadFile(filepath.Join(d.dir, "log")) // none where Dovecot did not start
	return string(text)
}

// deliver hands a mail to the user's local delivery, with a Sieve script.
func (d *dovecot) deliver(user, script, mail string, flags ...string) {
	d.t.Helper()
	home := filepath.Join(d.dir, "mail", user)
	write(d.t, filepath.Join(home, ".dovecot.sieve"), script)
	if err := os.Chown(filepath.Join(home, ".dovecot.sieve"), userID(d.t, mailOwner), groupID(d.t, mailOwner)); err != nil {
		d.t.Fatal(err)
	}
	cmd := exec.Command("/usr/lib/dovecot/dovecot-lda", append(flags, "-c", d.conf(), "-d", user)...)
	cmd.Stdin = strings.NewReader(mail)
	if out, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("dovecot-lda: %v\n%s%s", err, out, d.log())
	}
}

// imap is the connection of a user's mail program.
type imap struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	tag  int
}

// login connects as user, whose mailboxes exist from then on.
func (d *dovecot) login(user string) *imap {
	d.t.Helper()
	conn, err := net.DialTimeout("tcp", d.addr(), patience)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { conn.Close() })
	c := &imap{t: d.t, conn: conn, in: bufio.NewReader(conn)}
	c.line()
	c.do(fmt.Sprintf("LOGIN %q secret", user))
	return c
}

func (c *imap) line() string {
	c.t.Helper()
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		c.t.Fatal(err)
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		c.t.Fatalf("IMAP: %v", err)
	}
	return strings.TrimRight(line, "\r\n")
}

// do gives a command, waits until it is completed, and returns what the server
// said before. The test fails where the answer is not OK.
func (c *imap) do(command string) string {
	c.t.Helper()
	c.tag++
	tag := fmt.Sprintf("a%d ", c.tag)
	if _, err := c.conn.Write([]byte(tag + command + "\r\n")); err != nil {
		c.t.Fatal(err)
	}
	var said bytes.Buffer
	for {
		line := c.line()
		if strings.HasPrefix(line, tag) {
			if !strings.HasPrefix(line, tag+"OK") {
				c.t.Fatalf("%.60s: %s", command, line)
			}
			return said.String()
		}
		said.WriteString(line + "\n")
	}
}

// put appends a mail to a mailbox, as a mail program uploads one.
func (c *imap) put(mailbox, mail string) {
	c.t.Helper()
	c.do(fmt.Sprintf("APPEND %q {%d+}\r\n%s", mailbox, len(mail), mail))
}

// empty deletes what is in a mailbox.
func (c *imap) empty(mailbox string) {
	c.t.Helper()
	c.do(fmt.Sprintf("SELECT %q", mailbox))
	c.do(`STORE 1:* +FLAGS.SILENT (\Deleted)`)
	c.do("EXPUNGE")
}

// count is how many mails a mailbox has.
func (c *imap) count(mailbox string) int {
	c.t.Helper()
	var n int
	said := c.do(fmt.Sprintf("STATUS %q (MESSAGES)", mailbox))
	if _, err := fmt.Sscanf(said[strings.Index(said, "(MESSAGES"):], "(MESSAGES %d)", &n); err != nil {
		c.t.Fatalf("%v: %s", err, said)
	}
	return n
}
