package keyring_test

import (
	"bytes"
	"crypto/ed25519"
	"regexp"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A secret is readable only for the site that it was sealed for, in the same context, and
// unchanged.
func TestSeal(t *testing.T) {
	mine, other := newKey(t), newKey(t)
	to, err := keyring.SealingKey(mine)
	if err != nil || len(to) != keyring.SealSize {
		t.Fatal(len(to), err)
	}
	sealed, err := keyring.Seal(to, []byte("context"), []byte("secret"))
	if err != nil || bytes.Contains(sealed, []byte("secret")) {
		t.Fatal(err)
	}
	if got, err := keyring.Unseal(mine, []byte("context"), sealed); err != nil || string(got) != "secret" {
		t.Errorf("unsealed %q, %v", got, err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for name, c := range map[string]struct {
		key     ed25519.PrivateKey
		context string
		sealed  []byte
	}{
		"other key": {other, "context", sealed}, "other context": {mine, "elsewhere", sealed},
		"changed": {mine, "context", changed}, "short": {mine, "context", sealed[:10]}, "empty": {mine, "context", nil},
	} {
		if got, err := keyring.Unseal(c.key, []byte(c.context), c.sealed); err == nil {
			t.Errorf("%s: unsealed %q", name, got)
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 31), make([]byte, 32)} { // the last one is of low order
		if _, err := keyring.Seal(bad, nil, []byte("secret")); err == nil {
			t.Errorf("sealed for a key of %d bytes", len(bad))
		}
	}
}

func TestFingerprint(t *testing.T) {
	a, b := newKey(t).Public().(ed25519.PublicKey), newKey(t).Public().(ed25519.PublicKey)
	if f := keyring.Fingerprint(a); !regexp.MustCompile(`^([0-9a-f]{4}-){4}[0-9a-f]{4}$`).MatchString(f) || f == keyring.Fingerprint(b) {
		t.Error(f, keyring.Fingerprint(b))
	}
}

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	key, err := keyring.NewSigningKey()
	testenv.Check(t, err)
	return key
}
