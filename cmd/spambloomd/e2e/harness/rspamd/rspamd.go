// Package rspamd runs an rspamd with the modules that a test copies into its folder, without
// Debian's configuration, Redis or DNS.
package rspamd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// common is the part of the configuration that does not depend on the test.
const common = `
options {
  pidfile = "%[1]s/pid";
  filters = "%[2]s";
  dns { timeout = 1s; sockets = 1; retransmits = 1; nameserver = ["127.0.0.1:1"]; }
  tempdir = "%[1]s";
  url_tld = "%[1]s/tld";
  control_socket = "%[1]s/control.sock mode=0600";
  cache_file = "%[1]s/symbols.cache";
  hs_cache_dir = "%[1]s/";
  stats_file = "%[1]s/stats.ucl";
  history_file = "%[1]s/history";
  explicit_modules = [];
  allow_raw_input = true;
  local_addrs = [];
}
modules { path = "%[1]s/modules"; }
`

// Folder makes a folder for Start, with an empty folder "modules", and a file "tld" with a few domain
// endings: to compile Debian's list takes 10 s.
func Folder(t testing.TB) string {
	t.Helper()
	dir := testenv.Dir(t)
	testenv.Check(t, os.Mkdir(filepath.Join(dir, "modules"), 0o755))
	harness.Write(t, filepath.Join(dir, "tld"), "com\nnet\norg\nexample\ntest\n")
	return dir
}

// Start starts the program in a Folder, as the user _rspamd, with the built-in filters and
// further settings, and returns its process, and a channel that is closed when it has ended. It
// may not yet answer. It ends with the test, whose output has its log if the test failed. The
// settings have to name the log dir/log.
func Start(t testing.TB, program, dir, filters, settings string) (p *os.Process, ended <-chan struct{}) {
	t.Helper()
	testenv.Root(t)
	conf := harness.Write(t, filepath.Join(dir, "rspamd.conf"), fmt.Sprintf(common, dir, filters)+settings)
	if out, err := exec.Command("chown", "-R", "_rspamd:_rspamd", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, "-f", "-c", conf, "-u", "_rspamd", "-g", "_rspamd")
	out, err := os.Create(filepath.Join(dir, "out")) // what it prints before it opens its log
	testenv.Check(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	testenv.Check(t, harness.StartChild(cmd))
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = cmd.Wait() // show prints how it ended
	}()
	t.Cleanup(func() {
		if t.Failed() {
			show(t, dir, cmd.Process.Pid)
		}
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
		<-done
		if t.Failed() {
			t.Logf("rspamd: %v", cmd.ProcessState)
		}
	})
	return cmd.Process, done
}

// show logs what rspamd wrote, and what its processes are doing.
func show(t testing.TB, dir string, pid int) {
	for _, name := range []string{"out", "log"} {
		text, err := os.ReadFile(filepath.Join(dir, name)) // no log if rspamd did not get that far
		t.Logf("rspamd: %s (%v):\n%s", name, err, text)
	}
	out, _ := exec.Command("ps", "-o", "pid,ppid,stat,wchan:30,time,args", "-p", strconv.Itoa(pid), "--ppid", strconv.Itoa(pid)).CombinedOutput()
	t.Logf("%s", out)
}
