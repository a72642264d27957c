package change_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/spambloom/change"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func read(t testing.TB, path string) *change.File {
	t.Helper()
	f, err := change.Read(path)
	testenv.Check(t, err)
	return f
}

// A file keeps its mode, and a link to it remains a link. A folder is refused.
func TestWrite(t *testing.T) {
	dir := t.TempDir()
	real, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	testenv.Check(t, os.WriteFile(real, []byte("a\n"), 0o640))
	if err := os.Chmod(real, 0o640); err != nil { // WriteFile heeds the umask
		t.Fatal(err)
	}
	testenv.Check(t, os.Symlink("real", link))
	f := read(t, link)
	if f.IsChanged() || f.Diff(nil) != "" {
		t.Error("unchanged, but has a diff")
	}
	f.New = []byte("b\n")
	testenv.Check(t, f.Write())
	text, _ := os.ReadFile(real)
	info, _ := os.Stat(real)
	if kind, _ := os.Lstat(link); string(text) != "b\n" || info.Mode().Perm() != 0o640 || kind.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q %v %v", text, info.Mode(), kind.Mode())
	}
	fresh := read(t, filepath.Join(dir, "new"))
	fresh.New, fresh.Mode = []byte("x\n"), 0o600
	if !fresh.IsNew || !strings.HasPrefix(fresh.Diff(nil), "--- /dev/null\n") || fresh.Write() != nil {
		t.Error(fresh.Diff(nil))
	}
	if info, err := os.Stat(fresh.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if _, err := change.Read(dir); err == nil {
		t.Error("read a folder")
	}
}

func TestDiffHides(t *testing.T) {
	f := &change.File{Path: "f", Old: []byte("a\n"), New: []byte("a\nsecret\n")}
	if got := f.Diff(func(l string) string { return strings.ReplaceAll(l, "secret", "***") }); got != "--- f\n+++ f\n@@ -1,1 +1,2 @@\n a\n+***\n" {
		t.Error(got)
	}
}

// patch(1) accepts every diff, and makes the new file from the old one.
func TestPatchAccepts(t *testing.T) {
	patch := testenv.Program(t, "patch")
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "", "d"}), 1, 40)
		text := func(label string) []byte { return []byte(strings.Join(lines.Draw(t, label), "\n") + "\n") }
		f := &change.File{Path: filepath.Join(dir, "f"), Old: text("old"), New: text("new")}
		if !f.IsChanged() {
			return
		}
		testenv.Check(t, os.WriteFile(f.Path, f.Old, 0o600))
		cmd := exec.Command(patch, "-s", "-F0", f.Path)
		cmd.Stdin = strings.NewReader(f.Diff(nil))
		out, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(f.Path)
		if err != nil || string(got) != string(f.New) {
			t.Fatal(fmt.Sprintf("%v %s\n%s\ngot %q, want %q", err, out, f.Diff(nil), got, f.New))
		}
	})
}
