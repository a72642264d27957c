package keyring

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// What a key of Ed25519 (RFC 8032) begins with, so that nobody takes the private
// one for the public one. Base64 of 32 bytes follows (RFC 4648, section 4).
const (
	publicPrefix  = "ed25519:"
	privatePrefix = "ed25519-private:"
)

// NewSigningKey makes a random key for a site to sign its records with.
func NewSigningKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// WriteSigningKey writes a site's private key on one line, "ed25519-private:" and
// the base64 of its 32 bytes of seed, mode 0600. The file appears whole or not at
// all; one that is there is never replaced (os.ErrExist).
func WriteSigningKey(path string, key ed25519.PrivateKey) error {
	return writeKeyFile("signing key", path, privatePrefix+base64.StdEncoding.EncodeToString(key.Seed()))
}

// ReadSigningKey reads what WriteSigningKey wrote. A key that others may read is
// refused.
func ReadSigningKey(path string) (ed25519.PrivateKey, error) {
	text, err := readKeyFile("signing key", path)
	if err != nil {
		return nil, err
	}
	key, err := parseSigningKey(text)
	if err != nil {
		return nil, fmt.Errorf("signing key %s: %w", path, err)
	}
	return key, nil
}

func parseSigningKey(text string) (ed25519.PrivateKey, error) {
	seed, ok := decodeKey(text, privatePrefix, ed25519.SeedSize)
	if !ok { // the text is secret: no error shows it
		return nil, errors.New(`must be one line with "ed25519-private:" and 44 characters of base64`)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// PublicKey is the public half of a site's key as others have it in their
// configuration: "ed25519:" and the base64 of 32 bytes.
func PublicKey(key ed25519.PrivateKey) string {
	public, _ := key.Public().(ed25519.PublicKey)
	return publicPrefix + base64.StdEncoding.EncodeToString(public)
}

// ParsePublicKey reads what PublicKey gave.
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	if strings.HasPrefix(text, privatePrefix) {
		return nil, errors.New("that is a private key, which its site alone should have")
	}
	key, ok := decodeKey(text, publicPrefix, ed25519.PublicKeySize)
	if !ok {
		return nil, fmt.Errorf(`%.64q is not a public key: want "ed25519:" and 44 characters of base64`, text)
	}
	return key, nil
}

// decodeKey accepts one spelling of a key only.
func decodeKey(text, prefix string, size int) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(text, prefix)
	if !ok || len(encoded) != base64.StdEncoding.EncodedLen(size) {
		return nil, false
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return key, err == nil && len(key) == size
}
