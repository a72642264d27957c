package doors

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// startHaraka runs a real Haraka with the guide's lines, as one process. It delivers to files
// in the folder for temporary ones.
func startHaraka(t *testing.T, socket string) *server {
	t.Helper()
	testenv.Servers(t)
	modules := filepath.Join(testenv.Unpacked("haraka"), "node_modules")
	program := filepath.Join(modules, "Haraka/bin/haraka")
	greeting, err := os.ReadFile(filepath.Join(modules, "Haraka/config/connection.ini"))
	if err != nil { // make test installs it where npm's registry is reached, which is not Debian's
		t.Skip("needs haraka")
	}
	node := testenv.Program(t, "node")
	dir, port := testenv.Dir(t), testenv.Port(t)
	for _, name := range []string{"config", "mail"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"connection.ini":   string(greeting),
		"smtp.ini":         fmt.Sprintf("listen=%s\nnodes=0\n", testenv.Local(port)),
		"me":               "mx.example.org\n",
		"host_list":        "example.test\n",
		"plugins":          "rcpt_to.in_host_list\nspamassassin\nqueue/test\n",
		"spamassassin.ini": strings.ReplaceAll(harness.PageBlock(t, "spamd.md", "spamd_socket="), "/run/spambloom/spamd.sock", socket),
	} {
		harness.Write(t, filepath.Join(dir, "config", name), text)
	}
	cmd := exec.Command(node, program, "-c", dir)
	cmd.Env = append(os.Environ(), "TMPDIR="+filepath.Join(dir, "mail"))
	return startServer(t, cmd, dir, port, "mail/mail_*.eml")
}

// The guide's lines for Haraka: reported mail is refused, also while all places are taken, other mail
// has the verdict, and mail passes without the daemon.
func TestHaraka(t *testing.T) {
	d := startDoor(t, "max_connections = 2\n")
	s := startHaraka(t, d.socket)
	spam, other := d.reported(t, harness.Message(harness.Text())), harness.Message(harness.Text())
	if err := s.send(spam); err == nil || !strings.HasPrefix(err.Error(), "550 ") {
		t.Errorf("spam: %v", err)
	}
	passes := func(what, text, status string) {
		t.Helper()
		if err := s.send(text); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if m := s.delivered(); !strings.HasPrefix(m.Header.Get("X-Spam-Status"), status) {
			t.Errorf("%s: %q", what, m.Header)
		}
	}
	passes("other mail", other, "No, score=0.0")

	var holders []net.Conn
	for range 2 {
		c, err := net.Dial("unix", d.socket)
		testenv.Check(t, err)
		defer c.Close()
		holders = append(holders, c)
	}
	testenv.Eventually(t, "no place is left", func() bool { return d.Metric("spambloom_spamd_connections") == 2 })
	answer := make(chan error)
	go func() { answer <- s.send(spam) }()
	testenv.Eventually(t, "the spam waits", func() bool { return d.Metric("spambloom_spamd_waiting") == 1 })
	holders[0].Close()
	if err := <-answer; err == nil || !strings.HasPrefix(err.Error(), "550 ") {
		t.Errorf("spam while the places were taken: %v", err)
	}
	d.Stop(syscall.SIGTERM)
	passes("spam without a daemon", spam, "")
}
