package mailbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// as runs the command spambloom for this daemon, as another user and with its own
// environment.
func as(s *harness.Site, user *syscall.Credential, env []string, args ...string) harness.Result {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.T.Context(), testenv.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, harness.Program(s.T, "spambloom"), args...)
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.T.Fatalf("%s: %v", cmd, err)
	}
	return harness.Result{Code: cmd.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}

// Members of the group report only in their own name, other users not at all. A new
// delegate reports for others after a SIGHUP, and cannot administrate.
func TestOtherUsers(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	const group = 64999
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Control = "unix:" + filepath.Join(s.Dir, "control.sock")
	s.Configure(t, "[log]", fmt.Sprintf("[control]\nlisten = %q\ngroup = \"%d\"\n[log]", s.Control, group))
	s.Start()
	mail := harness.Write(t, filepath.Join(s.Dir, "mail.eml"), harness.Message(harness.Text()))
	testenv.Check(t, os.Chmod(mail, 0o644))
	member := &syscall.Credential{Uid: 64001, Gid: 64001, Groups: []uint32{group}}
	stranger := &syscall.Credential{Uid: 64002, Gid: 64002}
	env := []string{"SPAMBLOOM_CONTROL=" + s.Control, "HOME=/nonexistent"}
	expect := func(user *syscall.Credential, code int, stderr string, args ...string) {
		t.Helper()
		if r := as(s, user, env, args...); r.Code != code || !strings.Contains(r.Stderr, stderr) {
			t.Errorf("%v as %d: %+v; want %d with %q", args, user.Uid, r, code, stderr)
		}
	}
	expect(member, 0, "", "report", mail)
	if !strings.Contains(s.Log(), `"reporter":"uid:64001"`) {
		t.Errorf("the log lacks the reporter:\n%s", s.Log())
	}
	expect(stranger, 77, "error: this user may not use the control socket "+s.Control+": connect: permission denied\n", "check", mail)
	expect(stranger, 77, fmt.Sprintf("hint: as root, run usermod --append --groups %d ", group), "check", mail)
	// A socket with the mode set by systemd gives access to all users.
	testenv.Check(t, os.Chmod(strings.TrimPrefix(s.Control, "unix:"), 0o666))
	expect(stranger, 77, "uid:64002 may not use the control socket", "check", mail)
	expect(member, 77, "uid:64001 may not speak for anna", "report", "--as", "anna", mail)
	expect(member, 77, "only root and the daemon's user administrate", "never", mail)

	if _, metrics := s.Get("/metrics"); !strings.Contains(metrics, "\nspambloom_reports_refused_total{action=\"report\",reason=\"not_allowed\"} 1\n") {
		t.Errorf("metrics lack the refused report:\n%s", metrics)
	}
	s.Configure(t, "[control]", "[control]\ndelegates = [\"uid:64001\"]")
	s.Reload(t, `"reloaded"`)
	expect(member, 0, "", "report", "--as", "anna", mail)
	expect(member, 77, "only root and the daemon's user administrate", "never", mail)
	if r := s.CLI("never", mail); r.Code != 0 {
		t.Errorf("root may not administrate: %+v", r)
	}
}

// A mail store on another machine reports with its token. Once its line is removed from the
// file and the daemon reloaded, it has no access.
func TestMailStoreElsewhere(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	cert, key := harness.BorrowedCertificate(t, s.Dir)
	token, line, ok := strings.Cut(harness.Execute(t, "", harness.Program(t, "spambloom"), "token", "store1").Stdout, "\n# for the file named by remote_tokens:\n")
	if !ok {
		t.Fatal("token prints something else")
	}
	_, token, _ = strings.Cut(token, "\n")
	tokens := harness.Write(t, filepath.Join(s.Dir, "tokens"), line)
	s.Configure(t, "[log]", fmt.Sprintf("[control]\nremote = \"127.0.0.1:0\"\nremote_cert = %q\nremote_key = %q\nremote_tokens = %q\n[log]", cert, key, tokens))
	s.Start()
	address := s.ReadyField(t, "remote")
	mail := harness.Write(t, filepath.Join(s.Dir, "mail.eml"), harness.Message(harness.Text()))
	remote := func(code int, stderr string, args ...string) {
		t.Helper()
		env := []string{"SPAMBLOOM_CONTROL=https://" + address, "SPAMBLOOM_CA=" + cert, "SPAMBLOOM_TOKEN=" + token}
		if r := as(s, nil, env, args...); r.Code != code || !strings.Contains(r.Stderr, stderr) {
			t.Errorf("%v: %+v; want %d with %q", args, r, code, stderr)
		}
	}
	remote(1, "", "check", mail)
	remote(0, "", "report", "--as", "anna@example.org", mail)
	remote(0, "", "check", mail)
	remote(77, "store1 may not do this", "never", mail)
	if !strings.Contains(s.Log(), `"reporter":"anna@example.org"`) || strings.Contains(s.Log(), token) {
		t.Errorf("log:\n%s", s.Log())
	}

	harness.Write(t, tokens, "store1 "+token+"\n")
	s.Reload(t, "line 1: holds a token") // the previous tokens stay
	remote(0, "", "check", mail)
	harness.Write(t, tokens, "# nobody\n")
	s.Reload(t, `"reloaded"`)
	remote(77, "the token is none of those that are let in", "check", mail)
	if _, metrics := s.Get("/metrics"); !strings.Contains(metrics, "\nspambloom_remote_refused_total{reason=\"name\"} 1\n") {
		t.Errorf("metrics lack the refused client:\n%s", metrics)
	}
	if code := s.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.Log())
	}
}
