package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// A newcomer sees the header of the sample before and after it is reported, also the second
// time.
func TestShow(t *testing.T) {
	testenv.Servers(t)
	s := harness.NewSite(t, "mx1", harness.KeyFile(t, [32]byte{1}), "").Start()
	if !awaitDaemon(t.Context(), func() bool { return true }, s.Control) {
		t.Fatal("the daemon does not run")
	}
	sample := filepath.Join(harness.Repository, "contrib/sample-spam.eml")
	want := regexp.MustCompile(`(?s)\nX-Spambloom: clean; .* report .*: accepted; .*\nX-Spambloom: spam; kind=body; .* revoke .*: accepted`)
	for range 2 {
		var out bytes.Buffer
		err := show(t.Context(), &out, s.Milter, harness.Program(t, "spambloom"), s.Control, sample)
		if err != nil || !want.Match(out.Bytes()) {
			t.Errorf("%v:\n%s", err, &out)
		}
	}
}

// It ends with a daemon that does not start.
func TestNoDaemon(t *testing.T) {
	asked := 0
	isRunning := func() bool { asked++; return asked < 3 }
	if awaitDaemon(t.Context(), isRunning, "unix:"+filepath.Join(t.TempDir(), "none")) {
		t.Error("a daemon that does not exist was found")
	}
}
