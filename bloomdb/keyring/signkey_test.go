package keyring

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// A key file is written once, for its owner alone, and gives the same key back.
func TestSigningKeyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "site.key")
	key, err := NewSigningKey()
	testenv.Check(t, err)
	testenv.Check(t, WriteSigningKey(path, key))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := ReadSigningKey(path); err != nil || !got.Equal(key) {
		t.Errorf("another key came back, %v", err)
	}
	if err := WriteSigningKey(path, key); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a key was replaced: %v", err)
	}
	public, err := ParsePublicKey(PublicKey(key))
	if err != nil || !ed25519.Verify(public, []byte("record"), ed25519.Sign(key, []byte("record"))) {
		t.Errorf("the public key does not belong to the private one, %v", err)
	}
}

// No error contains the content of a private key's file.
func TestSigningKeyFileIsRefused(t *testing.T) {
	const secret = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	for name, c := range map[string]struct {
		text string
		mode os.FileMode
		want string
	}{
		"readable by the group": {"ed25519-private:" + secret, 0o640, "mode is 0640, must be 0600 or less"},
		"readable by others":    {"ed25519-private:" + secret, 0o604, "mode is 0604"},
		"empty":                 {"", 0o600, "must be one line"},
		"public key":            {"ed25519:" + secret, 0o600, "must be one line"},
		"two lines":             {"ed25519-private:" + secret + "\ned25519-private:" + secret, 0o600, "must be one line"},
		"too short":             {"ed25519-private:" + secret[4:], 0o600, "must be one line"},
		"no base64":             {"ed25519-private:" + strings.Repeat("!", 44), 0o600, "must be one line"},
		"hex":                   {strings.Repeat("0", 64), 0o600, "must be one line"},
	} {
		path := filepath.Join(t.TempDir(), "site.key")
		if err := errors.Join(os.WriteFile(path, []byte(c.text), 0o600), os.Chmod(path, c.mode)); err != nil { // whatever the umask is
			t.Fatal(err)
		}
		_, err := ReadSigningKey(path)
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%s: %v; want %q, the path and no secret", name, err, c.want)
		}
	}
	if _, err := ReadSigningKey(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestParsePublicKeyRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                     `"" is not a public key`,
		"ed25519:":             "is not a public key",
		"ed25519:AAAA":         "is not a public key",
		"rsa:AAAA":             "is not a public key",
		"ed25519-private:AAAA": "that is a private key",
		"ed25519:" + strings.Repeat("A", 43) + "B":  "is not a public key", // 33 bytes
		"ed25519:" + strings.Repeat("A", 42) + "B=": "is not a public key", // loose last bits
	} {
		if _, err := ParsePublicKey(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// Every accepted key has exactly one spelling.
func FuzzParsePublicKey(f *testing.F) {
	f.Add("ed25519:" + strings.Repeat("A", 43) + "=")
	f.Add("ed25519-private:" + strings.Repeat("A", 43) + "=")
	f.Fuzz(func(t *testing.T, text string) {
		if private, err := parseSigningKey(text); err == nil {
			if again, err := parseSigningKey("ed25519-private:" + strings.TrimPrefix(text, "ed25519-private:")); err != nil || !again.Equal(private) {
				t.Fatal(text, err)
			}
		}
		key, err := ParsePublicKey(text)
		if err != nil {
			return
		}
		half := append(bytes.Repeat([]byte{0}, ed25519.SeedSize), key...)
		if PublicKey(half) != text {
			t.Fatalf("%q became %q", text, PublicKey(half))
		}
	})
}
