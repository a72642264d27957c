package main

import (
	"bufio"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// redisServer is an own Redis on a port of its own, with its data on disk.
type redisServer struct {
	t       *testing.T
	command string
	dir     string
	port    int
	cmd     *exec.Cmd
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	r := &redisServer{t: t, command: find(t, "redis-server"), dir: folder(t), port: freePort(t)}
	t.Cleanup(r.stop)
	r.start()
	return r
}

func (r *redisServer) url() string { return fmt.Sprintf("redis://127.0.0.1:%d/0", r.port) }

// start runs the server, also again after a stop, and waits until it answers.
func (r *redisServer) start() {
	r.t.Helper()
	r.cmd = exec.Command(r.command, "--port", strconv.Itoa(r.port), "--bind", "127.0.0.1",
		"--dir", r.dir, "--appendonly", "yes", "--save", "", "--loglevel", "warning")
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	eventually(r.t, "Redis answers", r.answers)
}

func (r *redisServer) answers() bool {
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", r.port), time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, err = conn.Write([]byte("PING\r\n"))
	line, readErr := bufio.NewReader(conn).ReadString('\n')
	return err == nil && readErr == nil && line == "+PONG\r\n"
}

func (r *redisServer) stop() {
	if r.cmd == nil {
		return
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended by itself
	_ = r.cmd.Wait()                          // by a signal: that is no fault
	r.cmd = nil
}
