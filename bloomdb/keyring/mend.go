package keyring

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// MendKey returns the federation key with one of the given ids that differs from a damaged
// key file in one byte. It reports whether there is one, and writes nothing.
func MendKey(path string, ids []string) (key [32]byte, ok bool) {
	ok = mendFile(path, func(text string) bool {
		raw, err := hex.DecodeString(text)
		if err != nil || len(raw) != len(key) {
			return false
		}
		key = [32]byte(raw)
		return slices.Contains(ids, ID(key))
	})
	return key, ok
}

// MendSigningKey does the same for a signing key and its public keys.
func MendSigningKey(path string, public []string) (key ed25519.PrivateKey, ok bool) {
	ok = mendFile(path, func(text string) bool {
		var err error
		key, err = parseSigningKey(text)
		return err == nil && slices.Contains(public, PublicKey(key))
	})
	return key, ok
}

// maxKeyFile is the size in bytes of the largest file that is searched.
const maxKeyFile = 256

// mendFile passes each text that differs from the file's in one byte to right until one is
// accepted, which it reports. A file that is right as it is has another fault, such as its
// mode.
func mendFile(path string, right func(text string) bool) bool {
	data, err := folder.ReadBounded(path, maxKeyFile) // a pipe or a device is an error
	if err != nil || right(strings.TrimSpace(string(data))) {
		return false
	}
	for i, was := range data {
		for b := range 128 {
			data[i] = byte(b)
			if right(strings.TrimSpace(string(data))) {
				return true
			}
		}
		data[i] = was
	}
	return false
}

// ReplaceKey replaces a damaged federation key file.
func ReplaceKey(path string, key [32]byte) error {
	return replaceKeyFile(path, func(temp string) error { return WriteKey(temp, key) })
}

// ReplaceSigningKey replaces a damaged signing key file.
func ReplaceSigningKey(path string, key ed25519.PrivateKey) error {
	return replaceKeyFile(path, func(temp string) error { return WriteSigningKey(temp, key) })
}

// replaceKeyFile keeps no copy of the damaged file: that would reveal the key.
func replaceKeyFile(path string, write func(temp string) error) error {
	temp := path + ".repaired"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := write(temp); err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	return folder.Sync(filepath.Dir(path))
}
