package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// flakes runs the suite round after round, each in another condition.
type flakes struct {
	out    io.Writer
	rounds int
	only   []string // names of the conditions to use; empty: all
	logs   string
	args   []string

	failures map[string][]string // conditions in which a test failed, by its name
	ran      int
	green    int // rounds since the last failure
}

// run returns errFailed if any test failed in any round.
func (f *flakes) run(ctx context.Context) error {
	f.failures = map[string][]string{}
	used, err := conditionsNamed(f.only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.logs, 0o755); err != nil {
		return err
	}
	for i := range f.rounds {
		if err := f.round(ctx, i, used[i%len(used)]); err != nil {
			return err
		}
	}
	f.summary()
	if len(f.failures) > 0 {
		return errFailed
	}
	return nil
}

// round runs the suite once, with its own folder for temporary files.
func (f *flakes) round(ctx context.Context, number int, c condition) error {
	dir, err := os.MkdirTemp("", "round-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil { // servers have users of their own
		return err
	}
	if c.begin != nil {
		end, err := c.begin(ctx, dir)
		if err != nil {
			fmt.Fprintf(f.out, "round %d, %s: not possible here: %v\n", number+1, c.name, err)
			return nil
		}
		defer func() {
			if err := end(); err != nil {
				fmt.Fprintf(f.out, "round %d, %s: %v\n", number+1, c.name, err)
			}
		}()
	}
	begun := time.Now()
	r := newReport(io.Discard)
	// The compiler's temporary files stay in place: only the tests should use the slow
	// disk.
	under := strings.TrimSpace("env 'TMPDIR=" + dir + "' " + c.exec)
	err = goTest(ctx, slices.Concat([]string{"-exec", under}, c.args, f.args), r)
	var exit *exec.ExitError
	if ctx.Err() != nil || err != nil && !errors.As(err, &exit) {
		return errors.Join(ctx.Err(), err)
	}
	if err != nil && len(r.failed) == 0 {
		r.failed["go test"] = err.Error() // for example, it does not build
	}
	maps.Copy(r.failed, leftIn(ctx, dir))
	return f.note(number, c, r, time.Since(begun))
}

// note writes the logs of a round's failures and prints its line.
func (f *flakes) note(number int, c condition, r *report, took time.Duration) error {
	f.ran++
	f.green++
	fmt.Fprintf(f.out, "round %d, %s: %d passed, %d failed, %d skipped, %v\n",
		number+1, c.name, r.passed, len(r.failed), r.skipped, took.Round(time.Second))
	for _, name := range slices.Sorted(maps.Keys(r.failed)) {
		f.green = 0
		file := filepath.Join(f.logs, fmt.Sprintf("%d %s.log", number+1, strings.NewReplacer("/", ".", ":", "").Replace(name)))
		fmt.Fprintf(f.out, "  %s: %s\n", name, file)
		if err := os.WriteFile(file, []byte(c.name+"\n"+r.failed[name]), 0o644); err != nil {
			return err
		}
		f.failures[name] = append(f.failures[name], c.name)
	}
	return nil
}

// ending is how long a killed process may take to end.
const ending = 10 * time.Second

// leftIn returns the processes that a round left behind and that use its folder. Its files
// are removed with the folder.
func leftIn(ctx context.Context, dir string) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		left := processesIn(dir)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return left
		}
	}
}

// processesIn returns the processes whose folder or command line contains the folder.
func processesIn(dir string) map[string]string {
	found := map[string]string{}
	links, _ := filepath.Glob("/proc/[0-9]*/cwd") // none on a system without /proc
	for _, link := range links {
		process := filepath.Dir(link)
		cwd, _ := os.Readlink(link) // it may have ended
		line, _ := os.ReadFile(filepath.Join(process, "cmdline"))
		text := strings.ReplaceAll(string(line), "\x00", " ")
		if strings.HasPrefix(cwd, dir+"/") || strings.Contains(text, dir+"/") {
			name := filepath.Base(strings.Fields(text + " ?")[0])
			found["left running: "+name] = fmt.Sprintf("process %s in %s: %s\n", filepath.Base(process), cwd, text)
		}
	}
	return found
}

// summary prints every test that failed, with its rate.
func (f *flakes) summary() {
	for _, name := range slices.Sorted(maps.Keys(f.failures)) {
		in := f.failures[name]
		fmt.Fprintf(f.out, "%s failed in %d of %d rounds: %s\n", name, len(in), f.ran, strings.Join(in, ", "))
	}
	fmt.Fprintf(f.out, "%d rounds, %d tests failed in any of them; the last %d rounds were green\n", f.ran, len(f.failures), f.green)
}
