package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bloomlab": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// program is bloomlab as it is built for use: under the race detector, which its
// packages' tests have, the simulations take fifty times as long.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bloomlab")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

func output(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(path, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exOutside) {
		t.Fatalf("bloomlab %v: %v", args, err)
	}
	return out
}

// Every experiment in short: its rows are within, its figures are drawn, and it
// comes out the same for one worker and for three.
func TestRunAll(t *testing.T) {
	path, figures := program(t), filepath.Join(t.TempDir(), "figures")
	three := output(t, path, "run", "all", "--rounds", "3", "--workers", "3", "--json", "--plot", figures)
	if one := output(t, path, "run", "all", "--rounds", "3", "--workers", "1", "--json"); !bytes.Equal(one, three) {
		t.Errorf("one worker:\n%s\nthree workers:\n%s", one, three)
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
		if !row.Within {
			t.Errorf("not within its tolerance: %s", line)
		}
		if seen[row.Experiment+row.Cell] {
			t.Errorf("%s: two rows are named %s", row.Experiment, row.Cell)
		}
		seen[row.Experiment], seen[row.Experiment+row.Cell] = true, true
	}
	for _, e := range catalog() {
		if !seen[e.Name] {
			t.Errorf("%s: no rows", e.Name)
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
		{"", "layout merge split framing delta federation reputation reputation-attacks reputation-rules reputation-sizes"},
	} {
		for name := range strings.FieldsSeq(family.names) {
			want = append(want, family.prefix+name)
		}
	}
	if got := names(); !slices.Equal(got, append(want, "all")) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// The full output is that of this program: the rows of a few experiments that are
// quick at a thousand rounds are made again and found there.
func TestResultsAreOurs(t *testing.T) {
	results, err := os.ReadFile("RESULTS.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range catalog() {
		if title := []byte("\n" + e.Name + ": "); !bytes.HasPrefix(results, title[1:]) && !bytes.Contains(results, title) {
			t.Errorf("RESULTS.txt has no %s", e.Name)
		}
		if e.Work(1000) != e.Work(1) {
			continue // only computed ones
		}
		var out bytes.Buffer
		if code := run(context.Background(), []string{"run", e.Name, "--rounds", "1000"}, &out, io.Discard); code != 0 {
			t.Errorf("%s: exit %d", e.Name, code)
		}
		if !bytes.Contains(results, out.Bytes()) {
			t.Errorf("RESULTS.txt has another output of %s than\n%s", e.Name, out.Bytes())
		}
	}
}
