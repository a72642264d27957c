package harness

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/mail"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Postfix is a separate instance of Postfix that delivers all mail for example.test to one
// Maildir.
type Postfix struct {
	T       testing.TB
	Dir     string
	Command string // path of the master process
	Addr    string // of its smtpd

	Extra, Services string // more lines of main.cf and master.cf

	process *os.Process // nil while it is stopped
	tether  *os.File    // see run
	ended   chan error
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
pickup unix n - n 60 1 pickup
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

// StartPostfix runs an instance whose milter listens on a TCP address.
func StartPostfix(t testing.TB, site, milter string) *Postfix {
	t.Helper()
	return NewPostfix(t).Start(site, "inet:"+milter, "n")
}

// NewPostfix creates the folders of an instance.
func NewPostfix(t testing.TB) *Postfix {
	t.Helper()
	testenv.Root(t)
	p := &Postfix{T: t, Dir: testenv.Dir(t)}
	daemons := Execute(t, "", testenv.Program(t, "postconf"), "-d", "-h", "daemon_directory")
	p.Command = filepath.Join(strings.TrimSpace(daemons.Stdout), "master")
	for name, owner := range map[string]string{"etc": "root", "spool": "root", "log": "root", "data": "postfix", "mail": "nobody"} {
		testenv.Check(t, os.Mkdir(filepath.Join(p.Dir, name), 0o755))
		testenv.Check(t, os.Chown(filepath.Join(p.Dir, name), UserID(t, owner), -1))
	}
	p.makeQueues()
	return p
}

// makeQueues creates the folders of Postfix' queue, as in postfix-files.
func (p *Postfix) makeQueues() {
	t := p.T
	t.Helper()
	postfix, postdrop := UserID(t, "postfix"), GroupID(t, "postdrop")
	spool := filepath.Join(p.Dir, "spool")
	for mode, names := range map[os.FileMode]string{
		0o700: "active bounce corrupt defer deferred flush hold incoming private saved trace",
		0o710: "public",
		0o730: "maildrop",
		0o755: "pid",
	} {
		for name := range strings.FieldsSeq(names) {
			path := filepath.Join(spool, name)
			owner, group := postfix, -1
			switch name {
			case "pid":
				owner = 0
			case "public", "maildrop":
				group = postdrop
			}
			testenv.Check(t, errors.Join(os.Mkdir(path, mode), os.Chmod(path, mode), os.Chown(path, owner, group)))
		}
	}
}

// Relaying creates an instance that keeps mail in its queue and retries soon while the next
// one does not accept it.
func Relaying(t testing.TB, to *Postfix) *Postfix {
	t.Helper()
	p := NewPostfix(t)
	p.Extra = `
relayhost = [` + strings.Replace(to.Addr, ":", "]:", 1) + `
virtual_mailbox_domains =
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_milters =
minimal_backoff_time = 1s
maximal_backoff_time = 2s
queue_run_delay = 1s
default_destination_concurrency_failed_cohort_limit = 1000
`
	p.Services = "smtp unix - - n - - smtp\n"
	return p.Start("relay", "inet:127.0.0.1:1", "n")
}

// Configure writes main.cf and master.cf. The milter is an address in the syntax of
// main.cf; chroot is y or n, for smtpd.
func (p *Postfix) Configure(site, milter, chroot string) {
	t := p.T
	t.Helper()
	port := testenv.Port(t)
	p.Addr = testenv.Local(port)
	for name, text := range map[string]string{
		"main.cf": lastOfEach(fmt.Sprintf(mainCF, p.Dir, site, milter) + p.Extra),
		// The master opens the services in this order: when smtpd answers, these do.
		"master.cf": p.Services + fmt.Sprintf(masterCF, port, chroot),
	} {
		testenv.Check(t, os.Chmod(Write(t, filepath.Join(p.etc(), name), text), 0o644))
	}
}

// Start configures and runs the instance, and waits until it answers.
func (p *Postfix) Start(site, milter, chroot string) *Postfix {
	t := p.T
	t.Helper()
	p.Configure(site, milter, chroot)
	t.Cleanup(func() {
		p.Stop()
		if t.Failed() {
			t.Logf("Postfix of %s:\n%s", site, p.Log())
		}
	})
	p.run()
	p.await()
	return p
}

func (p *Postfix) etc() string { return filepath.Join(p.Dir, "etc") }

// lastOfEach keeps the last of the lines that set a parameter, which is the effective one.
// Every process warns of the others at its start. postlogd does too: it writes into its own
// socket, and blocks forever if ten datagrams are queued there (net.unix.max_dgram_qlen;
// 3.7.11). All processes that log then wait for it.
func lastOfEach(settings string) string {
	last := map[string]string{}
	for line := range strings.Lines(settings) {
		name, _, _ := strings.Cut(line, "=")
		last[strings.TrimSpace(name)] = line
	}
	return strings.Join(slices.Sorted(maps.Values(last)), "")
}

func UserID(t testing.TB, name string) int {
	t.Helper()
	u, err := user.Lookup(name)
	testenv.Check(t, err)
	id, err := strconv.Atoi(u.Uid)
	testenv.Check(t, err)
	return id
}

func GroupID(t testing.TB, name string) int {
	t.Helper()
	g, err := user.LookupGroup(name)
	testenv.Check(t, err)
	id, err := strconv.Atoi(g.Gid)
	testenv.Check(t, err)
	return id
}

// Queued returns the number of mails not delivered yet.
func (p *Postfix) Queued() (n int) {
	p.T.Helper()
	for _, pattern := range []string{"maildrop/*", "incoming/*", "active/*", "deferred/*/*"} {
		files, err := filepath.Glob(filepath.Join(p.Dir, "spool", pattern))
		if err != nil {
			p.T.Fatal(err)
		}
		n += len(files)
	}
	return n
}

// Drive makes the instance retry all deferred mail once a second until ask returns true,
// and fails the test after testenv.Patience.
//
// A single retry is not enough. A retry while the delivery agent still holds the mail from
// the previous one ends with "skipped, still being delivered". Then no process owns the
// mail until the queue manager restarts, which a reload causes.
func (p *Postfix) Drive(what string, ask func() bool) {
	p.T.Helper()
	var next time.Time
	reloads := 0
	testenv.Eventually(p.T, what, func() bool {
		if ask() {
			return true
		}
		if time.Now().Before(next) {
			return false
		}
		next = time.Now().Add(time.Second)
		if skipped := strings.Count(p.Log(), "skipped, still being delivered"); skipped > reloads {
			reloads = skipped
			_ = p.process.Signal(syscall.SIGHUP) // if it ended, the log shows it
			return false
		}
		if r := Execute(p.T, "", testenv.Program(p.T, "postqueue"), "-c", p.etc(), "-f"); r.Code != 0 {
			p.T.Fatalf("postqueue -f: %+v\n%s", r, p.Log())
		}
		return false
	})
}

// Log returns the mail log so far.
func (p *Postfix) Log() string {
	text, _ := os.ReadFile(filepath.Join(p.Dir, "log/mail.log")) // none if Postfix did not start
	return string(text)
}

// Idle reports whether the queue is empty.
func (p *Postfix) Idle() bool {
	for _, queue := range []string{"incoming", "active"} {
		files, err := filepath.Glob(filepath.Join(p.Dir, "spool", queue, "*"))
		if err != nil || len(files) > 0 {
			return false
		}
	}
	return true
}

// Send sends a mail by SMTP and waits for its copy in the Maildir.
func (p *Postfix) Send(mail string) *Delivered {
	p.T.Helper()
	s := p.Begin()
	s.Write(mail)
	return s.End()
}

// transaction is a mail of which everything except the end of its data was sent.
type transaction struct {
	P      *Postfix
	Client *smtp.Client
	Data   *smtp.DataCommand
	Token  string // a header field that identifies the mail
}

// Begin proceeds to DATA.
func (p *Postfix) Begin() *transaction {
	p.T.Helper()
	c, err := smtp.Dial(p.Addr)
	if err != nil {
		p.T.Fatal(err)
	}
	token := fmt.Sprintf("X-Test: %016x\r\n", rand.Uint64())
	for _, step := range []func() error{
		func() error { return c.Hello("client.example.net") },
		func() error { return c.Mail("someone@example.net", nil) },
		func() error { return c.Rcpt("you@example.test", nil) },
	} {
		if err := step(); err != nil {
			p.T.Fatal(err)
		}
	}
	w, err := c.Data()
	if err != nil {
		p.T.Fatal(err)
	}
	s := &transaction{P: p, Client: c, Data: w, Token: strings.TrimSpace(token)}
	s.Write(token)
	return s
}

func (s *transaction) Write(text string) {
	s.P.T.Helper()
	if _, err := s.Data.Write([]byte(text)); err != nil {
		s.P.T.Fatal(err)
	}
}

// Close ends the data. The mail is then in the queue.
func (s *transaction) Close() {
	s.P.T.Helper()
	if err := s.Data.Close(); err != nil {
		s.P.T.Fatal(err)
	}
	if err := s.Client.Quit(); err != nil {
		s.P.T.Fatal(err)
	}
}

// End ends the data and waits for the delivery.
func (s *transaction) End() *Delivered {
	s.P.T.Helper()
	s.Close()
	var d *Delivered
	testenv.Eventually(s.P.T, "the mail is delivered", func() bool {
		d = s.P.Find(s.Token)
		return d != nil
	})
	return d
}

// Offer sends a mail by SMTP, by default to you@example.test, and returns the answer to its
// data; nil if it was accepted.
func (p *Postfix) Offer(mail, sender string, recipients ...string) *smtp.SMTPError {
	p.T.Helper()
	c, err := smtp.Dial(p.Addr)
	if err != nil {
		p.T.Fatal(err)
	}
	defer c.Close()
	if recipients == nil {
		recipients = []string{"you@example.test"}
	}
	err = c.SendMail(sender, recipients, strings.NewReader(mail))
	var refused *smtp.SMTPError
	if err != nil && !errors.As(err, &refused) {
		p.T.Fatal(err)
	}
	return refused
}

// Delivered is a mail in the Maildir.
type Delivered struct {
	Path   string
	Header mail.Header
}

func (p *Postfix) Find(token string) *Delivered {
	p.T.Helper()
	files, err := filepath.Glob(filepath.Join(p.Dir, "mail/box/new/*"))
	if err != nil {
		p.T.Fatal(err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			p.T.Fatal(err)
		}
		if !strings.Contains(string(text), token) {
			continue
		}
		m, err := mail.ReadMessage(strings.NewReader(string(text)))
		if err != nil {
			p.T.Fatal(err)
		}
		return &Delivered{path, m.Header}
	}
	return nil
}

// Verdict splits the X-Spambloom header into the verdict and its fields.
func (d *Delivered) Verdict(t testing.TB) (verdict string, fields map[string]string) {
	t.Helper()
	all := d.Header["X-Spambloom"]
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

// ExpectVerdict compares a delivered mail's header with the expected one.
func ExpectVerdict(t testing.TB, d *Delivered, verdict string, count int, site string) {
	t.Helper()
	got, fields := d.Verdict(t)
	if got != verdict || fields["count"] != strconv.Itoa(count) || fields["site"] != site {
		t.Errorf("%s %v, want %s with count=%d site=%s", got, fields, verdict, count, site)
	}
	if !strings.HasPrefix(fields["id"], fields["kind"]+":") {
		t.Errorf("kind=%s id=%s", fields["kind"], fields["id"])
	}
	flag := d.Header.Get("X-Spam-Flag")
	if (flag == "YES") != (verdict == "spam") || len(d.Header["X-Spam-Flag"]) > 1 {
		t.Errorf("verdict %s, X-Spam-Flag %q", got, d.Header["X-Spam-Flag"])
	}
}
