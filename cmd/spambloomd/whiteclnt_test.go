package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
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
	if err != nil {
		t.Fatal(err)
	}
	if len(s.skipped) > 0 {
		t.Errorf("skipped: %v", s.skipped)
	}
	networks, others := 0, 0
	for _, a := range s.milterOptions("mx1", nil).Allow {
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

// A bad file is an error of -t and of the start. -t lists valid lines of DCC that are
// skipped.
func TestWhiteclntTested(t *testing.T) {
	dir := t.TempDir()
	file := harness.Write(t, filepath.Join(dir, "whiteclnt"), "ok ip 192.0.2.1\nmany env_From spammer@example.org\nok from a@example.org\n")
	conf := harness.Write(t, filepath.Join(dir, "spambloom.toml"), "[milter]\nwhiteclnt = \""+file+"\"\n")
	r := start(t, "-t", "-c", conf, "--data", dir+"/state")
	if r.Code != 0 || !strings.HasPrefix(r.Stdout, conf+" is valid\n") || !strings.Contains(r.Stderr, "spambloomd: warning: "+file+":2: ") ||
		!strings.Contains(r.Stderr, conf+":2: milter.whiteclnt: its from lines allow nothing without milter.authserv_id") {
		t.Errorf("%+v", r)
	}
	harness.Write(t, file, "ok ip 192.0.2.1\nfine ip 192.0.2.2\n")
	r = start(t, "-t", "-c", conf, "--data", dir+"/state")
	if r.Code != 78 || !strings.Contains(r.Stderr, conf+":2: milter.whiteclnt: "+file+":2: ") {
		t.Errorf("%+v", r)
	}
	harness.Write(t, conf, "[milter]\nwhiteclnt = \""+file+".none\"\n")
	if r = start(t, "-t", "-c", conf, "--data", dir+"/state"); r.Code != 78 || !strings.Contains(r.Stderr, ":2: milter.whiteclnt: ") || !strings.Contains(r.Stderr, "no such file") {
		t.Errorf("%+v", r)
	}
}
