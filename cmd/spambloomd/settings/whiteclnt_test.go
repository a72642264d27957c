package settings

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The lines of the guide's table can be read, and each allows something.
func TestWhiteclntGuide(t *testing.T) {
	section := harness.GuidePage(t, "policy.md")
	var list strings.Builder
	for _, row := range regexp.MustCompile("(?m)^\\| `(ok .*?)` ?(?:,.*)?\\|.*$").FindAllStringSubmatch(section, -1) {
		list.WriteString(row[1] + "\n")
	}
	for _, more := range regexp.MustCompile("`(192[^`]*)`").FindAllStringSubmatch(section, -1) {
		list.WriteString("ok ip " + more[1] + "\n")
	}
	if n := strings.Count(list.String(), "\n"); n != 8 {
		t.Fatalf("%d lines:\n%s", n, list.String())
	}
	dir := t.TempDir()
	file := harness.Write(t, filepath.Join(dir, "whiteclnt"), list.String())
	s, err := configured(t, strings.ReplaceAll(harness.PageBlock(t, "policy.md", "[milter]\nwhiteclnt"), "/var/dcc/whiteclnt", file)+"authserv_id = \"mx1\"\n")
	testenv.Check(t, err)
	if len(s.Skipped) > 0 {
		t.Errorf("skipped: %v", s.Skipped)
	}
	networks, others := 0, 0
	for _, a := range s.MilterOptions("mx1", nil).Allow {
		if a.Name != "whiteclnt" {
			t.Errorf("a rule of the name %q", a.Name)
		}
		networks += len(a.Networks)
		others += len(a.Senders) + len(a.From) + len(a.Recipients) + len(a.ListIDs)
	}
	if networks < 3 || others != 5 {
		t.Errorf("%d networks, %d others of\n%s", networks, others, list.String())
	}
}
