package mailbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

const other = 54321 // a user

// othersFolder returns a folder of another user in a folder of root, with a message and links.
func othersFolder(t *testing.T) (root, folder string) {
	t.Helper()
	testenv.Root(t) // it reads folders of other users, and gives files to them
	root = tree(t, map[string]string{"secret": "S: 1\n", "mail/cur/s": "B: 1\n", "mail/new/.keep": "", "anna/a.eml": "A: 1\n"})
	folder = filepath.Join(root, "anna")
	for link, target := range map[string]string{
		"inside": "a.eml", "outside": "../secret", "absolute": filepath.Join(root, "secret"), "kernel": "/proc/kmsg", "mail": "../mail",
	} {
		testenv.Check(t, os.Symlink(target, filepath.Join(folder, link)))
	}
	give(t, folder)
	return root, folder
}

// give gives a folder and all in it to the other user.
func give(t *testing.T, folder string) {
	t.Helper()
	testenv.Check(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, other, other))
	}))
}

// within returns what f returns; it fails the test if f hangs.
func within(t *testing.T, f func() []string) []string {
	t.Helper()
	done := make(chan []string, 1)
	go func() { done <- f() }()
	select {
	case lines := <-done:
		return lines
	case <-time.After(testenv.Patience):
		t.Fatal("the reader hangs")
		return nil
	}
}

// Root reads a folder whose owner has placed links to root's files, to a user's mail and to the log of the
// kernel. None of them is read, and what is in the folder is.
func TestLinksOfOthers(t *testing.T) {
	root, folder := othersFolder(t)
	out := " error open %s: " + errLeadsOut.Error()
	want := []string{`anna/a.eml "A: 1\n"`}
	for _, name := range []string{"anna/absolute", "anna/inside", "anna/kernel", "anna/mail", "anna/outside"} {
		if name == "anna/inside" {
			want = append(want, name+` "A: 1\n"`)
			continue
		}
		want = append(want, name+strings.ReplaceAll(out, "%s", name))
	}
	if lines := within(t, func() []string { return list(root, "", folder) }); !slices.Equal(lines, want) {
		t.Errorf("\n got %q\nwant %q", lines, want)
	}
}

// A name that is another user's link or pipe is neither followed nor waited for.
func TestNamesOfOthers(t *testing.T) {
	root, folder := othersFolder(t)
	testenv.Check(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	give(t, folder)
	for _, name := range []string{"outside", "kernel", "mail", "mail/", "pipe"} {
		lines := within(t, func() []string {
			return list(root, "", filepath.Join(folder, name)+strings.Repeat("/", strings.Count(name, "/")))
		})
		if len(lines) != 1 || !strings.Contains(lines[0], "another user (54321)") {
			t.Errorf("%s: %q", name, lines)
		}
	}
	testenv.Check(t, os.Lchown(filepath.Join(folder, "outside"), 0, 0))
	if lines := list(root, "", filepath.Join(folder, "outside")); !slices.Equal(lines, []string{`anna/outside "S: 1\n"`}) {
		t.Errorf("root's own link: %q", lines)
	}
}

// A file of names that another user has written, or a pipe of theirs, is not read.
func TestNamesByOthers(t *testing.T) {
	root, folder := othersFolder(t)
	testenv.Check(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	give(t, folder)
	for _, name := range []string{"a.eml", "inside", "pipe"} {
		lines := within(t, func() []string {
			f, err := OpenNames(filepath.Join(folder, name))
			if err == nil {
				f.Close()
				return nil
			}
			return []string{err.Error()}
		})
		if len(lines) != 1 || !strings.Contains(lines[0], "another user (54321)") {
			t.Errorf("%s: %q", name, lines)
		}
	}
	f, err := OpenNames(filepath.Join(root, "secret"))
	testenv.Check(t, err)
	f.Close()
}

// A reader's own links lead where they lead. As soon as others may write to the folder, they do not.
func TestOwnLinks(t *testing.T) {
	root := tree(t, map[string]string{"elsewhere/b.eml": "B: 1\n", "mine/a.eml": "A: 1\n"})
	mine := filepath.Join(root, "mine")
	testenv.Check(t, os.Symlink(filepath.Join(root, "elsewhere/b.eml"), filepath.Join(mine, "link")))
	if lines := list(root, "", mine); !slices.Equal(lines, []string{`mine/a.eml "A: 1\n"`, `mine/link "B: 1\n"`}) {
		t.Errorf("%q", lines)
	}
	testenv.Check(t, os.Chmod(mine, 0o777))
	if lines := list(root, "", mine); len(lines) != 2 || !strings.Contains(lines[1], errLeadsOut.Error()) {
		t.Errorf("in a folder of all: %q", lines)
	}
}

// The owner replaces a folder by a link to other mail after its name was read, and a file by another one.
func TestReplacedNames(t *testing.T) {
	root := tree(t, map[string]string{"mail/s": "B: 1\n", "anna/a.eml": "A: 1\n", "secret": "S: 1\n"})
	for name, target := range map[string]string{"anna": "mail", "anna/a.eml": "../secret"} {
		path := filepath.Join(root, name)
		info, err := lookUp(path)
		testenv.Check(t, err)
		testenv.Check(t, os.Rename(path, path+".moved"))
		testenv.Check(t, os.Symlink(target, path))
		lines := got(func(yield func(Message, error) bool) {
			if info.IsDir() {
				readFolder(path, info, yield)
			} else {
				readFile(path, info, yield)
			}
		})
		if len(lines) != 1 || !strings.Contains(lines[0], errReplaced.Error()) {
			t.Errorf("%s: %q", name, lines)
		}
		testenv.Check(t, os.Remove(path))
		testenv.Check(t, os.Rename(path+".moved", path))
	}
}

// A sparse file of exabytes that begins like an mbox costs its owner nothing. It does not stop the reader.
func TestSparseMbox(t *testing.T) {
	root := tree(t, map[string]string{"box": mark + "A: 1\n\n" + mark + "B: 1\n\n"})
	testenv.Need(t, os.Truncate(filepath.Join(root, "box"), 1<<43) == nil, "a file system with files of 8 TiB")
	lines := within(t, func() []string { return list(root, "", filepath.Join(root, "box")) })
	if len(lines) != 2 || lines[0] != `box:1 "A: 1\n"` || !strings.Contains(lines[1], errLongLine.Error()) {
		t.Errorf("%.300q", lines)
	}
}
