package mta

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The file is read again on SIGHUP even if its path is unchanged; an invalid one has no
// effect.
func TestWhiteclntReload(t *testing.T) {
	t.Parallel()
	s := harness.NewSite(t, "one", filepath.Join(testenv.Dir(t), "key"), "")
	file := harness.Write(t, filepath.Join(s.Dir, "whiteclnt"), "ok ip 203.0.113.7\n")
	s.Configure(t, "local_networks", "whiteclnt = \""+file+"\"\nlocal_networks")
	s.Start()
	w := harness.DialWire(t, s.Milter)
	expect := func(want string) {
		t.Helper()
		if _, verdict := w.Send(harness.LetterTo(harness.Text(), "you@example.org")); !strings.HasPrefix(verdict, want) {
			t.Errorf("%q, want %q", verdict, want)
		}
	}
	expect("allowed; reason=allow:whiteclnt;")
	s.Reload(t, `"reloaded","changed":null`)
	harness.Write(t, file, "ok env_From other@example.org\nok nonsense x\n")
	s.Reload(t, `"reload failed`)
	if !strings.Contains(s.Log(), file+":2: ") {
		t.Error(s.Log())
	}
	expect("allowed; reason=allow:whiteclnt;")
	harness.Write(t, file, "ok env_From other@example.org\nmany ip 203.0.113.8\n")
	s.Reload(t, `"reloaded","changed":["milter.whiteclnt"]`)
	if !strings.Contains(s.Log(), `"line of milter.whiteclnt skipped","error":"`+file+":2: ") {
		t.Error(s.Log())
	}
	expect("clean;")
	harness.Write(t, file, "ok env_From stranger@example.com\n")
	s.Reload(t, `"reloaded","changed":["milter.whiteclnt"]`)
	expect("allowed; reason=allow:whiteclnt;")
}
