package harness

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// GuidePage returns a page in contrib.
func GuidePage(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Repository, "contrib", name))
	testenv.Check(t, err)
	return string(text)
}

// PageBlock returns the block of a page in contrib that begins with first, without its
// indentation.
func PageBlock(t testing.TB, name, first string) string {
	t.Helper()
	block := regexp.MustCompile("(?ms)^ *```[a-z]*\n *(" + regexp.QuoteMeta(first) + ".*?)^( *)```$").FindStringSubmatch(GuidePage(t, name))
	if block == nil {
		t.Fatalf("no block in %s begins with %q", name, first)
	}
	return strings.ReplaceAll(block[1], "\n"+block[2], "\n")
}
