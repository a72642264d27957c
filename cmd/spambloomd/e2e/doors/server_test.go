package doors

import (
	"net"
	"net/mail"
	"net/smtp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// server is a mail server that runs in a folder of its own and delivers to its files.
type server struct {
	t     *testing.T
	addr  string
	mails string // a pattern of the delivered files
	ended chan struct{}
}

// startServer runs a mail server until the test ends.
func startServer(t *testing.T, cmd *exec.Cmd, dir string, port int, mails string) *server {
	t.Helper()
	s := &server{t: t, addr: testenv.Local(port), mails: filepath.Join(dir, mails), ended: make(chan struct{})}
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, out, testenv.Patience
	if err := harness.StartChild(cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.ended)
		_ = cmd.Wait() // the output says why
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		<-s.ended
		if text, err := os.ReadFile(out.Name()); t.Failed() {
			t.Logf("%s (%v, %v):\n%s", cmd, cmd.ProcessState, err, text)
		}
	})
	return s
}

// send submits a mail, once the server accepts connections, and returns its refusal.
func (s *server) send(text string) error {
	s.t.Helper()
	var conn net.Conn
	testenv.Eventually(s.t, "the mail server listens", func() (ok bool) {
		select {
		case <-s.ended:
			s.t.Fatal("the mail server ended")
		default:
		}
		var err error
		conn, err = net.Dial("tcp", s.addr)
		return err == nil
	})
	conn.SetDeadline(time.Now().Add(testenv.Patience))
	c, err := smtp.NewClient(conn, "127.0.0.1")
	if err != nil {
		s.t.Fatal(err)
	}
	defer c.Close()
	if err := c.Mail("someone@example.net"); err != nil {
		s.t.Fatal(err)
	}
	if err := c.Rcpt("nobody@example.test"); err != nil {
		s.t.Fatal(err)
	}
	w, err := c.Data()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := w.Write([]byte(text)); err != nil {
		s.t.Fatal(err)
	}
	return w.Close()
}

// delivered waits for the only delivered mail and removes it.
func (s *server) delivered() *mail.Message {
	s.t.Helper()
	var text []byte
	testenv.Eventually(s.t, "the mail is delivered", func() bool {
		found, err := filepath.Glob(s.mails)
		if err != nil || len(found) > 1 {
			s.t.Fatalf("%v: %q", err, found)
		}
		if len(found) == 0 {
			return false
		}
		if text, err = os.ReadFile(found[0]); err == nil {
			err = os.Remove(found[0])
		}
		if err != nil {
			s.t.Fatal(err)
		}
		return true
	})
	m, err := mail.ReadMessage(strings.NewReader(string(text)))
	if err != nil {
		s.t.Fatalf("%v:\n%s", err, text)
	}
	return m
}
