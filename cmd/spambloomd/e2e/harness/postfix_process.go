package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Restart restarts the instance with its current files: after a reload, earlier processes
// may still accept a mail.
func (p *Postfix) Restart() {
	p.T.Helper()
	p.Stop()
	p.run()
	p.await()
}

// await returns when the instance answers.
func (p *Postfix) await() {
	p.T.Helper()
	answers := testenv.Becomes(func() bool {
		if len(p.ended) > 0 {
			p.T.Fatalf("Postfix ended at its start:\n%s", p.Log())
		}
		conn, err := net.Dial("tcp", p.Addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	if !answers {
		out, _ := exec.Command("ps", "-eo", "pid,ppid,pgid,etimes,stat,wchan:24,args").Output()
		p.T.Fatalf("Postfix does not answer at %s; its master is %d of\n%s", p.Addr, p.process.Pid, out)
	}
}

// tethered becomes the master. It leaves a process behind, not its child, that ends the
// master when the pipe at descriptor 3 closes without a line, because this process has
// died. The master changes its user, which undoes the setting of StartChild.
const tethered = `(sh -c 'read _ || kill $0' $$ <&3 3<&- >/dev/null 2>&1 &); exec "$0" "$@" 3<&-`

// run starts the master process itself, in the foreground, so that it ends with the test.
// The command postfix would write to the log first, and wait two seconds for the process
// that reads it.
func (p *Postfix) run() {
	p.T.Helper()
	out, err := os.Create(filepath.Join(p.Dir, "log/master"))
	if err != nil {
		p.T.Fatal(err)
	}
	defer out.Close()
	var in *os.File
	if in, p.tether, err = os.Pipe(); err != nil {
		p.T.Fatal(err)
	}
	defer in.Close()
	cmd := exec.Command("sh", "-c", tethered, p.Command, "-s", "-c", p.etc())
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = out, out, []*os.File{in}
	p.ended = make(chan error, 1)
	if err := StartChild(cmd); err != nil {
		p.T.Fatal(err)
	}
	p.process = cmd.Process
	go func() { p.ended <- cmd.Wait() }()
}

// Stop ends the instance. A second call does nothing.
func (p *Postfix) Stop() {
	if p.process == nil {
		return
	}
	_ = p.process.Signal(syscall.SIGTERM) // it may have ended by itself
	if !testenv.Becomes(func() bool { return len(p.ended) > 0 }) {
		p.T.Errorf("Postfix does not stop:\n%s", p.Log())
		_ = syscall.Kill(-p.process.Pid, syscall.SIGKILL)
	}
	<-p.ended // ended by a signal, which is expected
	// The master has its own process group. Its children end slightly later, and hold the
	// port until then.
	if !testenv.Becomes(func() bool { return syscall.Kill(-p.process.Pid, 0) == syscall.ESRCH }) {
		p.T.Errorf("processes of Postfix do not end:\n%s", p.Log())
	}
	p.process = nil
	_, _ = p.tether.WriteString("\n") // the process at its other end may have been killed
	p.tether.Close()
}

// UnixSite returns a daemon with a unix socket below the spool of a Postfix that is not
// started yet.
func UnixSite(t testing.TB, name string) (*Site, *Postfix) {
	t.Helper()
	p := NewPostfix(t)
	dir := filepath.Join(p.Dir, "spool", "spambloom")
	testenv.Check(t, os.Mkdir(dir, 0o750))
	testenv.Check(t, os.Chown(dir, 0, GroupID(t, "postfix")))
	s := NewSite(t, name, filepath.Join(testenv.Dir(t), "key"), "")
	s.Configure(t, `listen = ["inet:0@127.0.0.1"]`, fmt.Sprintf("listen = [%q]", "unix:"+filepath.Join(dir, "milter.sock")))
	s.Configure(t, "[log]", "[control]\ngroup = \"postfix\"\n[log]")
	return s, p
}
