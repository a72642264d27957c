package ledger

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// A link to itself in the place of the file is damage: Open refuses it, and Repair sets it aside.
func TestLinkInACircle(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reports.db")
	testenv.Check(t, os.Symlink(path, path))
	o := Options{Path: path, Model: small}
	if _, err := Open(o); err == nil {
		t.Fatal("it was opened")
	}
	done, err := Repair(o)
	if err != nil || len(done.Faults) == 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := os.Lstat(done.Damaged); err != nil {
		t.Error(err)
	}
	l, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Check(t, l.Close())
}
