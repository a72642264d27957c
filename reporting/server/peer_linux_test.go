package server

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/api/v1"
	"github.com/spambloom/spambloom/reporting/client"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// dialAs connects as another user, with these groups. Linux keeps credentials by
// thread: ours takes others on, connects, and ends with its goroutine.
func dialAs(t *testing.T, path string, uid, gid int, groups ...uint32) net.Conn {
	t.Helper()
	testenv.Root(t)
	type result struct {
		conn net.Conn
		err  error
	}
	done := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocked
		groups := append(groups, 0)
		for _, call := range [][4]uintptr{
			{unix.SYS_SETGROUPS, uintptr(len(groups) - 1), uintptr(unsafe.Pointer(&groups[0])), 0},
			{unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)},
			{unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)},
		} {
			if _, _, errno := unix.RawSyscall(call[0], call[1], call[2], call[3]); errno != 0 {
				done <- result{err: errno}
				return
			}
		}
		conn, err := net.Dial("unix", path)
		done <- result{conn, err}
	}()
	r := <-done
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.conn
}

// clientOver returns a client that uses one connection.
func clientOver(t *testing.T, conn net.Conn) *client.Client {
	t.Helper()
	c := client.Over(func(context.Context) (net.Conn, error) { return conn, nil })
	t.Cleanup(c.Close)
	return c
}

// The kernel names the process that connects, with all its groups. A member of the group only by a
// supplementary group may report, another user may not, and a user cannot claim to
// be another one.
func TestPeerOfAnotherUser(t *testing.T) {
	const gid = 64999
	log := &logBuffer{}
	db := desktest.OpenDB(t)
	h := NewHandler(desk.New(db, desktest.OpenLedger(t, trust.Default()), desk.Options{Log: slog.New(slog.NewTextHandler(log, nil))}), HandlerOptions{
		Decide: desktest.Decide,
		Access: NewAccess(AccessOptions{Group: "testers", GID: gid, DaemonUID: os.Getuid()}),
	})
	path := listenAndServe(t, New(h, nil))
	if err := os.Chmod(path, 0o666); err != nil { // as sockets of systemd are, by default
		t.Fatal(err)
	}
	testenv.Check(t, os.Chmod(filepath.Dir(path), 0o755))
	many := []uint32{gid}
	for g := range uint32(500) { // more than one question to the kernel has room for
		many = append(many, 50_000+g)
	}
	t.Cleanup(func() { db.Close() })
	member := clientOver(t, dialAs(t, path, 64001, 64001, many...))
	stranger := clientOver(t, dialAs(t, path, 64002, 64002, 50_000))
	ctx, r := t.Context(), api.NewRequest(desktest.Set("body", "text"))

	if _, err := client.Post(ctx, member, v1.Report, r); err != nil {
		t.Errorf("a member may not report: %v", err)
	}
	if line := log.String(); !strings.Contains(line, "reporter=uid:64001 ") || !strings.Contains(line, "origin.uid=64001 ") {
		t.Errorf("log %q", line)
	}
	if _, err := client.Post(ctx, stranger, v1.Check, r); err == nil || !strings.HasPrefix(err.Error(), "uid:64002 may not use the control socket") {
		t.Errorf("another user may ask: %v", err)
	}
	r.Reporter = "anna"
	if _, err := client.Post(ctx, member, v1.Report, r); err == nil || !strings.HasPrefix(err.Error(), "uid:64001 may not speak for anna") {
		t.Errorf("a member may speak for others: %v", err)
	}
	if _, err := client.Post(ctx, member, v1.Never, api.NeverRequest{Request: api.NewRequest(desktest.Set("body", "text"))}); err == nil || !strings.Contains(err.Error(), "only root") {
		t.Errorf("a member may administrate: %v", err)
	}
}
