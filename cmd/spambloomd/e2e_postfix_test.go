package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/mail"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
)

// postfix is an own instance of Postfix that delivers everything for
// example.test to one Maildir.
type postfix struct {
	t       *testing.T
	dir     string
	command string
	addr    string // of its smtpd

	extra, services string // more lines of main.cf and master.cf
}

const mainCF = `
compatibility_level = 3.6
queue_directory = %[1]s/spool
data_directory = %[1]s/data
maillog_file = %[1]s/log/mail.log
maillog_file_prefixes = %[1]s/log
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = %[2]s.example.test
mydestination =
mynetworks =
alias_maps =
alias_database =
local_recipient_maps =
local_transport = error:no local mail
virtual_mailbox_domains = example.test
virtual_mailbox_base = %[1]s/mail
virtual_mailbox_maps = static:box/
virtual_uid_maps = static:65534
virtual_gid_maps = static:65534
smtpd_peername_lookup = no
disable_dns_lookups = yes
smtpd_relay_restrictions = reject_unauth_destination
smtpd_client_connection_count_limit = 0
smtpd_milters = { %[3]s, default_action=accept }
`

const masterCF = `
127.0.0.1:%d inet n - %s - - smtpd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
proxymap unix - - n - - proxymap
error unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
postlog unix-dgram n - n - 1 postlogd
`

// startPostfix runs an instance whose milter listens on a TCP address.
func startPostfix(t *testing.T, site, milter string) *postfix {
	t.Helper()
	return newPostfix(t).start(site, "inet:"+milter, "n")
}

