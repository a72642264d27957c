package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

var link = regexp.MustCompile(`\]\(([^)#\s]+)`)

// A reader of the installed documents, who has no sources, finds what they link to.
func TestLinksOfInstalledDocuments(t *testing.T) {
	t.Parallel()
	root := testenv.Dir(t)
	for _, name := range []string{"spambloom", "spambloomd"} { // only copied, and asked for completions
		testenv.Check(t, os.WriteFile(filepath.Join(root, name), []byte("#!/bin/sh\n"), 0o755))
	}
	cmd := exec.Command("../../contrib/install", root, filepath.Join(root, "spambloom"))
	cmd.Env = append(os.Environ(), "ROOT="+root, "PREFIX=/usr", "SYSCONFDIR=/etc")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	links, docs := 0, filepath.Join(root, "usr/share/doc/spambloom")
	testenv.Check(t, filepath.WalkDir(docs, func(page string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(page) != ".md" {
			return err
		}
		text, err := os.ReadFile(page)
		for _, l := range link.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(l[1], "://") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), l[1])); err != nil {
				t.Errorf("%s links to %s", strings.TrimPrefix(page, docs), l[1])
			}
		}
		return err
	}))
	if links < 150 {
		t.Errorf("only %d links", links)
	}
}
