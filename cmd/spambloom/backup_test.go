package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdStale: stale FOLDER fails if a backup left a temporary file in the folder.
func cmdStale(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), ".") && path != ts.MkAbs(args[0]) {
			ts.Fatalf("%s is left", path)
		}
		return err
	}))
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if !info.IsDir() {
		ts.Fatalf("%s is no folder", args[0])
	}
}
