package trial

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Root may name a plot in the folder of a user, who made a link or a pipe of that name.
func TestPlotFollowsNothing(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	testenv.Check(t, os.WriteFile(victim, []byte("of somebody else"), 0o600))
	for name, make := range map[string]func(path string) error{
		"hard.svg": func(path string) error { return os.Link(victim, path) },
		"file.svg": func(path string) error { return os.WriteFile(path, []byte("an earlier plot"), 0o600) },
		"none.svg": func(string) error { return nil },
		"link.svg": func(path string) error { return os.Symlink(victim, path) },
		"pipe.svg": func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder":   func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		path := filepath.Join(dir, name)
		testenv.Check(t, make(path))
		plot, err := createPlot(path)
		if name == "link.svg" || name == "pipe.svg" || name == "folder" {
			if err == nil || !strings.Contains(err.Error(), path+" is not a regular file") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		testenv.Check(t, err)
		_, err = plot.WriteString("<svg/>")
		testenv.Check(t, err)
		testenv.Check(t, plot.Close())
		info, err := os.Lstat(path)
		testenv.Check(t, err)
		if info.Size() != 6 {
			t.Errorf("%s: %d bytes", name, info.Size())
		}
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "of somebody else" {
		t.Errorf("%q, %v", text, err)
	}
}