// newPostfix makes the folders of an instance.
func newPostfix(t *testing.T) *postfix {
	t.Helper()
	need(t, os.Geteuid() == 0, "root, which Postfix starts as")
	p := &postfix{t: t, dir: folder(t), command: find(t, "postfix")}
	for name, owner := range map[string]string{"etc": "root", "spool": "root", "log": "root", "data": "postfix", "mail": "nobody"} {
		if err := os.Mkdir(filepath.Join(p.dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(p.dir, name), userID(t, owner), -1); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// start runs the instance. The milter is an address as main.cf has it; chroot
// says whether smtpd runs in one, y or n.
func (p *postfix) start(site, milter, chroot string) *postfix {
	t := p.t
	t.Helper()
	port := freePort(t)
	p.addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	write(t, filepath.Join(p.dir, "etc/main.cf"), lastOfEach(fmt.Sprintf(mainCF, p.dir, site, milter)+p.extra))
	write(t, filepath.Join(p.dir, "etc/master.cf"), fmt.Sprintf(masterCF, port, chroot)+p.services)
	for _, name := range []string{"etc/main.cf", "etc/master.cf"} {
		if err := os.Chmod(filepath.Join(p.dir, name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p.run("start")
	t.Cleanup(func() {
		p.stop()
		if t.Failed() {
			t.Logf("Postfix of %s:\n%s", site, p.log())
		}
	})
	eventually(t, "Postfix answers", func() bool {
		conn, err := net.Dial("tcp", p.addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return p
}

// lastOfEach leaves the last of the lines that set a parameter, which is the one that
// counts. Every process warns of the others as it starts, postlogd too: into its own
// socket, where it waits for itself for ever if ten datagrams lie there
// (net.unix.max_dgram_qlen; 3.7.11), and all that log wait with it.
func lastOfEach(settings string) string {
	last := map[string]string{}
	for line := range strings.Lines(settings) {
		name, _, _ := strings.Cut(line, "=")
		last[strings.TrimSpace(name)] = line
	}
	return strings.Join(slices.Sorted(maps.Values(last)), "")
}

func userID(t *testing.T, name string) int {
	t.Helper()
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(u.Uid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func groupID(t *testing.T, name string) int {
	t.Helper()
	g, err := user.LookupGroup(name)
	if err != nil {
		t.Fatal(err)
	}
	id, err := strconv.Atoi(g.Gid)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// run gives a command to the instance. It does not use execute, whose context
// has ended when the cleanups run.
func (p *postfix) run(verb string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.command, "-c", filepath.Join(p.dir, "etc"), verb)
	cmd.WaitDelay = patience // a process of it may hold its output
	out, err := cmd.CombinedOutput()
	if err != nil {
		p.t.Errorf("postfix %s: %v\n%s%s", verb, err, out, p.log())
	}
}

// stop ends the instance as "postfix stop" does, which itself first writes to the log
// and waits for ever where nobody reads that any more.
func (p *postfix) stop() {
	text, err := os.ReadFile(filepath.Join(p.dir, "spool/pid/master.pid"))
	if err != nil {
		p.t.Error(err)
		return
	}
	master, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		p.t.Errorf("process id of Postfix: %v", err)
		return
	}
	gone := func() bool { // or a zombie, whose parent is not us
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", master))
		return err != nil || strings.Contains(string(stat), ") Z ")
	}
	_ = syscall.Kill(master, syscall.SIGTERM) // it may have ended
	for end := time.Now().Add(patience); !gone(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Errorf("Postfix does not stop:\n%s", p.log())
			_ = syscall.Kill(-master, syscall.SIGKILL)
			return
		}
	}
}

func (p *postfix) log() string {
	text, _ := os.ReadFile(filepath.Join(p.dir, "log/mail.log")) // none where Postfix did not start
	return string(text)
}

// send hands a mail over by SMTP and waits for its copy in the Maildir.
func (p *postfix) send(mail string) *delivered {
	p.t.Helper()
	s := p.begin()
	s.write(mail)
	return s.end()
}

// transaction is a mail on its way: everything is sent but the end of its data.
type transaction struct {
	p      *postfix
	client *smtp.Client
	data   *smtp.DataCommand
	token  string
}

// begin goes as far as DATA.
func (p *postfix) begin() *transaction {
	p.t.Helper()
	c, err := smtp.Dial(p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	token := fmt.Sprintf("X-Test: %016x\r\n", rand.Uint64())
	for _, step := range []func() error{
		func() error { return c.Hello("client.example.net") },
		func() error { return c.Mail("someone@example.net", nil) },
		func() error { return c.Rcpt("you@example.test", nil) },
	} {
		if err := step(); err != nil {
			p.t.Fatal(err)
		}
	}
	w, err := c.Data()
	if err != nil {
		p.t.Fatal(err)
	}
	s := &transaction{p: p, client: c, data: w, token: token}
	s.write(token)
	return s
}

func (s *transaction) write(text string) {
	s.p.t.Helper()
	if _, err := s.data.Write([]byte(text)); err != nil {
		s.p.t.Fatal(err)
	}
}

// end ends the data and waits for the delivery.
func (s *transaction) end() *delivered {
	s.p.t.Helper()
	if err := s.data.Close(); err != nil {
		s.p.t.Fatal(err)
	}
	if err := s.client.Quit(); err != nil {
		s.p.t.Fatal(err)
	}
	var d *delivered
	eventually(s.p.t, "the mail is delivered", func() bool {
		d = s.p.find(strings.TrimSpace(s.token))
		return d != nil
	})
	return d
}

// delivered is a mail in the Maildir.
type delivered struct {
	path   string
	header mail.Header
}

func (p *postfix) find(token string) *delivered {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(p.dir, "mail/box/new/*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			p.t.Fatal(err)
		}
		if !strings.Contains(string(text), token) {
			continue
		}
		m, err := mail.ReadMessage(strings.NewReader(string(text)))
		if err != nil {
			p.t.Fatal(err)
		}
		return &delivered{path, m.Header}
	}
	return nil
}

// verdict splits the X-Spambloom header into the verdict and its fields.
func (d *delivered) verdict(t *testing.T) (verdict string, fields map[string]string) {
	t.Helper()
	all := d.header["X-Spambloom"]
	if len(all) != 1 {
		t.Fatalf("X-Spambloom headers: %q, want one", all)
	}
	parts := strings.Split(all[0], ";")
	fields = map[string]string{}
	for _, part := range parts[1:] {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		fields[name] = value
	}
	return parts[0], fields
}
