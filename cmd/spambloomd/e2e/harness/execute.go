package harness

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// CLI runs the command spambloom for this daemon. A report waits for the daemon
// (--no-queue): on a slow machine it would be queued after some seconds, and take effect
// later than the test expects.
func (s *Site) CLI(args ...string) Result {
	s.T.Helper()
	if args[0] == "report" || args[0] == "revoke" {
		args = slices.Insert(slices.Clone(args), 1, "--no-queue")
	}
	return Execute(s.T, "", Program(s.T, "spambloom"), append(args, "--control", s.Control)...)
}

// Result is the result of a program.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// Execute runs a program to its end, in dir unless that is empty.
func Execute(t testing.TB, dir, name string, args ...string) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = testenv.Patience // a child process may hold its output
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", cmd, err)
	}
	if strings.Contains(stderr.String(), "DATA RACE") {
		t.Errorf("%s:\n%s", cmd, stderr.String())
	}
	return Result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// StartChild starts a program that ends with this process in any case: a killed test leaves
// no server behind.
func StartChild(cmd *exec.Cmd) error {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	return cmd.Start()
}
