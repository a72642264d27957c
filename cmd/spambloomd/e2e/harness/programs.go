package harness

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Repository is the absolute path of the sources, the folder in which a newcomer
// types commands.
var Repository = repository()

func repository() string {
	dir, err := os.Getwd() // of a test: the folder of its package
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// bin is the folder with this process' own copies of the programs.
var bin string

// Main is what TestMain of each package calls: it prepares the environment of all
// programs that the tests start, runs the tests, and fails if a goroutine is left.
// The result is the exit code.
func Main(m *testing.M) (code int) {
	dir, err := os.MkdirTemp(openTemp(), "spambloom-bin-")
	if err == nil {
		err = os.Chmod(dir, 0o755) // other users run the programs, whatever the umask is
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = dir
	// The race detector makes a program wait a second at its end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Setenv("SPAMBLOOM_QUEUE", filepath.Join(dir, "queue")) // not that of the user who runs the tests
	if code = m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// openTemp is a parent of temporary folders whose path has no blanks: it stands in
// configurations of other programs.
func openTemp() string {
	if dir := os.TempDir(); !strings.ContainsAny(dir, " \t") {
		return dir
	}
	return "/tmp"
}

// Program returns the path of spambloomd or spambloom. They are built once, with the
// race detector unless figures are measured. Other users may run them.
func Program(t testing.TB, name string) string {
	t.Helper()
	if Figures {
		return PlainProgram(t, name)
	}
	testenv.Servers(t)
	testenv.Need(t, hasC(), "cc") // for the race detector
	return built(t, raced, name)
}

// PlainProgram is Program without the race detector.
func PlainProgram(t testing.TB, name string) string {
	t.Helper()
	testenv.Servers(t)
	return built(t, plain, name)
}

var (
	raced = sync.OnceValues(func() (string, error) { return build("race", "-race") })
	plain = sync.OnceValues(func() (string, error) { return build("plain") })
	hasC  = sync.OnceValue(func() bool {
		out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
		return err == nil && strings.TrimSpace(string(out)) == "1"
	})
)

func built(t testing.TB, build func() (string, error), name string) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// build makes the programs, and returns the folder with the copies of this process:
// a later build of another one does not change what runs. The build is shared by all
// test processes of a repository: the second finds the programs up to date.
func build(kind string, flags ...string) (dir string, err error) {
	dir = filepath.Join(bin, kind)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	shared, unlock, err := sharedPrograms(kind)
	if err != nil { // the cache cannot be written: build for this process alone
		shared, unlock = dir, func() error { return nil }
	}
	args := append([]string{"build", "-buildvcs=false", "-o", shared + "/"}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/spambloomd", "./cmd/spambloom")...)
	cmd.Dir = Repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w\n%s", cmd, err, out), unlock())
	}
	err = os.Chmod(dir, 0o755)
	for _, name := range []string{"spambloomd", "spambloom"} {
		path := filepath.Join(dir, name)
		if shared != dir {
			err = errors.Join(err, linkOrCopy(filepath.Join(shared, name), path))
		}
		err = errors.Join(err, os.Chmod(path, 0o755))
	}
	return dir, errors.Join(err, unlock())
}

// sharedPrograms returns a folder in the user's cache that is this repository's, and
// locks it.
func sharedPrograms(kind string) (dir string, unlock func() error, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil, err
	}
	path := fnv.New64a()
	io.WriteString(path, Repository) // a hash never fails
	dir = filepath.Join(cache, "spambloom", fmt.Sprintf("programs-%x-%s", path.Sum64(), kind))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	return dir, lock.Unlock, lock.Lock()
}

// linkOrCopy makes to the same file as from, or a copy on another file system. The
// compiler never writes into an existing program, it replaces it.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
