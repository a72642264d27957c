package harness

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Redis is a separate Redis with its own port, and its data on disk.
type Redis struct {
	t       testing.TB
	command string
	dir     string
	Port    int
	cmd     *exec.Cmd
}

func StartRedis(t testing.TB) *Redis {
	t.Helper()
	r := &Redis{t: t, command: testenv.Program(t, "redis-server"), dir: testenv.Dir(t), Port: testenv.Port(t)}
	t.Cleanup(r.Stop)
	r.Start()
	return r
}

func (r *Redis) URL() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", r.Port) }

// Start runs the server, also after a stop, and waits until it answers.
func (r *Redis) Start() {
	r.t.Helper()
	r.cmd = exec.Command(r.command, "--port", strconv.Itoa(r.Port), "--bind", "127.0.0.1",
		"--dir", r.dir, "--appendonly", "yes", "--save", "", "--loglevel", "warning")
	if err := StartChild(r.cmd); err != nil {
		r.t.Fatal(err)
	}
	testenv.Eventually(r.t, "Redis answers", r.answers)
}

func (r *Redis) answers() bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", r.Port), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, err = conn.Write([]byte("PING\r\n"))
	line, readErr := bufio.NewReader(conn).ReadString('\n')
	return err == nil && readErr == nil && line == "+PONG\r\n"
}

func (r *Redis) Stop() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	_ = r.cmd.Wait()                          // ended by a signal, which is expected
	r.cmd = nil
}

// Kill is kill -9.
func (r *Redis) Kill() {
	_ = r.cmd.Process.Kill() // it may have ended by itself
	_ = r.cmd.Wait()
	r.cmd = nil
}

// Empty deletes the server's data on disk.
func (r *Redis) Empty() {
	r.t.Helper()
	entries, err := os.ReadDir(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(r.dir, e.Name())); err != nil {
			r.t.Fatal(err)
		}
	}
}
