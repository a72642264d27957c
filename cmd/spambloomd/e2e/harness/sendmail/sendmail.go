// Package sendmail starts a real Sendmail with its own folder, port and host name, for the
// end-to-end tests.
package sendmail

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/emersion/go-smtp"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Server is a separate instance that passes all mail for other hosts to a folder.
type Server struct {
	T       testing.TB
	Dir     string
	prefix  string // the usr folder of the unpacked package
	cmd     *exec.Cmd
	ended   chan error
	Port    int
	Maildir string

	Defines []string // additional lines of sendmail.mc
	M4      []string // the arguments of m4 before sendmail.mc, known once it is configured
}

// New creates the folders of an instance.
func New(t testing.TB) *Server {
	t.Helper()
	testenv.Root(t)
	testenv.Need(t, harness.Execute(t, "", testenv.Program(t, "unshare"), "--uts", "true").Code == 0, "UTS namespaces")
	m := &Server{T: t, Dir: testenv.Dir(t), Port: testenv.Port(t)}
	m.prefix = filepath.Join(testenv.Unpacked("sendmail"), "usr")
	_, err := os.Stat(m.Program())
	testenv.Need(t, err == nil, "sendmail") // make test as root unpacks it
	m.Maildir = filepath.Join(m.Dir, "mail")
	for _, name := range []string{"queue", "submitted", "mail"} {
		if err := os.Mkdir(filepath.Join(m.Dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(filepath.Join(m.Dir, "submitted"), harness.UserID(t, "nobody"), -1); err != nil {
		t.Fatal(err)
	}
	return m
}

// Program returns the path of the program.
func (m *Server) Program() string { return filepath.Join(m.prefix, "libexec/sendmail/sendmail") }

// configure writes sendmail.cf for a milter at an address in Sendmail's syntax. Sendmail
// also listens on ::1 if it exists.
func (m *Server) configure(milter string) {
	m.T.Helper()
	cf := filepath.Join(m.prefix, "share/sendmail/cf") + "/"
	args := []string{"-D_CF_DIR_=" + cf, "-DTEST_DIR=" + m.Dir, "-DTEST_MILTER=" + milter,
		fmt.Sprintf("-DTEST_PORT=%d", m.Port), fmt.Sprintf("-DTEST_SINK_PORT=%d", startSink(m.T, m.Maildir))}
	if testenv.HasIPv6() {
		args = append(args, "-DTEST_IPV6")
	}
	args = append(args, m.Defines...)
	m.M4 = append(args, cf+"m4/cf.m4")
	for _, name := range []string{"sendmail", "submit"} {
		made := harness.Execute(m.T, "", testenv.Program(m.T, "m4"), append(slices.Clip(m.M4), filepath.Join(harness.Repository, "cmd/spambloomd/e2e/harness/sendmail", name+".mc"))...)
		if made.Code != 0 {
			m.T.Fatalf("m4: %+v", made)
		}
		if err := os.Chmod(harness.Write(m.T, filepath.Join(m.Dir, name+".cf"), made.Stdout), 0o644); err != nil {
			m.T.Fatal(err)
		}
	}
	harness.Write(m.T, filepath.Join(m.Dir, "switch"), "hosts files\naliases files\n")
}

// AsHost runs a program with its own host name: Sendmail waits a minute for a name with a
// dot, and an address needs no DNS.
func (m *Server) AsHost(program string, args ...string) *exec.Cmd {
	m.T.Helper()
	return exec.Command(testenv.Program(m.T, "unshare"), append([]string{"--uts", "sh", "-c", `hostname 127.0.0.1 && exec "$0" "$@"`, program}, args...)...)
}

// Start runs Sendmail.
func (m *Server) Start(milter string) {
	m.T.Helper()
	m.configure(milter)
	log, err := os.Create(filepath.Join(m.Dir, "log"))
	if err != nil {
		m.T.Fatal(err)
	}
	defer log.Close()
	m.cmd = m.AsHost(m.Program(), "-C", filepath.Join(m.Dir, "sendmail.cf"), "-X", filepath.Join(m.Dir, "transcript"), "-bD")
	m.cmd.Stdout, m.cmd.Stderr = log, log
	if err := harness.StartChild(m.cmd); err != nil {
		m.T.Fatal(err)
	}
	m.ended = make(chan error, 1)
	go func() { m.ended <- m.cmd.Wait() }()
	m.T.Cleanup(m.stop)
	testenv.Eventually(m.T, "Sendmail answers", func() bool {
		select {
		case err := <-m.ended:
			m.ended <- err
			m.T.Fatalf("Sendmail ended at its start: %v", err)
		default:
		}
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", m.Port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (m *Server) stop() {
	_ = m.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	<-m.ended
	if !m.T.Failed() {
		return
	}
	for _, name := range []string{"log", "transcript"} {
		text, _ := os.ReadFile(filepath.Join(m.Dir, name)) // missing if Sendmail did not get that far
		m.T.Logf("%s of Sendmail, its end:\n%s", name, text[max(0, len(text)-5000):])
	}
}

// sink is the next hop. It stores each mail as a file in a folder.
type sink string

// startSink listens until the end of the test.
func startSink(t testing.TB, dir string) (port int) {
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
