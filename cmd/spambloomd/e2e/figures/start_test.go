//go:build figures

package figures

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// fullConfig is the configuration of a daemon for the full state folder made by the test of
// the same name in bloomdb.
const fullConfig = `
[site]
name = "full"
[milter]
listen = ["inet:0@127.0.0.1"]
[http]
listen = ""
`

// The figures of contrib/benchmarks.md for the start with a full database: from exec to
// READY=1, in the folders made by make bench-start.
func TestStartFigures(t *testing.T) {
	cache, err := os.UserCacheDir()
	testenv.Check(t, err)
	full := filepath.Join(cache, "spambloom", "full-"+time.Now().UTC().Format(time.DateOnly))
	if _, err := os.Stat(full); err != nil {
		t.Skip("no full database: make bench-start makes one")
	}
	for _, after := range []string{"clean", "killed"} {
		dir := filepath.Join(testenv.Dir(t), "state")
		if out, err := exec.Command("cp", "-r", filepath.Join(full, after), dir).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		for _, cold := range []bool{false, true} {
			var boots []boot
			for range 5 {
				boots = append(boots, startFull(t, dir, cold))
			}
			slices.SortFunc(boots, func(a, b boot) int { return int(a.ready - b.ready) })
			load, _ := os.ReadFile("/proc/loadavg")
			t.Logf("%s, cold %v: ready after %v (%v to %v), processor time %v, resident %s; load %.14s", after, cold,
				boots[2].ready.Round(time.Millisecond), boots[0].ready.Round(time.Millisecond), boots[4].ready.Round(time.Millisecond), boots[2].cpu, boots[2].memory, load)
		}
	}
}

// boot is one start of the daemon.
type boot struct {
	ready  time.Duration // from exec to READY=1
	cpu    time.Duration // until then
	memory string        // resident
}

// startFull runs the daemon until it sends READY=1 to the socket, like systemd's, and kills
// it.
func startFull(t *testing.T, dir string, cold bool) boot {
	t.Helper()
	config := harness.Write(t, filepath.Join(t.TempDir(), "spambloom.toml"), fullConfig)
	notify := filepath.Join(testenv.Dir(t), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: notify, Net: "unixgram"})
	testenv.Check(t, err)
	defer conn.Close()
	name := harness.Program(t, "spambloomd")
	if cold {
		syscall.Sync()
		if err := os.WriteFile("/proc/sys/vm/drop_caches", []byte("3\n"), 0); err != nil {
			t.Skipf("caches cannot be dropped: %v", err)
		}
	}
	cmd := exec.Command(name, "-c", config, "--data", dir)
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+notify)
	var log strings.Builder
	cmd.Stderr = &log
	begin := time.Now()
	testenv.Check(t, harness.StartChild(cmd))
	_ = conn.SetReadDeadline(time.Now().Add(testenv.Patience))
	answer := make([]byte, 256)
	n, err := conn.Read(answer)
	b := boot{ready: time.Since(begin)}
	b.cpu, b.memory = usage(t, cmd.Process.Pid)
	_ = cmd.Process.Signal(syscall.SIGKILL)
	_ = cmd.Wait()
	if err != nil || !strings.HasPrefix(string(answer[:n]), "READY=1") {
		t.Fatalf("%q, %v\n%s", answer[:n], err, log.String())
	}
	return b
}

// usage returns processor time and resident memory of a process according to the kernel.
func usage(t *testing.T, pid int) (cpu time.Duration, resident string) {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	testenv.Check(t, err)
	fields := strings.Fields(string(stat))
	var user, system int64
	fmt.Sscan(fields[13], &user)
	fmt.Sscan(fields[14], &system)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	testenv.Check(t, err)
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			resident = strings.TrimSpace(rest)
		}
	}
	return time.Duration(user+system) * 10 * time.Millisecond, resident // in ticks of 10 ms
}
