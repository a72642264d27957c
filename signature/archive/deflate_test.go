package archive

import (
	"bytes"
	"compress/flate"
	"io"
	"testing"

	"github.com/spambloom/spambloom/signature/archive/archivetest"
)

// A decoder reads hostile blocks as streams of nothing.
func TestHostileBlocks(t *testing.T) {
	for kind := range archivetest.LastBlocks + 1 {
		data := archivetest.Blocks(kind, 3)
		got, err := io.ReadAll(flate.NewReader(bytes.NewReader(data)))
		t.Logf("kind %d: %d bytes for eight blocks", kind, len(archivetest.EightBlocks(kind)))
		if err != nil || len(got) > 0 && kind != archivetest.TextBlocks {
			t.Errorf("kind %d: %d bytes, %v", kind, len(got), err)
		}
	}
}
