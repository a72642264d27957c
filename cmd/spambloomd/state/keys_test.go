package state

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// Two daemons started at the same time with one key file agree on one key.
func TestMakeKeyTogether(t *testing.T) {
	path := filepath.Join(t.TempDir(), "federation.key")
	type made struct {
		key [32]byte
		err error
	}
	all := make(chan made)
	for range 20 {
		go func() {
			key, err := makeOnce(path, keyring.New, keyring.WriteKey, keyring.ReadKey)
			all <- made{key, err}
		}()
	}
	first := <-all
	for range 19 {
		if next := <-all; next != first || next.err != nil {
			t.Errorf("%x %v, and %x %v", next.key, next.err, first.key, first.err)
		}
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A signing key that is missing from a folder is made anew, but not without a warning: sites with a
// [[peer]] for this site refuse the new one.
func TestMissingSigningKey(t *testing.T) {
	s := settingsFor(t, filepath.Join(testenv.Dir(t), "state"), "")
	for i := range 3 {
		log := new(bytes.Buffer)
		st, err := Open(s, slog.New(slog.NewTextHandler(log, nil)))
		testenv.Check(t, err)
		testenv.Check(t, st.Close())
		if isTold := strings.Contains(log.String(), "former="); isTold != (i == 2) {
			t.Errorf("start %d: told %v: %s", i, isTold, log)
		}
		if i == 1 {
			testenv.Check(t, os.Remove(s.SigningKeyFile))
		}
	}
}
