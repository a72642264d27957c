package trap

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// A pipe in place of a folder, or of the Maildir, stops neither the trap nor the daemon.
func TestPipesInPlaceOfFolders(t *testing.T) {
	for _, at := range []string{"new", "cur", "later", "."} {
		t.Run(at, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "Maildir")
			for _, folder := range []string{"new", "cur"} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			put(t, filepath.Join(dir, "new", "1"), "a mail")
			pipe := filepath.Join(dir, strings.Replace(at, "later", "cur", 1))
			if err := os.RemoveAll(pipe); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			trap := New(Options{Maildir: dir, Take: func(context.Context, []byte, int64, bool) error { return nil }, MaxMessage: func() int64 { return 1 << 20 }})
			looked := make(chan error, 1)
			trap.sorted = at == "later"
			go func() { looked <- trap.sweep(context.Background()) }()
			select {
			case err := <-looked:
				if err == nil {
					t.Error("no error")
				}
			case <-time.After(testenv.Patience):
				t.Error("the trap waits for the other end of a pipe")
				if f, err := os.OpenFile(pipe, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
					<-looked
					f.Close()
				}
			}
		})
	}
}
