package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/keyring"
	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/spambloomd/settings"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// otherKey is the public key of another site.
const otherKey = "ed25519:GX9rI+FshTLGq8g4+s1eqmN5t8KA7pUzX4AZCV1GW/g="

// signingKey writes a key file.
func signingKey(t *testing.T, dir string) (path, public string) {
	t.Helper()
	key, err := keyring.NewSigningKey()
	testenv.Check(t, err)
	path = filepath.Join(dir, "made.key")
	testenv.Check(t, keyring.WriteSigningKey(path, key))
	return path, keyring.PublicKey(key)
}

// pemFile writes a file with a certificate.
func pemFile(t *testing.T, dir string) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	testenv.Check(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	testenv.Check(t, err)
	return harness.Write(t, filepath.Join(dir, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
}

// A site may appear in its own list, so that all sites can use the same one.
func TestOwnPeerIsNoFault(t *testing.T) {
	dir := t.TempDir()
	sign, public := signingKey(t, dir)
	path := harness.Write(t, filepath.Join(dir, "c.toml"), fmt.Sprintf(`[site]
name = "mx1"
signing_key = %q
[[peer]]
name = "mx1"
key = %q
[[peer]]
name = "mx2"
key = %q
`, sign, public, otherKey))
	s, err := settings.New(settings.Flags{Config: path, Data: dir}, func(string) bool { return false })
	testenv.Check(t, err)
	if _, ok := s.Members["mx2"]; !ok || len(s.Members) != 1 {
		t.Errorf("%+v", s.Members)
	}
}
