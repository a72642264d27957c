package main

import (
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// event is one line of go test -json (go doc test2json).
type event struct {
	Action     string
	Package    string
	ImportPath string // of a package that does not build
	Test       string
	Output     string
	Elapsed    float64 // seconds
}

// name identifies a test in a run of several packages.
func (e event) name() string {
	pkg := strings.TrimPrefix(e.Package, "github.com/spambloom/spambloom/")
	if e.Test == "" {
		return pkg
	}
	return pkg + " " + e.Test
}

// report collects the events of one run. It prints the lines of packages at once, and the
// output of failed tests. It is for one goroutine.
type report struct {
	out    io.Writer
	output map[string]*strings.Builder // of running tests, and of packages, by name
	failed map[string]string           // output of failures, by name
	needs  map[string]int              // number of skipped tests, by requirement
	passed int
	// skipped counts all skipped tests, including those without a requirement.
	skipped int
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[string]*strings.Builder{}, failed: map[string]string{}, needs: map[string]int{}}
}

// need matches the line with which package testenv skips a test.
var need = regexp.MustCompile(`(?m)^\s+\S+\.go:\d+: needs (.+)$`)

// packageLine matches go test's last line for a package.
var packageLine = regexp.MustCompile(`^(ok  |FAIL)\t`)

func (r *report) add(e event) {
	name := e.name()
	switch e.Action {
	case "output":
		r.collect(name, e)
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "pass":
		if e.Test != "" {
			r.passed++
		}
		delete(r.output, name)
	case "skip":
		r.skip(name, e.Test)
	case "fail":
		r.fail(name, e)
	}
}

// collect keeps the output of a test until its result is known. It prints the last line of
// a package at once.
func (r *report) collect(name string, e event) {
	if e.Test == "" && packageLine.MatchString(e.Output) {
		fmt.Fprint(r.out, e.Output)
		return
	}
	if r.output[name] == nil {
		r.output[name] = new(strings.Builder)
	}
	r.output[name].WriteString(e.Output)
}

func (r *report) skip(name, test string) {
	output := r.take(name)
	if test == "" {
		return // a package without tests
	}
	r.skipped++
	if m := need.FindStringSubmatch(output); m != nil {
		r.needs[m[1]]++
	}
}

// fail prints the output of a test. A package fails with its tests. It is a failure of its
// own if none of them failed: TestMain found a goroutine, or a panic ended the process,
// whose text then belongs to a running test.
func (r *report) fail(name string, e event) {
	output := r.take(name)
	if e.Test == "" {
		output += r.unfinished(name + " ")
		if r.hasFailed(name + " ") {
			fmt.Fprint(r.out, output)
			return
		}
	}
	r.failed[name] = output
	fmt.Fprintf(r.out, "--- FAIL: %s (%.2fs)\n%s", name, e.Elapsed, output)
}

func (r *report) hasFailed(prefix string) bool {
	for name := range r.failed {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// unfinished returns the output of tests that never ended.
func (r *report) unfinished(prefix string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.output)) {
		if strings.HasPrefix(name, prefix) {
			b.WriteString(r.take(name))
		}
	}
	return b.String()
}

func (r *report) take(name string) string {
	b := r.output[name]
	delete(r.output, name)
	if b == nil {
		return ""
	}
	return b.String()
}

// finish prints the missing requirements, and the totals in the last line.
func (r *report) finish() {
	fmt.Fprint(r.out, r.missing())
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", r.passed, len(r.failed), r.skipped)
}

// missing returns a line for each requirement that was not met.
func (r *report) missing() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(r.needs)) {
		tests, verb := "tests", "need"
		if r.needs[name] == 1 {
			tests, verb = "test", "needs"
		}
		fmt.Fprintf(&b, "skipped: %d %s that %s %s\n", r.needs[name], tests, verb, name)
	}
	return b.String()
}
