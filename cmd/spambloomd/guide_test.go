package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
)

// What a newcomer copies from the guide is what the programs take: the configuration
// is good, and the rights in Redis are those that are tested.
func TestFederationGuide(t *testing.T) {
	guide, err := os.ReadFile("../../contrib/federation.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	if len(blocks) == 0 {
		t.Error("no configuration in the guide")
	}
	for _, b := range blocks {
		path := write(t, filepath.Join(t.TempDir(), "guide.toml"), b[1])
		if _, err := config.Load(path); err != nil {
			t.Error(err)
		}
	}
	format, err := os.ReadFile("../../bloomdb/exchange/FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	acl := regexp.MustCompile(`ACL SETUSER spambloom on .*`).FindString(string(format))
	if acl == "" || !strings.Contains(string(guide), acl) {
		t.Errorf("the guide lacks %q", acl)
	}
}

// What the pages tell to write into spambloom.toml is good.
func TestGuideConfigurations(t *testing.T) {
	for _, page := range []string{"mailbox.md", "postfix.md"} {
		text, err := os.ReadFile(filepath.Join(repository, "contrib", page))
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?ms)^ *```toml\n(.*?)^ *```").FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 {
			t.Errorf("no configuration in %s", page)
		}
		for _, b := range blocks {
			if _, err := config.Load(write(t, filepath.Join(t.TempDir(), page), b[1])); err != nil {
				t.Error(err)
			}
		}
	}
}

// pageBlock is the block of a page in contrib that begins with first, without what
// it is indented by.
func pageBlock(t *testing.T, page, first string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, "contrib", page))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?ms)^ *```[a-z]*\n *(" + regexp.QuoteMeta(first) + ".*?)^( *)```$").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatalf("no block in %s begins with %q", page, first)
	}
	return strings.ReplaceAll(block[1], "\n"+block[2], "\n")
}
