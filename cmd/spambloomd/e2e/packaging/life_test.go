//go:build packages

package packaging

import (
	"os"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

const sample = "/usr/share/doc/spambloom/contrib/sample-spam.eml"

// The package is installed, upgraded, removed and purged as Debian's policy wants it: the
// daemon makes its keys at its first start, an upgrade and a removal keep the reports, and a
// purge leaves nothing but the user.
func TestPackageLife(t *testing.T) {
	t.Parallel()
	d := newDebian(t)
	stage := staged(t)
	first, second := pack(t, stage, "v0.1.0"), pack(t, stage, "v0.2.0")

	asked := d.install(first)
	expectAsked(t, asked, "start spambloom.service", "restart")
	expectInstalled(t, d)

	stop := d.start()
	for _, key := range []string{"federation.key", "site.key"} {
		if got := strings.TrimSpace(d.run("stat", "-c", "%a %U", "/var/lib/spambloom/"+key)); got != "600 spambloom" {
			t.Errorf("%s: %s", key, got)
		}
	}
	d.run("spambloom", "report", sample)
	expectSpam(t, d)
	key := d.run("cat", "/var/lib/spambloom/federation.key")
	config := d.root + "/etc/spambloom/spambloom.toml"
	testenv.Check(t, os.WriteFile(config, []byte("[log]\nlevel = \"debug\"\n"), 0o644))

	asked = d.install(second)
	expectAsked(t, asked, "try-restart spambloom.service", "stop", "\nstart", "disable")
	expectSpam(t, d) // by the old program, until systemd restarts it
	stop()
	stop = d.start()
	expectSpam(t, d)
	stop()

	expectAsked(t, d.dpkg("--remove", "spambloom"), "stop spambloom.socket spambloom.service", "start")
	if text, err := os.ReadFile(config); err != nil || !strings.Contains(string(text), "debug") {
		t.Errorf("the configuration after the upgrade and the removal: %q, %v", text, err)
	}
	if d.has("/usr/bin/spambloomd") || d.run("cat", "/var/lib/spambloom/federation.key") != key {
		t.Error("a removal leaves the programs, or does not keep the key")
	}

	d.install(second)
	stop = d.start()
	expectSpam(t, d)
	stop()
	d.dpkg("--purge", "spambloom")
	left := d.run("find", "/", "-path", "/proc", "-prune", "-o", "-path", "/run", "-prune", "-o", "-name", "*spambloom*", "-not", "-name", "spambloom.deb", "-print")
	if left != "" {
		t.Errorf("left after the purge:\n%s", left)
	}
}

// expectAsked checks what the scripts of the package asked systemd to do.
func expectAsked(t *testing.T, asked, want string, never ...string) {
	t.Helper()
	if !strings.Contains(asked, want+"\n") {
		t.Errorf("systemd was not asked to %s:\n%s", want, asked)
	}
	for _, not := range never {
		if strings.Contains(strings.ReplaceAll(asked, want, ""), not) {
			t.Errorf("systemd was asked to %s:\n%s", not, asked)
		}
	}
}

// expectInstalled checks a new installation whose daemon has not run.
func expectInstalled(t *testing.T, d *debian) {
	t.Helper()
	if user := d.run("getent", "passwd", "spambloom"); !strings.HasSuffix(user, ":/var/lib/spambloom:/usr/sbin/nologin\n") {
		t.Errorf("user %q", user)
	}
	if got := strings.TrimSpace(d.run("stat", "-c", "%a %U:%G", "/var/spool/spambloom")); got != "1770 root:spambloom" {
		t.Errorf("/var/spool/spambloom: %s", got)
	}
	if !d.has("/etc/systemd/system/multi-user.target.wants/spambloom.service") {
		t.Error("the unit is not enabled")
	}
	if d.has("/etc/systemd/system/sockets.target.wants/spambloom.socket") {
		t.Error("the socket is enabled")
	}
	if keys := d.run("find", "/etc", "/var", "-name", "federation.key", "-o", "-name", "site.key"); keys != "" {
		t.Errorf("keys before the first start: %s", keys)
	}
	d.run("/usr/bin/spambloomd", "-t", "-c", "/etc/spambloom/spambloom.toml")
	if owner := d.run("dpkg", "-S", "/usr/share/man/man5/spambloom.toml.5.gz"); !strings.HasPrefix(owner, "spambloom: ") {
		t.Errorf("spambloom.toml(5): %s", owner)
	}
}

func expectSpam(t *testing.T, d *debian) {
	t.Helper()
	if r := d.execute("spambloom", "check", sample); r.Code != 0 {
		t.Errorf("check: %+v", r)
	}
}
