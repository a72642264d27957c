package reporting

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/testenv"
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

// clientOver is a client that speaks on one connection.
func clientOver(t *testing.T, conn net.Conn) *Client {
	t.Helper()
	c := &Client{base: unixBase, http: &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil },
	}}}
	t.Cleanup(c.Close)
	return c
}

// The kernel says who connects, with all groups. A member of the group only by a
// supplementary group may report, another user may not, and a user cannot claim to
// be another one.
func TestPeerOfAnotherUser(t *testing.T) {
	const gid = 64999
	log := &logBuffer{}
	db := openDB(t)
	h := NewHandler(NewDesk(db, openLedger(t, trust.Default()), DeskOptions{Log: slog.New(slog.NewTextHandler(log, nil))}), HandlerOptions{
		Decide: decide,
		Access: NewAccess(AccessOptions{Group: "testers", GID: gid, DaemonUID: os.Getuid()}),
	})
	path := listenAndServe(t, NewServer(h, nil))
	if err := os.Chmod(path, 0o666); err != nil { // as sockets of systemd are, by default
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	many := []uint32{gid}
	for g := range uint32(500) { // more than one question to the kernel has room for
		many = append(many, 50_000+g)
	}
	t.Cleanup(func() { db.Close() })
	member := clientOver(t, dialAs(t, path, 64001, 64001, many...))
	stranger := clientOver(t, dialAs(t, path, 64002, 64002, 50_000))
	ctx, r := t.Context(), NewRequest(testSet("body", "text"))

	if _, err := member.Report(ctx, r); err != nil {
		t.Errorf("a member may not report: %v", err)
	}
	if line := log.String(); !strings.Contains(line, "reporter=uid:64001 ") || !strings.Contains(line, "origin.uid=64001 ") {
		t.Errorf("log %q", line)
	}
	if _, err := stranger.Check(ctx, r); err == nil || !strings.HasPrefix(err.Error(), "uid:64002 may not use the control socket") {
		t.Errorf("another user may ask: %v", err)
	}
	r.Reporter = "anna"
	if _, err := member.Report(ctx, r); err == nil || !strings.HasPrefix(err.Error(), "uid:64001 may not speak for anna") {
		t.Errorf("a member may speak for others: %v", err)
	}
	if _, err := member.Never(ctx, NeverRequest{Request: NewRequest(testSet("body", "text"))}); err == nil || !strings.Contains(err.Error(), "only root") {
		t.Errorf("a member may administrate: %v", err)
	}
}
