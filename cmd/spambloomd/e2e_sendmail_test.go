package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/emersion/go-smtp"
)

// sendmail is an own instance of Sendmail that hands everything for others to a
// folder.
type sendmail struct {
	t       *testing.T
	dir     string
	prefix  string // the usr in which the package is unpacked
	cmd     *exec.Cmd
	ended   chan error
	port    int
	maildir string

	defines []string // what sendmail.mc gets besides
}

// newSendmail makes the folders of an instance.
func newSendmail(t *testing.T) *sendmail {
	t.Helper()
	need(t, os.Geteuid() == 0, "root, which Sendmail starts as")
	need(t, execute(t, "", find(t, "unshare"), "--uts", "true").code == 0, "the right to a UTS namespace")
	m := &sendmail{t: t, dir: folder(t), port: freePort(t)}
	m.prefix = filepath.Join("/", os.Getenv("SPAMBLOOM_SENDMAIL"), "usr")
	_, err := os.Stat(m.program())
	need(t, err == nil, "Sendmail at "+m.program()+" (make test as root unpacks it; SPAMBLOOM_SENDMAIL names the folder)")
	m.maildir = filepath.Join(m.dir, "mail")
	for _, name := range []string{"queue", "submitted", "mail"} {
		if err := os.Mkdir(filepath.Join(m.dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(m.dir, "submitted"), userID(t, "nobody"), -1); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *sendmail) program() string { return filepath.Join(m.prefix, "libexec/sendmail/sendmail") }

// configure makes sendmail.cf for a milter at an address in Sendmail's notation.
// Sendmail listens on ::1 too where that exists.
func (m *sendmail) configure(milter string) {
	m.t.Helper()
	cf := filepath.Join(m.prefix, "share/sendmail/cf") + "/"
	args := []string{"-D_CF_DIR_=" + cf, "-DTEST_DIR=" + m.dir, "-DTEST_MILTER=" + milter,
		fmt.Sprintf("-DTEST_PORT=%d", m.port), fmt.Sprintf("-DTEST_SINK_PORT=%d", startSink(m.t, m.maildir))}
	if hasIPv6() {
		args = append(args, "-DTEST_IPV6")
	}
	args = append(args, m.defines...)
	for _, name := range []string{"sendmail", "submit"} {
		made := execute(m.t, "", find(m.t, "m4"), append(args, cf+"m4/cf.m4", "testdata/"+name+".mc")...)
		if made.code != 0 {
			m.t.Fatalf("m4: %+v", made)
		}
		if err := os.Chmod(write(m.t, filepath.Join(m.dir, name+".cf"), made.stdout), 0o644); err != nil {
			m.t.Fatal(err)
		}
	}
	write(m.t, filepath.Join(m.dir, "switch"), "hosts files\naliases files\n")
}

// asHost runs a program under a host name of its own: Sendmail waits a minute for
// one with a dot, and an address needs no DNS.
func (m *sendmail) asHost(program string, args ...string) *exec.Cmd {
	m.t.Helper()
	return exec.Command(find(m.t, "unshare"), append([]string{"--uts", "sh", "-c", `hostname 127.0.0.1 && exec "$0" "$@"`, program}, args...)...)
}

// start runs Sendmail.
func (m *sendmail) start(milter string) {
	m.t.Helper()
	m.configure(milter)
	log, err := os.Create(filepath.Join(m.dir, "log"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer log.Close()
	m.cmd = m.asHost(m.program(), "-C", filepath.Join(m.dir, "sendmail.cf"), "-X", filepath.Join(m.dir, "transcript"), "-bD")
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if err := m.cmd.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.ended = make(chan error, 1)
	go func() { m.ended <- m.cmd.Wait() }()
	m.t.Cleanup(m.stop)
	eventually(m.t, "Sendmail answers", func() bool {
		select {
		case err := <-m.ended:
			m.ended <- err
			m.t.Fatalf("Sendmail ended at its start: %v", err)
		default:
		}
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", m.port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func hasIPv6() bool {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err == nil {
		ln.Close()
	}
	return err == nil
}

func (m *sendmail) stop() {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	<-m.ended
	if !m.t.Failed() {
		return
	}
	for _, name := range []string{"log", "transcript"} {
		text, _ := os.ReadFile(filepath.Join(m.dir, name)) // missing where Sendmail came not so far
		m.t.Logf("%s of Sendmail, its end:\n%s", name, text[max(0, len(text)-5000):])
	}
}

// sink is the next hop. It keeps each mail as a file in a folder.
type sink string

// startSink listens until the end of the test.
func startSink(t *testing.T, dir string) (port int) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return sink(dir), nil }))
	server.Domain = "sink.example.test"
	server.MaxLineLength = 4096 // Sendmail breaks lines at 2040
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ln) }()
	t.Cleanup(func() {
		server.Close()
		if err := <-ended; err != nil && !errors.Is(err, smtp.ErrServerClosed) {
			t.Error(err)
		}
	})
	return ln.Addr().(*net.TCPAddr).Port
}

func (sink) Reset()                               {}
func (sink) Logout() error                        { return nil }
func (sink) Mail(string, *smtp.MailOptions) error { return nil }
func (sink) Rcpt(string, *smtp.RcptOptions) error { return nil }
func (s sink) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	partial := filepath.Join(string(s), fmt.Sprintf(".%x", rand.Uint64()))
	if err := os.WriteFile(partial, text, 0o600); err != nil {
		return err
	}
	return os.Rename(partial, filepath.Join(string(s), filepath.Base(partial)[1:]))
}

// nobodyHere is a recipient that both mail servers of the cases refuse.
const nobodyHere = "nobody-here@example.test"

var messageID = regexp.MustCompile(`Message-ID: (<.*>)`)

// messageLine is spambloomd's line about a message.
type messageLine struct {
	Msg       string
	QueueID   string `json:"queue_id"`
	MessageID string `json:"message_id"`
	Client    string
	Verdict   string
	Action    string
	Reason    string
	Count     int
}

// messageLines are the lines about messages so far, with all their fields, in their
// order.
func (s *site) messageLines() (lines []map[string]any) {
	s.t.Helper()
	for text := range strings.Lines(s.log()) {
		var line map[string]any
		if !strings.HasSuffix(text, "\n") {
			break // it is being written
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			s.t.Fatalf("%v: %s", err, text)
		}
		if line["msg"] == "message" {
			lines = append(lines, line)
		}
	}
	return lines
}
