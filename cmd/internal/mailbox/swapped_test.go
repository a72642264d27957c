package mailbox

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// TestFileBecomesPipe: the owner of a folder replaces a file by a pipe after its name was read. That
// is an error of this name, and does not stop the reader.
func TestFileBecomesPipe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.eml")
	if err := os.WriteFile(path, []byte("A: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	go readEntry(root, "a.eml", entries[0], path, func(_ Message, err error) bool {
		done <- err
		return true
	})
	select {
	case err := <-done:
		if err == nil {
			t.Error("the pipe was read as a message")
		}
	case <-time.After(testenv.Patience):
		t.Error("the reader waits for the pipe")
	}
}
