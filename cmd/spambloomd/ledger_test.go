package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
)

// testDesk returns a desk with a ledger of its own.
func testDesk(t testing.TB, db *bloomdb.DB) *desk.Desk {
	t.Helper()
	l, err := ledger.Open(ledger.Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: trust.Default(), NoSync: true})
	testenv.Check(t, err)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return desk.New(db, l, desk.Options{})
}

// A damaged or missing ledger, or one of another version, prevents the start, which names
// it and prints a hint. After a repair the daemon starts: listed messages do not depend on
// the ledger.
func TestUnusableLedger(t *testing.T) {
	dir := testenv.Dir(t)
	state := filepath.Join(dir, "state")
	args := append([]string{"--data", state}, free...)
	again := func() (code int) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		return run(ctx, args, io.Discard, call{"msg=ready", stop})
	}
	if code := again(); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	path := filepath.Join(state, "reports.db")
	good, err := os.ReadFile(path)
	testenv.Check(t, err)
	other := bytes.Clone(good)
	for _, page := range []int{0, os.Getpagesize()} { // bbolt's two headers: its version
		other[page+16+4] = 9
	}
	for hint, data := range map[string][]byte{
		"hint: run spambloomd --repair":                 good[:3*os.Getpagesize()],
		"hint: run the version of spambloomd that made": other,
	} {
		harness.Write(t, path, string(data))
		if r := start(t, args...); r.Code != 74 || !strings.Contains(r.Stderr, path) || !strings.Contains(r.Stderr, hint) {
			t.Errorf("%+v; want %q", r, hint)
		}
	}
	harness.Write(t, path, string(good[:3*os.Getpagesize()]))
	if r := start(t, append(args, "--repair")...); r.Code != 0 || !strings.Contains(r.Stdout, path) {
		t.Errorf("repair: %+v", r)
	}
	if code := again(); code != 0 {
		t.Errorf("the repaired ledger: exit code %d", code)
	}
	for _, name := range []string{path, path + ".damaged"} {
		testenv.Check(t, os.Remove(name))
	}
	if r := start(t, args...); r.Code != 74 || !strings.Contains(r.Stderr, path) || !strings.Contains(r.Stderr, "hint: run spambloomd --repair") {
		t.Errorf("without the file: %+v", r)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the refused start made the file: %v", err)
	}
	if r := start(t, append(args, "--repair")...); r.Code != 0 || !strings.Contains(r.Stdout, path) {
		t.Errorf("repair without the file: %+v", r)
	}
	if mark, err := os.Stat(path + ".damaged"); err != nil || mark.Size() != 0 {
		t.Errorf("the loss is not marked: %v, %v", mark, err)
	}
	if code := again(); code != 0 {
		t.Errorf("after the repair: exit code %d", code)
	}
}
