package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// module creates a Go module with one test file, and changes to it.
func module(t *testing.T, test string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module tried\n\ngo 1.26\n", "tried_test.go": "package tried\n\n" + test} {
		testenv.Check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	t.Chdir(dir)
}

func suite(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := run(t.Context(), args, &out)
	return out.String(), err
}

// expectLines looks for each line, in this order.
func expectLines(t *testing.T, out string, want ...string) {
	t.Helper()
	rest := out
	for _, line := range want {
		_, after, found := strings.Cut(rest, line)
		if !found {
			t.Errorf("no line %q in the rest of\n%s", line, out)
			continue
		}
		rest = after
	}
}

// The last line has the totals. Before it are the missing requirements, and only the output
// of failures.
func TestSuite(t *testing.T) {
	testenv.Servers(t) // it compiles
	module(t, `import "testing"

func TestGood(t *testing.T) { t.Log("unwanted") }
func TestBad(t *testing.T) { t.Run("part", func(t *testing.T) { t.Error("wanted") }) }
func TestOne(t *testing.T) { t.Skip("needs postfix") }
func TestTwo(t *testing.T) { t.Skip("needs postfix") }
func TestThree(t *testing.T) { t.Skip("needs root") }
func TestFour(t *testing.T) { t.Skip("for another reason") }
`)
	out, err := suite(t, "test", "-count=1", ".")
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("error %v, want the exit code of go test", err)
	}
	expectLines(t, out, "--- FAIL: tried TestBad/part", "wanted", "FAIL\ttried",
		"skipped: 2 tests that need postfix\nskipped: 1 test that needs root\n1 passed, 2 failed, 4 skipped\n")
	if strings.Contains(out, "unwanted") {
		t.Errorf("output of a test that passed:\n%s", out)
	}
}

func TestSuiteSaysWhyNothingRan(t *testing.T) {
	testenv.Servers(t) // it compiles
	for _, test := range []struct{ source, want string }{
		{"import \"testing\"\n\nfunc TestIt(t *testing.T) { nothing() }\n", "undefined: nothing"},
		{"import (\n\"os\"\n\"testing\"\n)\n\nfunc TestMain(m *testing.M) { m.Run(); println(\"a goroutine\"); os.Exit(1) }\nfunc TestIt(t *testing.T) {}\n", "a goroutine"},
		{"import \"testing\"\n\nfunc TestIt(t *testing.T) { go panic(\"at the disco\"); select {} }\n", "at the disco"},
	} {
		module(t, test.source)
		out, err := suite(t, "test", "-count=1", ".")
		if err == nil || !strings.Contains(out, test.want) || strings.Contains(out, " 0 failed") {
			t.Errorf("error %v, output without %q:\n%s", err, test.want, out)
		}
	}
}

// A test that fails in every second round is listed with its rate, and its output is kept.
func TestFlakes(t *testing.T) {
	testenv.Servers(t) // it compiles
	module(t, `import (
	"os"
	"testing"
)

func TestFirst(t *testing.T) {
	if os.Remove("marker") != nil {
		os.WriteFile("marker", nil, 0o600)
		t.Error("no marker")
	}
}
`)
	out, err := suite(t, "flakes", "--rounds", "4", "--logs", "logs", "--", "-count=1", ".")
	if !errors.Is(err, errFailed) {
		t.Errorf("error %v", err)
	}
	expectLines(t, out, "round 1, quiet: 0 passed, 1 failed", "round 2, load on all cores: 1 passed, 0 failed", "round 3", "round 4",
		"tried TestFirst failed in 2 of 4 rounds: quiet, one core\n",
		"4 rounds, 1 tests failed in any of them; the last 1 rounds were green\n")
	logs, err := filepath.Glob("logs/*.log")
	if err != nil || len(logs) != 2 {
		t.Fatalf("logs %v, %v", logs, err)
	}
	if text, err := os.ReadFile(logs[0]); err != nil || !strings.Contains(string(text), "no marker") {
		t.Errorf("%s: %v\n%s", logs[0], err, text)
	}
	out, _ = suite(t, "flakes", "--rounds", "2", "--only", "one core", "--logs", "logs", "--", "-count=1", ".")
	expectLines(t, out, "round 1, one core: ", "round 2, one core: ")
	if _, err := suite(t, "flakes", "--only", "warm"); err == nil || !strings.Contains(err.Error(), `no condition is named "warm"`) {
		t.Errorf("an unknown condition: %v", err)
	}
}

// A server that a test left running is a failure of its round.
func TestFlakesFindsWhatIsLeft(t *testing.T) {
	sleep, pidFile := testenv.Program(t, "sleep"), filepath.Join(t.TempDir(), "pid")
	module(t, `import (
	"os"
	"os/exec"
	"strconv"
	"testing"
)

func TestForgets(t *testing.T) {
	c := exec.Command("`+sleep+`", "60")
	c.Dir = t.TempDir()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	os.WriteFile("`+pidFile+`", []byte(strconv.Itoa(c.Process.Pid)), 0o600)
}
`)
	t.Cleanup(func() {
		pid, err := os.ReadFile(pidFile)
		testenv.Check(t, err)
		if out, err := exec.Command("kill", string(pid)).CombinedOutput(); err != nil {
			t.Errorf("kill: %v %s", err, out)
		}
	})
	out, err := suite(t, "flakes", "--rounds", "1", "--logs", "logs", "--", "-count=1", ".")
	if !errors.Is(err, errFailed) {
		t.Errorf("error %v", err)
	}
	expectLines(t, out, "round 1, quiet: 1 passed, 1 failed", "left running: sleep")
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"other"}, {"flakes", "--rounds", "many"}} {
		if _, err := suite(t, args...); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v", args, err)
		}
	}
}
