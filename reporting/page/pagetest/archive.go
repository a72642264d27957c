package pagetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"hash/fnv"
	"io"
	"os/exec"
	"path"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// Letter is a message of an archive.
type Letter struct {
	Raw    []byte
	Set    signature.Set
	IsSpam bool
	Class  bloomdb.Class // as users report it
	Sender uint64        // hash of its From line
}

// ReadArchive returns the messages of an archive of mail, a .tar.xz with the folders spam and
// ham, in its order. All its spam has one class. The program xz unpacks it.
func ReadArchive(t testing.TB, xz, name string, class bloomdb.Class) (letters []Letter) {
	t.Helper()
	unpacked, err := exec.Command(xz, "--decompress", "--stdout", name).Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for r := tar.NewReader(bytes.NewReader(unpacked)); ; {
		head, err := r.Next()
		if errors.Is(err, io.EOF) {
			return letters
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if head.Typeflag != tar.TypeReg {
			continue
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatalf("%s: %v", head.Name, err)
		}
		letters = append(letters, Letter{
			Raw: raw, Set: signature.Compute(signature.Parse(raw)), Class: class, Sender: senderOf(raw),
			IsSpam: path.Base(path.Dir(head.Name)) == "spam",
		})
	}
}

func senderOf(raw []byte) uint64 {
	hash := fnv.New64a()
	if _, from, ok := bytes.Cut(raw, []byte("\nFrom:")); ok {
		line, _, _ := bytes.Cut(from, []byte("\n"))
		hash.Write(bytes.TrimSpace(line))
	}
	return hash.Sum64()
}
