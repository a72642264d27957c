package state

import (
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyring"
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
