package keyring

import (
	"crypto/ecdh"
	"crypto/ed25519"
	"crypto/hpke"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// The purposes of the keys with which a site receives secrets, and of fingerprints.
var (
	purposeSeal        = []byte("spambloom seal 1")
	purposeFingerprint = []byte("spambloom fingerprint 1")
)

// SealSize is the length in bytes of the public key for Seal.
const SealSize = 32

// errSealed is the error for a secret that was sealed for another site, or was changed.
var errSealed = errors.New("sealed for another site's key, or changed on its way")

// sealingKey derives the X25519 key with which a site receives secrets from its signing key,
// so that a site has one key file to keep.
func sealingKey(key ed25519.PrivateKey) (hpke.PrivateKey, error) {
	secret := signature.NewKeyed(key.Seed()).Sum(purposeSeal)
	return hpke.DHKEM(ecdh.X25519()).NewPrivateKey(secret[:])
}

// SealingKey returns the public key for Seal that belongs to a site's signing key, of
// SealSize bytes.
func SealingKey(key ed25519.PrivateKey) ([]byte, error) {
	private, err := sealingKey(key)
	if err != nil {
		return nil, err
	}
	return private.PublicKey().Bytes(), nil
}

// Seal encrypts a secret for the site with that SealingKey (HPKE, RFC 9180: base mode,
// DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305). Unseal needs the same context.
func Seal(to, context, secret []byte) ([]byte, error) {
	public, err := hpke.DHKEM(ecdh.X25519()).NewPublicKey(to)
	if err != nil {
		return nil, fmt.Errorf("sealing key: %w", err)
	}
	return hpke.Seal(public, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), context, secret)
}

// Unseal returns a secret sealed for this site. It rejects one sealed for another key or in
// another context, or changed since.
func Unseal(key ed25519.PrivateKey, context, sealed []byte) ([]byte, error) {
	private, err := sealingKey(key)
	if err != nil {
		return nil, err
	}
	secret, err := hpke.Open(private, hpke.HKDFSHA256(), hpke.ChaCha20Poly1305(), context, sealed)
	if err != nil {
		return nil, errSealed
	}
	return secret, nil
}

// Fingerprint returns 20 hex digits in five groups that identify a public key. People compare
// them over the telephone.
func Fingerprint(public ed25519.PublicKey) string {
	d := signature.NewKeyed(purposeFingerprint).Sum(public)
	digits := hex.EncodeToString(d[:10])
	groups := make([]string, 0, 5)
	for at := 0; at < len(digits); at += 4 {
		groups = append(groups, digits[at:at+4])
	}
	return strings.Join(groups, "-")
}
