package doors

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// spamc runs Debian's spamc with a message.
func spamc(t *testing.T, message string, args ...string) (code int, out string) {
	t.Helper()
	return piped(t, exec.CommandContext(t.Context(), testenv.Program(t, "spamc"), args...), message)
}

func piped(t *testing.T, cmd *exec.Cmd, message string) (code int, out string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() }) // it has ended by then
	cmd.Stdin = strings.NewReader(message)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run() // the code says it
	if cmd.ProcessState == nil {
		t.Fatalf("%s did not start", cmd)
	}
	return cmd.ProcessState.ExitCode(), stdout.String() + stderr.String()
}

func TestSpamc(t *testing.T) {
	d := startDoor(t, "")
	spam, other := d.reported(t, harness.Message(harness.Text())), harness.Message(harness.Text())
	for _, way := range [][]string{{"-U", d.socket}, {"-d", "127.0.0.1", "-p", strings.TrimPrefix(testenv.Local(d.port), "127.0.0.1:")}} {
		for _, test := range []struct {
			option, message string
			code            int
			first           string // of the output
		}{
			{"-K", "", 0, "SPAMD/1.5 0"},
			{"-c", spam, 1, "10.0/5.0\n"},
			{"-c", other, 0, "0.0/5.0\n"},
			{"-y", spam, 0, "SPAMBLOOM_SPAM,SPAMBLOOM_KIND_BODY"},
			{"-R", spam, 0, "10.0/5.0\nspambloom: spam; kind="},
			{"-r", spam, 0, "10.0/5.0\nspambloom: spam; kind="},
			{"-r", other, 0, ""},
			{"--headers", spam, 0, "X-Spam-Flag: YES\r\nX-Spam-Level: **********\r\nX-Spam-Status: Yes, score=10.0 required=5.0 tests=SPAMBLOOM_SPAM,"},
			{"-E", spam, 1, "X-Spam-Flag: YES\r\n"},
			{"-E", other, 0, "X-Spam-Status: No, score=0.0 required=5.0 tests=none autolearn=no\r\nX-Spambloom: clean; "},
		} {
			code, out := spamc(t, test.message, append(way, test.option)...)
			if code != test.code || !strings.HasPrefix(out, test.first) || test.first == "" && out != "" {
				t.Errorf("spamc %s %s: %d %q", way, test.option, code, out)
			}
			isWhole := test.option == "-E" || test.option == "--headers"
			if isWhole && !strings.HasSuffix(out, test.message) {
				t.Errorf("spamc %s %s: the message is not whole: %q", way, test.option, out)
			}
		}
	}
}

// A report by spamc has the name and the rights of the user who runs it.
func TestSpamcReports(t *testing.T) {
	testenv.Root(t)
	d := startDoor(t, "")
	text := harness.Message(harness.Text())
	isSpam := func(want bool, after string) {
		t.Helper()
		if _, out := spamc(t, text, "-U", d.socket, "-c"); strings.HasPrefix(out, "10.0/") != want {
			t.Errorf("after %s: %q", after, out)
		}
	}
	as := func(user string, args ...string) string {
		t.Helper()
		message := harness.Write(t, filepath.Join(testenv.Dir(t), "message"), text)
		if err := os.Chmod(message, 0o644); err != nil {
			t.Fatal(err)
		}
		_, out := piped(t, exec.CommandContext(t.Context(), testenv.Program(t, "setpriv"), append([]string{
			"--reuid", user, "--clear-groups", testenv.Program(t, "spamc"), "-U", d.socket}, args...)...), text)
		return out
	}
	for _, test := range []struct {
		user   string
		args   []string
		out    string
		isSpam bool
		log    string
	}{
		{"nobody", []string{"-L", "spam"}, "Message successfully un/learned", true, `"reporter":"nobody"`},
		{"nobody", []string{"-L", "ham"}, "Message successfully un/learned", false, `"revoke accepted"`},
		{"nobody", []string{"-C", "report"}, "Message successfully reported/revoked", true, `"reporter":"nobody"`},
		{"nobody", []string{"-C", "revoke"}, "Message successfully reported/revoked", false, `"revoke accepted"`},
		{"nobody", []string{"-L", "spam", "-u", "anna"}, "Message was already un/learned", false, `nobody may not speak for anna`},
		{"nobody", []string{"-L", "forget"}, "Message was already un/learned", false, `to forget a report is not possible`},
		{"root", []string{"-L", "spam", "-u", "anna"}, "Message successfully un/learned", true, `"reporter":"anna"`},
	} {
		before := len(d.Log())
		if out := as(test.user, test.args...); !strings.HasPrefix(out, test.out) {
			t.Errorf("%s %q: %q", test.user, test.args, out)
		}
		if log := d.Log()[before:]; !strings.Contains(log, test.log) {
			t.Errorf("%s %q: no %s in the log:\n%s", test.user, test.args, test.log, log)
		}
		isSpam(test.isSpam, test.user+" "+strings.Join(test.args, " "))
	}
	spamc(t, text, "-d", "127.0.0.1", "-p", strings.TrimPrefix(testenv.Local(d.port), "127.0.0.1:"), "-L", "ham")
	isSpam(true, "a revocation over TCP")
}
