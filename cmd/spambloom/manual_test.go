package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/manual"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
)

var update = flag.Bool("update", false, "rewrite the man pages")

const manFolder = "../../contrib/man"

// The pages in contrib equal the current help, of all commands and no others.
func TestManual(t *testing.T) {
	pages, err := manual.Pages(commands(&verb.CLI{}), "1", "spambloomd(8)")
	testenv.Check(t, err)
	old, err := filepath.Glob(manFolder + "/*.1")
	testenv.Check(t, err)
	current := map[string][]byte{}
	for _, p := range pages {
		current[filepath.Join(manFolder, p.Name)] = p.Text
		if *update {
			testenv.Check(t, os.WriteFile(filepath.Join(manFolder, p.Name), p.Text, 0o644))
		}
	}
	for _, path := range old {
		if current[path] == nil && *update {
			os.Remove(path)
		} else if current[path] == nil {
			t.Errorf("%s belongs to no command: run make generate", path)
		}
	}
	for path, text := range current {
		committed, err := os.ReadFile(path)
		if err != nil || !bytes.Equal(committed, text) {
			t.Errorf("%s differs from the help (%v): run make generate", path, err)
		}
	}
}

// A page contains its help.
func TestManualSays(t *testing.T) {
	pages := map[string]string{}
	all, err := manual.Pages(commands(&verb.CLI{}), "1", "spambloomd(8)")
	testenv.Check(t, err)
	for _, p := range all {
		pages[p.Name] = string(p.Text)
	}
	for page, wants := range map[string][]string{
		"spambloom.1": {".SH FILES\n", ".SH ENVIRONMENT\n", "\\fBSPAMBLOOM_QUEUE\\fP\n", "\\fBspambloomd(8)\\fP", "\\fBspambloom-undo(1)\\fP", "\\fBspambloom [flags]\\fP"},
		"spambloom-report.1": {"spambloom-report - report messages as spam\n", "\\fBspambloom report [FILE...] [flags]\\fP\n", "\\fB\\-\\-class\\fP\n\\fBCLASS\\fR",
			".SH EXIT STATUS\n", ".TP\n\\fB75\\fP\nthe queue is full, or the daemon cannot do it now\n", "macro index S", "\\fB\\-\\-control\\fP\nthe daemon\\(aqs control socket: \\fBunix:PATH\\fR"},
		"spambloom-check.1": {".TP\n\\fB1\\fP\nnone is spam\n.PP\n\\-\\-spamc swaps exit codes 0 and 1, like spamc -c"},
		"spambloom-sites.1": {".TP\n\\fBSTATE\\fP\nheard; silent (no record for a minute, or never); loading (its earlier data\nis being read);", ".TP\n\\fBHEARD\\fP\nthe age"},
	} {
		for _, want := range wants {
			if !strings.Contains(pages[page], want) {
				t.Errorf("%s lacks %q:\n%s", page, want, pages[page])
			}
		}
	}
}

// groff renders the pages without a warning.
func TestManualRenders(t *testing.T) {
	paths, err := filepath.Glob(manFolder + "/*.[158]")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d pages, %v", len(paths), err)
	}
	testenv.Program(t, "groff")
	for _, path := range paths {
		var stderr bytes.Buffer
		cmd := exec.Command("groff", "-man", "-Tutf8", "-ww", "-rLL=80n", "-P-cbou", path)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil || stderr.Len() > 0 || !bytes.Contains(out, []byte("SYNOPSIS")) {
			t.Errorf("%s: %v\n%s", path, err, &stderr)
		}
	}
}

// Completion scripts are valid in their shells.
func TestCompletions(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		t.Run(shell, func(t *testing.T) {
			testenv.Program(t, shell)
			var script, stderr bytes.Buffer
			if code := run(t.Context(), []string{"completion", shell}, nil, &script, &stderr); code != 0 || script.Len() == 0 {
				t.Fatalf("exit code %d: %s", code, &stderr)
			}
			file := filepath.Join(t.TempDir(), "spambloom")
			testenv.Check(t, os.WriteFile(file, script.Bytes(), 0o600))
			if out, err := exec.Command(shell, append(check, file)...).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
