//go:build packages

package packaging

import (
	"errors"
	"fmt"
	"net"
	"net/smtp"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// compose runs docker-compose for the project of this test.
type compose struct {
	t    *testing.T
	args []string
}

// newCompose builds the images and starts docker-compose.yml. An engine is a service that
// .ci/tools does not install: without one the test is skipped, also where all is required.
func newCompose(t *testing.T) *compose {
	t.Helper()
	program := testenv.Program(t, "docker-compose")
	if err := exec.CommandContext(t.Context(), "docker", "info").Run(); err != nil {
		t.Skip("needs a container engine")
	}
	c := &compose{t, []string{program, "--project-name", fmt.Sprintf("spambloomtest%d", os.Getpid())}}
	t.Cleanup(func() {
		if out, err := c.command("down", "--volumes", "--rmi", "local", "--timeout", "10").CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	c.run("up", "--build", "--detach")
	return c
}

// command returns a call of docker-compose that outlives the test's context.
func (c *compose) command(args ...string) *exec.Cmd {
	args = append(c.args[1:len(c.args):len(c.args)], args...)
	cmd := exec.Command(c.args[0], args...)
	cmd.Dir = harness.Repository
	return cmd
}

// run runs docker-compose, which must succeed.
func (c *compose) run(args ...string) string {
	c.t.Helper()
	out, err := c.command(args...).CombinedOutput()
	if err != nil {
		logs, _ := c.command("logs", "--tail", "20").CombinedOutput()
		c.t.Fatalf("%s: %v\n%s%s", strings.Join(args, " "), err, out, logs)
	}
	return string(out)
}

// health is what the engine's health check of a service found last.
func (c *compose) health(service string) string {
	c.t.Helper()
	id := strings.TrimSpace(c.run("ps", "--quiet", service))
	return strings.TrimSpace(run(c.t, "", "docker", "inspect", "--format", "{{.State.Health.Status}}", id))
}

// The two sites of docker-compose.yml: a spam reported at one is tagged at the other, as the
// head of the file says. The image has no shell. A site is healthy only while Redis answers,
// which wants a password, and which Postfix cannot reach.
func TestCompose(t *testing.T) {
	c := newCompose(t)
	for _, service := range []string{"redis", "spambloomd-a", "spambloomd-b"} {
		if got := c.health(service); got != "healthy" { // up waits for it
			t.Errorf("%s is %s", service, got)
		}
	}
	if out, err := c.command("exec", "-T", "spambloomd-a", "sh", "-c", "true").CombinedOutput(); err == nil {
		t.Errorf("the image has a shell: %s", out)
	}
	if out := c.run("exec", "-T", "-e", "REDISCLI_AUTH=", "redis", "redis-cli", "ping"); !strings.Contains(out, "NOAUTH") {
		t.Errorf("Redis without a password answers %q", out)
	}
	if out, err := c.command("exec", "-T", "postfix-a", "getent", "hosts", "redis").CombinedOutput(); err == nil {
		t.Errorf("Postfix finds Redis: %s", out)
	}

	const look = "grep -h ^X-Spambloom /var/mail/example.test/Maildir/new/*"
	if text, err := os.ReadFile(harness.Repository + "/docker-compose.yml"); err != nil || !strings.Contains(string(text), look) {
		t.Errorf("the head of docker-compose.yml does not name %q: %v", look, err)
	}
	sample, err := os.ReadFile(harness.Repository + "/contrib/sample-spam.eml")
	testenv.Check(t, err)
	report := c.command("exec", "-T", "spambloomd-a", "spambloom", "report", "-")
	report.Stdin = strings.NewReader(string(sample))
	if out, err := report.CombinedOutput(); err != nil {
		t.Fatalf("report: %v\n%s", err, out)
	}
	testenv.Eventually(t, "the report has reached the other site", func() bool {
		check := c.command("exec", "-T", "spambloomd-b", "spambloom", "check", "-")
		check.Stdin = strings.NewReader(string(sample))
		return check.Run() == nil
	})
	testenv.Check(t, send("127.0.0.1:2526", sample))
	testenv.Eventually(t, "the mail is delivered with a verdict", func() bool {
		out, _ := c.command("exec", "-T", "postfix-b", "sh", "-c", look).CombinedOutput()
		return strings.Contains(string(out), "X-Spambloom: spam; kind=body; ")
	})
	for _, site := range []string{"spambloomd-a", "spambloomd-b"} {
		id := strings.TrimSpace(c.run("ps", "--quiet", site))
		if out := run(t, "", "docker", "inspect", "--format", "{{.Args}}", id); strings.Contains(out, "redis") {
			t.Errorf("each user of the machine reads the password of Redis in the command line: %s", out)
		}
	}

	c.run("stop", "--timeout", "10", "redis")
	testenv.Eventually(t, "a site without Redis is unhealthy", func() bool { return c.health("spambloomd-a") == "unhealthy" })
	c.run("start", "redis")
	testenv.Eventually(t, "a site with Redis is healthy", func() bool { return c.health("spambloomd-a") == "healthy" })
}

// send submits a mail by SMTP, without TLS.
func send(address string, mail []byte) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(testenv.Patience)); err != nil {
		return err
	}
	c, err := smtp.NewClient(conn, "localhost")
	if err != nil {
		return err
	}
	if err := errors.Join(c.Mail("someone@example.net"), c.Rcpt("you@example.test")); err != nil {
		return err
	}
	body, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := body.Write(mail); err != nil {
		return err
	}
	if err := body.Close(); err != nil { // with the answer to the mail
		return err
	}
	return c.Quit()
}
