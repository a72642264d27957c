package mailbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The program of the address for feedback reports refuses for good what is not from a provider. Where it
// cannot find that out, such as with a main.cf that is being changed, the mail stays in the queue.
func TestFeedbackProgram(t *testing.T) {
	t.Parallel()
	const accepted, waits, refused = 0, 75, 77
	dir := t.TempDir()
	command := harness.Write(t, filepath.Join(dir, "spambloom"), "#!/bin/sh\n")
	testenv.Check(t, os.Chmod(command, 0o700))
	harness.Write(t, filepath.Join(dir, "feedback_senders"), "192.0.2.0/24  OK\n2001:db8::/32 ok Example Mail\n192.168.0.0/16 REJECT\n")
	path := filepath.Dir(testenv.Program(t, "postmap")) + ":" + os.Getenv("PATH")
	run := func(args ...string) (code int, out []byte) {
		program := exec.CommandContext(t.Context(), filepath.Join(harness.Repository, "contrib/postfix/spambloom-address"), args...)
		program.Env = []string{"PATH=" + path, "MAIL_CONFIG=" + dir, "SPAMBLOOM_COMMAND=" + command}
		out, err := program.CombinedOutput()
		if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return program.ProcessState.ExitCode(), out
	}
	for _, c := range []struct {
		main, client, login string
		want                int
	}{
		{"", "192.0.2.1", "", accepted},
		{"", "2001:db8::1", "", accepted},
		{"", "192.0.2.1", "anna", refused},
		{"", "192.168.0.1", "", refused},
		{"", "127.0.0.1", "", refused},
		{"", "unknown", "", refused},
		{"", "", "", refused},
		{"line_length_limit = soon\n", "192.0.2.1", "", waits}, // fatal to postmap, not to postconf
		{"smtpd_banner\n", "192.0.2.1", "", waits},
	} {
		harness.Write(t, filepath.Join(dir, "main.cf"), c.main)
		if got, out := run("report", "feedback", c.client, c.login); got != c.want {
			t.Errorf("main.cf %q, client %q, login %q: exit code %d, want %d: %s", c.main, c.client, c.login, got, c.want, out)
		}
	}
	for login, want := range map[string]int{"anna": accepted, "feedback": refused, "Feedback": refused, "feedbac\u212a": refused} { // a user has no say in the providers' name
		if got, out := run("report", login, "report=report@example.org"); got != want {
			t.Errorf("login %q: exit code %d, want %d: %s", login, got, want, out)
		}
	}
}
