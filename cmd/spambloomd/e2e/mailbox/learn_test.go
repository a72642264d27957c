package mailbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Only an administrator feeds the daemon wanted mail. An interrupted archive is resumed, and each of
// its messages is learned once. No line of them is kept. A daemon that does not learn refuses, and the hint says how it would.
func TestLearn(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	const group = 64999
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	s.Control = "unix:" + filepath.Join(s.Dir, "control.sock")
	s.Configure(t, "[log]", fmt.Sprintf("[control]\nlisten = %q\ngroup = \"%d\"\n[log]", s.Control, group))
	s.Start()
	mail := harness.Write(t, filepath.Join(s.Dir, "mail.eml"), harness.Message(harness.Text()))
	testenv.Check(t, os.Chmod(mail, 0o644))
	user, env := &syscall.Credential{Uid: 64001, Gid: 64001, Groups: []uint32{group}}, []string{"SPAMBLOOM_CONTROL=" + s.Control, "HOME=/nonexistent"}
	if r := as(s, user, env, "learn", mail); r.Code != 77 || !strings.Contains(r.Stderr, "uid:64001 may not do this: only root and the daemon's user administrate") {
		t.Errorf("as a member of the group: %+v", r)
	}
	wantLearned(s, 0)

	raws, done := interruptLearning(s)
	wantLearned(s, done)
	whole := harness.Write(t, filepath.Join(s.Dir, "whole.mbox"), strings.Join(raws, ""))
	if r := s.CLI("learn", "--yes", "--skip", fmt.Sprint(done), whole); r.Code != 0 || strings.Count(r.Stdout, ": learned\n") != len(raws)-done {
		t.Errorf("the rest after %d of %d: %+v", done, len(raws), r)
	}
	wantLearned(s, len(raws))
	s.Stop(syscall.SIGKILL) // after exit code 0, what was learned is on disk
	wantNoText(s, raws)
	s.Configure(t, "[reports]", "[reports]\ncommonness = false")
	s.Start()
	if r := s.CLI("learn", mail, mail); r.Code != 78 || strings.Count(r.Stderr, "does not learn") != 1 || !strings.Contains(r.Stderr, "hint: set commonness = true in [reports]") {
		t.Errorf("a daemon that does not learn: %+v", r)
	}
}

// wantLearned checks how many messages were learned since the daemon's start.
func wantLearned(s *harness.Site, n int) {
	s.T.Helper()
	_, metrics := s.Get("/metrics")
	if want := fmt.Sprintf("\nspambloom_reports_total{action=\"learn\",class=\"other\"} %d\n", n); strings.Contains(metrics, want) != (n > 0) {
		s.T.Errorf("want %d learned messages:\n%s", n, regexp.MustCompile(`(?m)^.*action="learn".*$`).FindString(metrics))
	}
}

// wantNoText checks that what was learned was written, without a line of the messages.
func wantNoText(s *harness.Site, raws []string) {
	t := s.T
	sets, _ := filepath.Glob(filepath.Join(s.Dir, "state", "common-*.set"))
	if len(sets) == 0 {
		t.Error("no set of common features is written")
	}
	testenv.Check(t, filepath.WalkDir(filepath.Join(s.Dir, "state"), func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		for _, raw := range raws {
			_, text, _ := strings.Cut(raw, "\n\n")
			if line, _, _ := strings.Cut(text, "\n"); bytes.Contains(content, []byte(line)) {
				t.Errorf("%s contains a line of mail: %q", path, line)
			}
		}
		return err
	}))
}

// interruptLearning feeds an archive until SIGINT has ended the command. It returns the messages, and the
// number of those after which the hint resumes.
func interruptLearning(s *harness.Site) (raws []string, done int) {
	t := s.T
	archive := filepath.Join(s.Dir, "archive.mbox")
	testenv.Check(t, syscall.Mkfifo(archive, 0o600))
	cmd := exec.Command(harness.Program(t, "spambloom"), "learn", "--yes", "--control", s.Control, archive)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	testenv.Check(t, harness.StartChild(cmd))
	feed, err := os.OpenFile(archive, os.O_WRONLY, 0)
	testenv.Check(t, err)
	defer feed.Close()
	for i := 0; ; i++ {
		raws = append(raws, "From x@example.net Thu Jan  1 00:00:00 2026\n"+strings.ReplaceAll(harness.Message(harness.Text()), "\r", "")+"\n")
		if i == 20 {
			testenv.Eventually(t, "some are learned", func() bool {
				_, metrics := s.Get("/metrics")
				return strings.Contains(metrics, `action="learn"`)
			})
			testenv.Check(t, cmd.Process.Signal(os.Interrupt))
		}
		if _, err := feed.WriteString(raws[i]); errors.Is(err, syscall.EPIPE) && i >= 20 {
			break // it has ended
		} else if err != nil {
			t.Fatal(err)
		}
	}
	err = cmd.Wait()
	done = strings.Count(stdout.String(), ": learned\n")
	if hint := fmt.Sprintf("spambloom: hint: to resume there, run the same command with --skip %d\n", done); cmd.ProcessState.ExitCode() != 130 || !strings.Contains(stderr.String(), hint) {
		t.Fatalf("%v after %d messages, want 130 and %q:\n%s", err, done, hint, stderr.String())
	}
	return raws, done
}
