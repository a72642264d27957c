package mailbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness/dovecot"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The reports of a user without a home folder wait in the folder of
// contrib/spambloom.tmpfiles, and are delivered from there. A user who is not in its group
// gets an error that names it.
func TestServiceUserQueue(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	for _, program := range []string{"unshare", "setpriv", "systemd-tmpfiles"} {
		testenv.Program(t, program)
	}
	s := newMailSite(t)
	d := dovecot.New(t, s) // for a command that every user may run
	spool := filepath.Join(testenv.Dir(t), "spool")
	testenv.Check(t, os.Mkdir(spool, 0o755))
	made, err := os.ReadFile(filepath.Join(harness.Repository, "contrib/spambloom.tmpfiles"))
	testenv.Check(t, err)
	conf := harness.Write(t, filepath.Join(s.Dir, "tmpfiles.conf"), strings.Replace(string(made), "root spambloom", "root "+dovecot.ControlGroup, 1))
	mail := harness.Write(t, filepath.Join(s.Dir, "mail.eml"), harness.Message(harness.Text()))
	for path, mode := range map[string]os.FileMode{s.Dir: 0o755, mail: 0o644} {
		testenv.Check(t, os.Chmod(path, mode))
	}

	// as runs the command as a user without a home folder, with its own /var/spool.
	as := func(uid int, groups, command string) (code int, out string) {
		t.Helper()
		script := fmt.Sprintf("mount --bind %s /var/spool && systemd-tmpfiles --create %s && exec setpriv --reuid %d --regid 64005 %s %s %s",
			spool, conf, uid, groups, filepath.Join(d.Dir, "spambloom"), command)
		cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", script)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GORACE=" + os.Getenv("GORACE"), "SPAMBLOOM_CONTROL=" + s.Control}
		text, _ := cmd.CombinedOutput() // the exit code tells
		return cmd.ProcessState.ExitCode(), string(text)
	}
	member := fmt.Sprintf("--groups %d", harness.GroupID(t, dovecot.ControlGroup))
	if code, out := as(64005, member, "report "+mail); code != 0 || !strings.Contains(out, "mail.eml: queued; ") {
		t.Fatalf("a member of the group: %d\n%s", code, out)
	}
	folder, err := os.Stat(filepath.Join(spool, "spambloom/64005"))
	if err != nil || folder.Mode() != os.ModeDir|0o700 {
		t.Errorf("the queue: %v, %v", folder, err)
	}
	parent, err := os.Stat(filepath.Join(spool, "spambloom"))
	if err != nil || parent.Mode() != os.ModeDir|os.ModeSticky|0o770 || parent.Sys().(*syscall.Stat_t).Gid != uint32(harness.GroupID(t, dovecot.ControlGroup)) {
		t.Errorf("the folder: %v, %v", parent, err)
	}
	if code, out := as(64006, "--clear-groups", "report "+mail); code != 69 || !strings.Contains(out, "/var/spool/spambloom/64006") || !strings.Contains(out, "permission denied") {
		t.Errorf("another user: %d\n%s", code, out)
	}
	s.Start()
	if code, out := as(64005, member, "flush"); code != 0 || out != "queue: 1 report delivered\n" {
		t.Errorf("flush: %d\n%s", code, out)
	}
	if !strings.Contains(s.Log(), `"reporter":"uid:64005"`) {
		t.Errorf("the log lacks the report:\n%s", s.Log())
	}
}
