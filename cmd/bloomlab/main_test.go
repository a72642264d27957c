package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/spambloom/spambloom/cmd/bloomlab/lab"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bloomlab": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}

// shortRounds is enough for the rows to mean something; the packages of the
// papers test with more.
const shortRounds = 3

// Every experiment runs, and comes out the same for one worker and for three.
func TestEveryExperiment(t *testing.T) {
	for _, e := range catalog() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			one, three := rows(t, e, 1), rows(t, e, 3)
			if !bytes.Equal(one, three) {
				t.Errorf("one worker:\n%s\nthree workers:\n%s", one, three)
			}
		})
	}
}

func rows(t *testing.T, e lab.Experiment, workers int) []byte {
	t.Helper()
	rows, err := lab.Run(context.Background(), e, lab.Options{Rounds: shortRounds, Seed: 1, Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) == 0 {
		t.Error("no rows")
	}
	seen := map[string]bool{}
	for _, row := range rows {
		if !row.Within {
			t.Errorf("%s: measured %v, reference %v, tolerance %v", row.Cell, row.Measured, row.Reference, row.Tolerance)
		}
		if seen[row.Cell] {
			t.Errorf("two rows are named %s", row.Cell)
		}
		seen[row.Cell] = true
	}
	var out bytes.Buffer
	if err := printJSON(&out, e, rows); err != nil {
		t.Fatal(err)
	}
	if err := printTable(&out, e, rows); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
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
		{"", "layout merge split framing"},
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
		if !bytes.Contains(results, []byte("\n"+e.Name+": ")) {
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

func TestPlots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "figures")
	var out bytes.Buffer
	if code := run(context.Background(), []string{"run", "all", "--rounds", "2", "--plot", dir, "--json"}, &out, io.Discard); code != 0 {
		t.Fatalf("exit %d", code)
	}
	for line := range bytes.Lines(out.Bytes()) {
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	for _, kind := range []string{"*.svg", "*.png"} {
		if files, err := filepath.Glob(filepath.Join(dir, kind)); err != nil || len(files) < 5 {
			t.Errorf("%d files %s", len(files), kind)
		}
	}
}
