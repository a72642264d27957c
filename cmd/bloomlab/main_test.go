package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// program is bloomlab without the race detector, with which the simulations take fifty
// times as long. The tests of its packages use the detector.
var program string

func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "bloomlab")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "bloomlab")
	if out, err := exec.Command("go", "build", "-race=false", "-ldflags=-s", "-o", program, ".").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, out))
	}
	return m.Run()
}

// experiments computes the catalogue once, because this is slow under the race detector.
var experiments = sync.OnceValue(catalog)

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script", Setup: func(env *testscript.Env) error {
		env.Setenv("PATH", filepath.Dir(program)+string(filepath.ListSeparator)+env.Getenv("PATH"))
		return nil
	}})
}

func output(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exOutside) {
		t.Fatalf("bloomlab %v: %v", args, err)
	}
	return out
}

// Every experiment in short: its rows are within their tolerance, its figures are drawn,
// and one worker gives the same results as three. The second run omits experiments with
// one trial, which at two rounds has one worker in any case, and but in a soak it has the first
// of each subject: the workers are the same code for all. Of the long experiments on
// reputation, only the attacks are run, but in a soak: the same code makes the trials of the
// others, and their package runs it under the race detector.
func TestRunAll(t *testing.T) {
	testenv.Servers(t)
	t.Parallel()
	figures := filepath.Join(t.TempDir(), "figures")
	once := []string{"run", "--rounds", "2", "--workers", "3", "--json", "--plot", figures}
	again := []string{"run", "--rounds", "2", "--workers", "1", "--json"}
	var ran []string
	repeats := map[string]bool{} // by subject, the first part of an experiment's name
	for _, e := range experiments() {
		if isLong := strings.HasPrefix(e.Name, "reputation") && e.Name != "reputation-attacks"; isLong && !testenv.Soak() {
			continue
		}
		ran = append(ran, e.Name)
		subject, _, _ := strings.Cut(e.Name, "-")
		if len(e.Trials) > 1 && (testenv.Soak() || !repeats[subject]) {
			again, repeats[subject] = append(again, e.Name), true
		}
	}
	three := output(t, append(once, ran...)...)
	repeated := map[string]bool{}
	for line := range bytes.Lines(output(t, again...)) {
		repeated[string(line)] = true
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(three) {
		var row struct {
			Experiment, Cell, Note         string
			Measured, Reference, Tolerance *float64
			Within                         bool
		}
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if slices.Contains(again, row.Experiment) && !repeated[string(line)] {
			t.Errorf("other rows with one worker than with three: %s", line)
		}
		delete(repeated, string(line))
		if !row.Within {
			t.Errorf("not within its tolerance: %s", line)
		}
		if seen[row.Experiment+row.Cell] {
			t.Errorf("%s: two rows are named %s", row.Experiment, row.Cell)
		}
		seen[row.Experiment], seen[row.Experiment+row.Cell] = true, true
	}
	for line := range repeated {
		t.Errorf("only with one worker: %s", line)
	}
	for _, name := range ran {
		if !seen[name] {
			t.Errorf("%s: no rows", name)
		}
	}
	for _, kind := range []string{"*.svg", "*.png"} {
		if files, err := filepath.Glob(filepath.Join(figures, kind)); err != nil || len(files) < 10 {
			t.Errorf("%d files %s", len(files), kind)
		}
	}
}

// The names are relied on by scripts.
func TestNames(t *testing.T) {
	var want []string
	for _, family := range []struct {
		prefix string
		names  string
	}{
		{"yancho-", "table1 table2 exp1 exp2 exp3 exp4 exp5 exp6 exp7 exp8 utilisable merge"},
		{"retouched-", "fig5 fig6"},
		{"crosscheck-", "table3 table4 table5 table6"},
		{"iterative-", "fig5 fig6 estimate"},
		{"generalized-", "table1 table2 table3 table4 table5 table6 table7 table8 attack"},
		{"", "layout merge split framing ladder delta federation reputation reputation-attacks reputation-factor reputation-rules reputation-sizes"},
	} {
		for name := range strings.FieldsSeq(family.names) {
			want = append(want, family.prefix+name)
		}
	}
	if got := names(); !slices.Equal(got, append(want, "all")) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// RESULTS.txt is the output of this program: the test repeats a few experiments that are
// quick at a thousand rounds, and finds their rows there.
func TestResultsAreOurs(t *testing.T) {
	testenv.Servers(t)
	results, err := os.ReadFile("RESULTS.txt")
	testenv.Check(t, err)
	for _, e := range experiments() {
		if title := []byte("\n" + e.Name + ": "); !bytes.HasPrefix(results, title[1:]) && !bytes.Contains(results, title) {
			t.Errorf("RESULTS.txt has no %s", e.Name)
		}
		if e.Work(1000) != e.Work(1) {
			continue // only computed ones
		}
		if out := output(t, "run", e.Name, "--rounds", "1000"); len(out) == 0 || !bytes.Contains(results, out) {
			t.Errorf("RESULTS.txt has another output of %s than\n%s", e.Name, out)
		}
	}
}
