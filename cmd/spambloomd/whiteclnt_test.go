package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The lines of the guide's table are what is read, and each allows something.
func TestWhiteclntGuide(t *testing.T) {
	section := guidePage(t, "policy.md")
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
	file := write(t, filepath.Join(dir, "whiteclnt"), list.String())
	s, err := configured(t, strings.ReplaceAll(pageBlock(t, "policy.md", "[milter]\nwhiteclnt"), "/var/dcc/whiteclnt", file)+"authserv_id = \"mx1\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(s.passed) > 0 {
		t.Errorf("passed over: %v", s.passed)
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

// A bad file is an error of -t and of the start; what is DCC's and is not taken over is
// named by -t.
func TestWhiteclntTested(t *testing.T) {
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "whiteclnt"), "ok ip 192.0.2.1\nmany env_From spammer@example.org\nok from a@example.org\n")
	conf := write(t, filepath.Join(dir, "spambloom.toml"), "[milter]\nwhiteclnt = \""+file+"\"\n")
	r := start(t, "-t", "-c", conf, "--data", dir+"/state")
	if r.code != 0 || r.stdout != conf+" is good\n" || !strings.Contains(r.stderr, "spambloomd: warning: "+file+":2: ") ||
		!strings.Contains(r.stderr, conf+":2: milter.whiteclnt: its from lines allow nothing without milter.authserv_id") {
		t.Errorf("%+v", r)
	}
	write(t, file, "ok ip 192.0.2.1\nfine ip 192.0.2.2\n")
	r = start(t, "-t", "-c", conf, "--data", dir+"/state")
	if r.code != 78 || !strings.Contains(r.stderr, conf+":2: milter.whiteclnt: "+file+":2: ") {
		t.Errorf("%+v", r)
	}
	write(t, conf, "[milter]\nwhiteclnt = \""+file+".none\"\n")
	if r = start(t, "-t", "-c", conf, "--data", dir+"/state"); r.code != 78 || !strings.Contains(r.stderr, ":2: milter.whiteclnt: ") || !strings.Contains(r.stderr, "no such file") {
		t.Errorf("%+v", r)
	}
}

// The file is read again on SIGHUP, also where its path stays; a bad one changes nothing.
func TestWhiteclntReload(t *testing.T) {
	t.Parallel()
	s := newSite(t, "one", filepath.Join(folder(t), "key"), "")
	file := write(t, filepath.Join(s.dir, "whiteclnt"), "ok ip 203.0.113.7\n")
	s.configure(t, "local_networks", "whiteclnt = \""+file+"\"\nlocal_networks")
	s.start()
	w := dialWire(t, s.milter)
	expect := func(want string) {
		t.Helper()
		if _, verdict := w.send(to(text(), "you@example.org")); !strings.HasPrefix(verdict, want) {
			t.Errorf("%q, want %q", verdict, want)
		}
	}
	expect("allowed; reason=allow:whiteclnt;")
	s.reload(t, `"reloaded","changed":null`)
	write(t, file, "ok env_From other@example.org\nok nonsense x\n")
	s.reload(t, `"not reloaded`)
	if !strings.Contains(s.log(), file+":2: ") {
		t.Error(s.log())
	}
	expect("allowed; reason=allow:whiteclnt;")
	write(t, file, "ok env_From other@example.org\nmany ip 203.0.113.8\n")
	s.reload(t, `"reloaded","changed":["milter.whiteclnt"]`)
	if !strings.Contains(s.log(), `"not taken over from milter.whiteclnt","error":"`+file+":2: ") {
		t.Error(s.log())
	}
	expect("clean;")
	write(t, file, "ok env_From stranger@example.com\n")
	s.reload(t, `"reloaded","changed":["milter.whiteclnt"]`)
	expect("allowed; reason=allow:whiteclnt;")
}
