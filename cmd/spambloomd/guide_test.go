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
