package mta

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// ownFilters runs a program where the folders of rspamd and SpamAssassin are those below $0, and
// systemd, which would restart those of the machine, is not seen.
const ownFilters = `
mount --bind "$0/rspamd" /etc/rspamd/local.d
mount --bind "$0/spamassassin" /etc/spamassassin
[ ! -d /run/systemd ] || mount -t tmpfs none /run/systemd
HOME="$0" exec "$@"
`

// setup --yes gives the verdict a score in rspamd and SpamAssassin as Debian installs them, and
// both accept its files. A file that rspamd refuses is restored, and --remove takes all back.
func TestSetupFilters(t *testing.T) {
	t.Parallel()
	testenv.Root(t)
	dir, unshare := testenv.Dir(t), testenv.Program(t, "unshare")
	rspamadm, spamassassin := testenv.Program(t, "rspamadm"), testenv.Program(t, "spamassassin")
	if err := os.Mkdir(filepath.Join(dir, "rspamd"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cp", "-a", "/etc/spamassassin", filepath.Join(dir, "spamassassin")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p := harness.NewPostfix(t)
	p.Start("mx1", "inet:127.0.0.1:1", "n")
	s := harness.NewSite(t, "mx1", filepath.Join(testenv.Dir(t), "key"), "")
	within := func(args ...string) harness.Result {
		t.Helper()
		return harness.Execute(t, "", unshare, append([]string{"--mount", "sh", "-ec", ownFilters, dir}, args...)...)
	}
	setUp := func(args ...string) harness.Result {
		t.Helper()
		return within(append([]string{harness.Program(t, "spambloom"), "setup", "--control", s.Control, "-c", filepath.Join(s.Dir, "spambloom.toml"),
			"--data", filepath.Join(s.Dir, "state"), "--postfix", p.Dir + "/etc", "--sendmail", "/nonexistent", "--restart", "true", "--reload", "true", "--trial=false"}, args...)...)
	}
	multimap, rules := filepath.Join(dir, "rspamd/multimap.conf"), filepath.Join(dir, "spamassassin/spambloom.cf")

	const broken = "OTHER {\n"
	harness.Write(t, multimap, broken)
	r := setUp("--yes")
	if got := readAll(t, multimap); r.Code != 69 || got != broken || !strings.Contains(r.Stderr, "/etc/rspamd/local.d/multimap.conf was restored: rspamadm configtest") {
		t.Errorf("rspamd refuses: %+v %q", r, got)
	}
	const others = "OTHER {\n  type = \"header\";\n  header = \"X-Other\";\n  map = [\"/./\"];\n  regexp = true;\n}\n"
	harness.Write(t, multimap, others)
	expectLines(t, setUp("--yes"), 1, "Found: Postfix ("+p.Dir+"/etc/main.cf), rspamd, SpamAssassin",
		"+SPAMBLOOM_SAME {", "by hand: restart rspamd", "+header   SPAMBLOOM_SAME ", "by hand: restart spamassassin")
	if dump := within(rspamadm, "configdump", "multimap"); !strings.Contains(dump.Stdout, "\nSPAMBLOOM_PHISH {") || !strings.Contains(dump.Stdout, "\nOTHER {") {
		t.Errorf("rspamd reads %+v", dump)
	}
	message := harness.Write(t, filepath.Join(dir, "message"), harness.Message(harness.Text(), "X-Spambloom: spam; kind=text; class=phish; count=1"))
	if got := within(spamassassin, "--local", "--test-mode", message).Stdout; !strings.Contains(got, "SPAMBLOOM_SAME") || !strings.Contains(got, "SPAMBLOOM_PHISH") {
		t.Errorf("SpamAssassin's rules: %s", got)
	}
	expectLines(t, setUp("--yes"), 1, "Nothing to change.")
	expectLines(t, setUp("--yes", "--remove"), 0, "-SPAMBLOOM_SAME {", "-header   SPAMBLOOM_SAME ")
	if got := readAll(t, multimap); got != others {
		t.Errorf("multimap.conf after --remove: %q", got)
	}
	if _, err := os.Stat(rules); !os.IsNotExist(err) {
		t.Errorf("spambloom.cf after --remove: %v", err)
	}
}
