package keyring_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A federation key's file is written once, for its owner alone, and gives the same key back.
func TestKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "federation.key")
	key, err := keyring.New()
	testenv.Check(t, err)
	testenv.Check(t, keyring.WriteKey(path, key))
	if err := keyring.WriteKey(path, key); !errors.Is(err, os.ErrExist) {
		t.Errorf("second write: %v", err)
	}
	got, err := keyring.ReadKey(path)
	if err != nil || got != key {
		t.Errorf("read: %v", err)
	}
	info, _ := os.Stat(path)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for name, text := range map[string]string{"empty": "", "short": "abcd\n", "no hex": strings.Repeat("zz", 32)} {
		bad := filepath.Join(t.TempDir(), "key")
		os.WriteFile(bad, []byte(text), 0o600)
		if _, err := keyring.ReadKey(bad); err == nil || !strings.Contains(err.Error(), "64 hex digits") {
			t.Errorf("%s: %v", name, err)
		}
	}
	os.Chmod(path, 0o644)
	if _, err := keyring.ReadKey(path); err == nil || !strings.Contains(err.Error(), "0644") {
		t.Errorf("readable by all: %v", err)
	}
	if id := keyring.ID(key); len(id) != 16 || strings.Contains(fmt.Sprintf("%x", key), id) {
		t.Errorf("key id %q", id)
	}
}

// A pipe in the place of a key file is an error: neither a start nor a repair waits for a writer.
func TestKeyIsPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan bool, 1)
	go func() {
		_, federation := keyring.ReadKey(path)
		_, signing := keyring.ReadSigningKey(path)
		_, one := keyring.MendKey(path, []string{"0"})
		_, other := keyring.MendSigningKey(path, []string{"0"})
		done <- federation != nil && signing != nil && !one && !other
	}()
	select {
	case ok := <-done:
		if !ok {
			t.Error("the pipe was read as a key")
		}
	case <-time.After(testenv.Patience):
		t.Error("the reader waits for the pipe")
	}
}
