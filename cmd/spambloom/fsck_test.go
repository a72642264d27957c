package main

import (
	"os"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdSpoil changes a byte in a file of the state folder; the second time, as mend, it is
// as before.
func cmdSpoil(ts *testscript.TestScript, _ bool, _ []string) {
	path := filepath.Join(daemonOf(ts).dir, "state", "identity")
	data, err := os.ReadFile(path)
	ts.Check(err)
	data[len(data)/2] ^= 1
	ts.Check(os.WriteFile(path, data, 0o600))
}
