//go:build race

package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// RanWithoutRace runs a test that starts no goroutine of its own in a program without the
// race detector, which would see nothing there and make it some ten times as slow. If it
// returns true, it did so and has passed on the result: the caller returns. Without the race
// detector it returns false. The program is built once for a package's tests; flags of the
// package, such as -rapid.seed, are passed on. In -short the test is skipped, because it takes
// long by nature.
func RanWithoutRace(t *testing.T) bool {
	t.Helper()
	Servers(t)
	program, err := withoutRace()
	if err != nil {
		t.Fatal(err)
	}
	path := fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), program.Fd())
	args := []string{"-test.v", "-test.count=1", "-test.timeout=0", fmt.Sprintf("-test.short=%t", testing.Short()),
		"-test.run=^" + regexp.QuoteMeta(t.Name()) + "$"}
	for _, arg := range os.Args[1:] {
		if !strings.HasPrefix(arg, "-test.") {
			args = append(args, arg)
		}
	}
	out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	t.Logf("%s", out)
	switch {
	case err != nil:
		t.Errorf("without the race detector: %v", err)
	case strings.Contains(string(out), "--- SKIP: "+t.Name()+" "):
		t.Skip("skipped without the race detector, too")
	case !strings.Contains(string(out), "--- PASS: "+t.Name()+" "):
		t.Error("without the race detector, the test did not run")
	}
	return true
}

// withoutRace builds the package's tests, and returns the program. The file has no name any
// more, so nothing is left when this process ends, however it ends.
var withoutRace = sync.OnceValues(func() (program *os.File, err error) {
	dir, err := os.MkdirTemp("", "spambloom-test-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	built := filepath.Join(dir, "test")
	if out, err := exec.Command("go", "test", "-race=false", "-vet=off", "-ldflags=-s", "-c", "-o", built, ".").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build of the tests without the race detector: %w\n%s", err, out)
	}
	return os.Open(built)
})
