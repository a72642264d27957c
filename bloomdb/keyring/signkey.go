package keyring

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// Prefixes of Ed25519 keys (RFC 8032), so that a private key is not mistaken for a public one.
// The base64 of 32 bytes follows (RFC 4648, section 4).
const (
	publicPrefix  = "ed25519:"
	privatePrefix = "ed25519-private:"
)

// NewSigningKey returns a random key with which a site signs its records.
func NewSigningKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// WriteSigningKey writes a site's private key on one line, "ed25519-private:" and the base64
// of its 32 bytes of seed, mode 0600. The file appears complete or not at all. An existing
// file is never replaced (os.ErrExist).
func WriteSigningKey(path string, key ed25519.PrivateKey) error {
	return writeKeyFile("signing key", path, privatePrefix+base64.StdEncoding.EncodeToString(key.Seed()))
}

// ReadSigningKey reads a file written by WriteSigningKey. It rejects a file that other users
// may read.
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
	if !ok { // no error quotes the text: it is secret
		return nil, errors.New(`must be one line with "ed25519-private:" and 44 characters of base64`)
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// PublicKey returns the public half of a site's key, as other sites configure it: "ed25519:"
// and the base64 of 32 bytes.
func PublicKey(key ed25519.PrivateKey) string {
	public, _ := key.Public().(ed25519.PublicKey)
	return publicPrefix + base64.StdEncoding.EncodeToString(public)
}

// ParsePublicKey is the inverse of PublicKey.
func ParsePublicKey(text string) (ed25519.PublicKey, error) {
	if strings.HasPrefix(text, privatePrefix) {
		return nil, errors.New("that is a private key, which must not leave its site; want the public key")
	}
	key, ok := decodeKey(text, publicPrefix, ed25519.PublicKeySize)
	if !ok {
		return nil, fmt.Errorf(`%.64q is not a public key: want "ed25519:" and 44 characters of base64`, text)
	}
	return key, nil
}

// decodeKey accepts exactly one spelling of each key.
func decodeKey(text, prefix string, size int) ([]byte, bool) {
	encoded, ok := strings.CutPrefix(text, prefix)
	if !ok || len(encoded) != base64.StdEncoding.EncodedLen(size) {
		return nil, false
	}
	key, err := base64.StdEncoding.Strict().DecodeString(encoded)
	return key, err == nil && len(key) == size
}
