package spill

import (
	"bytes"
	"os"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestTemporaryFileHasNoName(t *testing.T) {
	folder := t.TempDir()
	for name, open := range map[string]func(string) (*os.File, error){"nameless": openNameless, "removed": openTemporary} {
		file, err := open(folder)
		testenv.Check(t, err)
		defer file.Close()
		info, err := file.Stat()
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
		if names, err := os.ReadDir(folder); err != nil || len(names) > 0 {
			t.Errorf("%s: in the folder: %v, %v", name, names, err)
		}
		if _, err := file.WriteString("content"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		content := make([]byte, 7)
		if _, err := file.ReadAt(content, 0); err != nil || !bytes.Equal(content, []byte("content")) {
			t.Errorf("%s: read %q, %v", name, content, err)
		}
	}
}
