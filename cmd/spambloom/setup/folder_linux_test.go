package setup

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestFolderAppearsWhole is the attack "setup killed while it makes the folder": whenever that is, the
// folder of the socket is not there, or has its owner and mode. The kernel tells what was done to it.
func TestFolderAppearsWhole(t *testing.T) {
	dir := t.TempDir()
	watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK)
	testenv.Check(t, err)
	defer syscall.Close(watch)
	_, err = syscall.InotifyAddWatch(watch, dir, syscall.IN_CREATE)
	testenv.Check(t, err)
	f := &folder{path: filepath.Join(dir, "spambloom"), owner: account{uid: os.Getuid(), gid: os.Getgid()}, mode: 0o750 | os.ModeSetgid}
	testenv.Check(t, f.make())
	events := make([]byte, 4096)
	n, err := syscall.Read(watch, events)
	testenv.Check(t, err)
	if bytes.Contains(events[:n], []byte("\x00spambloom\x00")) {
		t.Error("the folder was made before it had its owner and mode")
	}
	info, err := os.Stat(f.path)
	testenv.Check(t, err)
	if info.Mode() != f.mode|os.ModeDir {
		t.Errorf("mode %v", info.Mode())
	}
}
