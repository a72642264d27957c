package harness

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Repository is the absolute path of the sources, where a newcomer runs commands.
var Repository = repository()

func repository() string {
	dir, err := os.Getwd() // in a test, the folder of its package
	for ; err == nil && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}

// bin is the folder with this process's own copies of the programs.
var bin string

// Main is called by TestMain of each package. It prepares the environment of all programs
// that the tests start, runs the tests, and fails if a goroutine is left. It returns the
// exit code.
func Main(m *testing.M) (code int) {
	syscall.Umask(0o022) // servers with other users read the folders of the tests
	flag.Parse()
	if !isSet("test.parallel") { // tests mostly wait for their servers
		flag.Set("test.parallel", strconv.Itoa(3*runtime.GOMAXPROCS(0))) // a number is always valid
	}
	testenv.InMemory()
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
	// The race detector makes a program wait for a second at its end.
	os.Setenv("GORACE", "atexit_sleep_ms=0")
	os.Setenv("SPAMBLOOM_QUEUE", filepath.Join(dir, "queue")) // not the queue of the user who runs the tests
	if code = m.Run(); code != 0 {
		return code
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func isSet(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// openTemp returns a parent of temporary folders whose path contains no blanks, because it
// is used in configurations of other programs.
func openTemp() string {
	if dir := os.TempDir(); !strings.ContainsAny(dir, " \t") {
		return dir
	}
	return "/tmp"
}

// Program returns the path of spambloomd or spambloom. They are built once, with the race
// detector unless figures are measured. Other users may run them.
func Program(t testing.TB, name string) string {
	t.Helper()
	if Figures {
		return PlainProgram(t, name)
	}
	testenv.Servers(t)
	testenv.Need(t, hasC(), "cc") // for the race detector
	return built(t, raced, name)
}

// PlainProgram is Program without the race detector. It builds this one only: all packages are
// compiled again for it.
func PlainProgram(t testing.TB, name string) string {
	t.Helper()
	testenv.Servers(t)
	return built(t, func() (string, error) { return build("plain", always(), name) }, name)
}

var (
	raced = sync.OnceValues(func() (string, error) { return build("race", always("-race"), "spambloomd", "spambloom") })
	hasC  = sync.OnceValue(func() bool {
		out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
		return err == nil && strings.TrimSpace(string(out)) == "1"
	})
)

// FaultyProgram is Program built with a tag, and with source files, given by their paths in the
// repository, replaced by texts. The repository does not change. All tests of a package share
// one such program, because its build takes longer than most tests.
func FaultyProgram(t testing.TB, tag string, files map[string]string, name string) string {
	t.Helper()
	testenv.Servers(t)
	testenv.Need(t, hasC(), "cc")
	overlay := func(dir string) ([]string, error) {
		flags, replace := []string{"-tags", tag, "-overlay", filepath.Join(dir, "overlay.json")}, map[string]string{}
		if !Figures {
			flags = append(flags, "-race")
		}
		for file, text := range files {
			changed := filepath.Join(dir, filepath.Base(file))
			replace[filepath.Join(Repository, file)] = changed
			if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
				return nil, err
			}
		}
		list, err := json.Marshal(map[string]any{"Replace": replace})
		return flags, errors.Join(err, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	}
	return built(t, func() (string, error) { return build("faulty", overlay, name) }, name)
}

func built(t testing.TB, build func() (string, error), name string) string {
	t.Helper()
	dir, err := build()
	testenv.Check(t, err)
	return filepath.Join(dir, name)
}

// always returns flags that need no files.
func always(flags ...string) func(string) ([]string, error) {
	return func(string) ([]string, error) { return flags, nil }
}

// building is held by the test that builds.
var building sync.Mutex

// build builds the programs once, and returns the folder with the copies of this process: a
// later build by another one does not change them. All test processes of a repository share
// the build, so the second finds the programs up to date.
//
// flags returns the compiler's flags, and may write files for it into the folder.
func build(kind string, flags func(shared string) ([]string, error), names ...string) (dir string, err error) {
	building.Lock()
	defer building.Unlock()
	dir = filepath.Join(bin, kind)
	if _, err := os.Stat(filepath.Join(dir, names[len(names)-1])); err == nil {
		return dir, nil // by another test of this process
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	shared, unlock, err := sharedPrograms(kind)
	if err != nil { // the cache is not writable: build for this process alone
		shared, unlock = dir, func() error { return nil }
	}
	more, err := flags(shared)
	if err != nil {
		return "", errors.Join(err, unlock())
	}
	args := append([]string{"build", "-buildvcs=false", "-o", shared + "/"}, more...)
	for _, name := range names {
		args = append(args, "./cmd/"+name)
	}
	cmd := exec.Command("go", args...)
	cmd.Dir = Repository
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("%s: %w\n%s", cmd, err, out), unlock())
	}
	err = os.Chmod(dir, 0o755)
	for _, name := range names {
		path := filepath.Join(dir, name)
		if shared != dir {
			err = errors.Join(err, linkOrCopy(filepath.Join(shared, name), path))
		}
		err = errors.Join(err, os.Chmod(path, 0o755))
	}
	return dir, errors.Join(err, unlock())
}

// sharedPrograms returns this repository's folder in the user's cache, and locks it.
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

// linkOrCopy makes a link to the file from, or a copy on another file system. The compiler
// never writes into an existing program; it replaces it.
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
