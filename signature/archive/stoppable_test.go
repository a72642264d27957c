package archive

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature/archive/archivetest"
)

// emptyBlocks returns a gzip file of n bytes without content: its blocks are empty.
func emptyBlocks(n int) []byte {
	head := []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff")
	return append(head, strings.Repeat("\x00\x00\x00\xff\xff", n/5)...)
}

// askedOf returns how often reading a file asks whether to stop, if it is told to after a
// number of questions, and whether it failed.
func askedOf(content []byte, stopAfter int) (asked int, over bool) {
	u := contents{left: maxInflated, isStopped: func() bool { asked++; return asked > stopAfter }}
	u.digest(content)
	return asked, u.hasFailed
}

// Unpacking stops within 4 KiB of packed data, however little that inflates to, and soon
// after the first answer that it is to stop.
func TestUnpackingStops(t *testing.T) {
	const never = 1 << 30
	text := archivetest.Random(1, 1<<20)
	deflated := archivetest.Deflate(t, text)
	for name, content := range map[string][]byte{
		"empty blocks": emptyBlocks(1 << 20),
		"gzip":         archivetest.Gzip(t, "a", []byte(text)),
		"ZIP":          archivetest.Zip(t, archivetest.File("a.txt", text), archivetest.File("b.txt", text)),
		"PDF":          archivetest.PDF("/Filter /FlateDecode", deflated, ""),
		"many streams": bytes.Repeat(archivetest.PDF("", "x", ""), 1000),
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := askedOf(content, never)
			if least := len(content) / stoppable / 2; all < least {
				t.Errorf("asked %d times, want %d at least", all, least)
			}
			asked, _ := askedOf(content, all/2)
			if asked > all/2+8 {
				t.Errorf("told to stop at question %d, and asked %d times", all/2, asked)
			}
		})
	}
}
