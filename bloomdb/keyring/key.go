package keyring

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spambloom/spambloom/bloomdb/folder"
	"github.com/spambloom/spambloom/signature"
)

// The purposes of keyed digests. A digest made for one purpose cannot be used for another.
var (
	purposeReport = []byte("spambloom report 1")
	purposeCount  = []byte("spambloom count 1")
	purposeClass  = []byte("spambloom class 1")
	PurposeSketch = []byte("spambloom sketch 1")
	purposeDomain = []byte("spambloom domain 1")
	PurposeRecord = []byte("spambloom record 1")
	purposeID     = []byte("spambloom key id 1")
	PurposeNever  = []byte("spambloom never 1")
	PurposeCommon = []byte("spambloom common 1")
	purposeVotes  = []byte("spambloom votes 1") // and the site's name
	PurposeWant   = []byte("spambloom want 1")  // and the site's name

	PurposeDeferred = []byte("spambloom deferred 1") // in memory only
	PurposeReturned = []byte("spambloom returned 1") // in memory only
)

// New returns a random federation key.
func New() (key [32]byte, err error) {
	_, err = rand.Read(key[:])
	return key, err
}

// WriteKey writes a federation key as 64 hex digits on one line, mode 0600. The file appears
// complete or not at all. An existing file is never replaced (os.ErrExist).
func WriteKey(path string, key [32]byte) error {
	return writeKeyFile("federation key", path, hex.EncodeToString(key[:]))
}

// ReadKey reads a file written by WriteKey. It rejects a file that other users may read.
func ReadKey(path string) (key [32]byte, err error) {
	text, err := readKeyFile("federation key", path)
	if err != nil {
		return key, err
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(key) {
		return key, fmt.Errorf("federation key %s: must be 64 hex digits on one line", path)
	}
	return [32]byte(raw), nil
}

// writeKeyFile writes a secret of one line, mode 0600, complete or not at all. It never
// replaces an existing file (os.ErrExist).
func writeKeyFile(what, path, line string) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-") // mode 0600
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, path, err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(line + "\n")
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Link(f.Name(), path) // fails where path exists
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, path, err)
	}
	return folder.Sync(dir)
}

// ErrReadable is the error for a key file that other users may read. Its content may be right.
var ErrReadable = errors.New("must be 0600 or less")

// readKeyFile reads a secret, without surrounding blanks. Errors: ErrReadable.
func readKeyFile(what, path string) (string, error) {
	f, info, err := folder.OpenFile(path) // a pipe is an error: nobody may ever write to it
	var damage *folder.DamageError
	if errors.As(err, &damage) { // a repair cannot make a key again, so it is not called damage
		return "", fmt.Errorf("%s %s: %w", what, path, damage.Err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	defer f.Close()
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return "", fmt.Errorf("%s %s: mode is %04o, %w (chmod 600 %s)", what, path, mode, ErrReadable, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, 1024))
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", what, path, err)
	}
	return strings.TrimSpace(string(text)), nil
}

// ID returns 16 hex digits that identify a federation key without revealing it.
func ID(key [32]byte) string {
	d := signature.NewKeyed(key[:]).Sum(purposeID)
	return hex.EncodeToString(d[:8])
}
