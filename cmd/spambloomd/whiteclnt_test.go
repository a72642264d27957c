package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
)

// A bad file is an error of -t and of the start. -t lists valid lines of DCC that are
// skipped.
func TestWhiteclntTested(t *testing.T) {
	dir := t.TempDir()
	file := harness.Write(t, filepath.Join(dir, "whiteclnt"), "ok ip 192.0.2.1\nmany env_From spammer@example.org\nok from a@example.org\n")
	conf := harness.Write(t, filepath.Join(dir, "spambloom.toml"), "[milter]\nwhiteclnt = \""+file+"\"\n")
	r := start(t, tested("-c", conf, "--data", dir+"/state")...)
	if r.Code != 0 || !strings.HasPrefix(r.Stdout, conf+" is valid\n") || !strings.Contains(r.Stderr, "spambloomd: warning: "+file+":2: ") ||
		!strings.Contains(r.Stderr, conf+":2: milter.whiteclnt: its from lines allow nothing without milter.authserv_id") {
		t.Errorf("%+v", r)
	}
	harness.Write(t, file, "ok ip 192.0.2.1\nfine ip 192.0.2.2\n")
	r = start(t, tested("-c", conf, "--data", dir+"/state")...)
	if r.Code != 78 || !strings.Contains(r.Stderr, conf+":2: milter.whiteclnt: "+file+":2: ") {
		t.Errorf("%+v", r)
	}
	harness.Write(t, conf, "[milter]\nwhiteclnt = \""+file+".none\"\n")
	if r = start(t, tested("-c", conf, "--data", dir+"/state")...); r.Code != 78 || !strings.Contains(r.Stderr, ":2: milter.whiteclnt: ") || !strings.Contains(r.Stderr, "no such file") {
		t.Errorf("%+v", r)
	}
}
