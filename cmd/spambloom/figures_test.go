//go:build figures

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestFigures measures whole runs of the command, from start to exit, against a daemon
// process with its state on disk, both built as for use. report and check should have a
// p50 under 15 ms on a quiet machine. The test prints the figures and the load; it never
// fails for being slow.
func TestFigures(t *testing.T) {
	bin, state := t.TempDir(), testenv.Dir(t)
	if out, err := exec.Command("go", "build", "-o", bin+"/", ".", "../spambloomd").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	startFigureDaemon(t, filepath.Join(bin, "spambloomd"), state)
	t.Setenv("SPAMBLOOM_CONTROL", "unix:"+filepath.Join(state, "spambloom.sock"))
	t.Setenv("SPAMBLOOM_QUEUE", filepath.Join(t.TempDir(), "queue"))

	const runs = 200
	mails := messages(t, runs)
	cli := filepath.Join(bin, "spambloom")
	t.Logf("load %s", loadOf(t))
	measure(t, runs, "version", func(int) *exec.Cmd { return exec.Command(cli, "version") }, 0)
	file := func(i int) string { return filepath.Join(mails, strconv.Itoa(i)) }
	measure(t, runs, "check", func(i int) *exec.Cmd { return exec.Command(cli, "check", file(i)) }, 1)
	measure(t, runs, "report", func(i int) *exec.Cmd { return exec.Command(cli, "report", file(i)) }, 0)
	measure(t, runs, "revoke", func(i int) *exec.Cmd { return exec.Command(cli, "revoke", file(i)) }, 0)
	t.Setenv("SPAMBLOOM_CONTROL", "unix:"+filepath.Join(state, "nobody.sock"))
	measure(t, runs, "report, queued", func(i int) *exec.Cmd { return exec.Command(cli, "report", file(i)) }, 0)
	measure(t, 1, fmt.Sprintf("flush of %d", runs), func(int) *exec.Cmd {
		return exec.Command(cli, "flush", "--control", "unix:"+filepath.Join(state, "spambloom.sock"))
	}, 0)
}

// measure runs a command again and again, and prints how long it took.
func measure(t *testing.T, runs int, name string, command func(i int) *exec.Cmd, code int) {
	t.Helper()
	took := make([]time.Duration, runs)
	for i := range runs {
		cmd := command(i)
		begin := time.Now()
		out, err := cmd.CombinedOutput()
		took[i] = time.Since(begin)
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
			t.Fatalf("%v: %v: %s", cmd.Args, err, out)
		}
	}
	slices.Sort(took)
	t.Logf("%-16s p50 %5.1f ms, p99 %5.1f ms", name, ms(took[runs/2]), ms(took[runs*99/100]))
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func loadOf(t *testing.T) string {
	t.Helper()
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(load))[:3], " ")
}

// startFigureDaemon starts a daemon without Redis, and waits until it answers.
func startFigureDaemon(t *testing.T, program, state string) {
	t.Helper()
	cmd := exec.Command(program, "--data", state, "--listen", "unix:"+filepath.Join(state, "milter.sock"), "--http", "")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	testenv.Check(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the daemon: %s", &out)
		}
	})
	testenv.Eventually(t, "the daemon has a socket", func() bool {
		_, err := os.Stat(filepath.Join(state, "spambloom.sock"))
		return err == nil
	})
}
