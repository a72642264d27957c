//go:build packages

package packaging

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// making is held while make runs in the repository: its folder bin is shared.
var making sync.Mutex

// run runs a program in a folder, and fails the test unless it succeeds.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	r := harness.Execute(t, dir, name, args...)
	if r.Code != 0 {
		t.Fatalf("%s %s: exit %d\n%s%s", name, strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// runMake runs make, which compiles: it takes as long as it takes.
func runMake(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Program(t, "make"), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

// staged returns a new folder with what the package installs.
func staged(t *testing.T) string {
	t.Helper()
	making.Lock()
	defer making.Unlock()
	stage := filepath.Join(testenv.Dir(t), "stage")
	runMake(t, harness.Repository, "staged", "STAGED=/usr", "STAGE="+stage, "VERSION=v0.1.0")
	return stage
}

// pack returns the package of a version. The stage is not changed. The package is not
// compressed, which would take most of a test's time.
func pack(t *testing.T, stage, version string) string {
	t.Helper()
	testenv.Program(t, "dpkg-deb")
	dir := testenv.Dir(t)
	run(t, "", "cp", "-a", stage, dir+"/stage")
	run(t, harness.Repository, "env", "SOURCE_DATE_EPOCH=1700000000", "DPKG_DEB_COMPRESSOR_TYPE=none", "contrib/debian/build", dir+"/stage", architecture(t), version, dir)
	return onlyFile(t, dir+"/*.deb")
}

func architecture(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(run(t, "", "dpkg", "--print-architecture"))
}

func onlyFile(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %q, %v", pattern, found, err)
	}
	return found[0]
}

// The version of git describe becomes one that dpkg orders as time does.
func TestPackageVersion(t *testing.T) {
	t.Parallel()
	testenv.Program(t, "dpkg")
	stage := filepath.Join(testenv.Dir(t), "stage")
	for _, name := range []string{"LICENSE", "CHANGELOG.md"} {
		run(t, harness.Repository, "install", "-D", "-m", "0644", name, stage+"/usr/share/doc/spambloom/"+name)
	}
	run(t, "", "mkdir", "-p", stage+"/usr/share/man", stage+"/usr/share/zsh/site-functions", stage+"/etc/spambloom")
	run(t, "", "touch", stage+"/etc/spambloom/spambloom.toml")
	var before string
	for _, c := range []struct{ described, want string }{
		{"abc1234", "0~20231114.abc1234-1"},
		{"v0.1.0", "0.1.0-1"},
		{"v0.1.0-4-gabc1234", "0.1.0+4.gabc1234-1"},
		{"v0.1.1-rc1", "0.1.1~rc1-1"},
		{"v0.1.1", "0.1.1-1"},
		{"v0.1.1-dirty", "0.1.1+dirty-1"},
	} {
		version := strings.TrimSpace(run(t, "", "dpkg-deb", "-f", pack(t, stage, c.described), "Version"))
		if version != c.want {
			t.Errorf("%s is version %s, want %s", c.described, version, c.want)
		}
		if before != "" {
			run(t, "", "dpkg", "--compare-versions", before, "lt", version)
		}
		before = version
	}
}

// Two builds in different folders have the same bytes.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	testenv.Servers(t)
	first, err := os.ReadFile(pack(t, staged(t), "v0.1.0"))
	testenv.Check(t, err)
	sources := filepath.Join(testenv.Dir(t), "elsewhere")
	run(t, harness.Repository, "sh", "-c", `mkdir "$0" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp -a --parents -t "$0"`, sources)
	runMake(t, sources, "deb", "VERSION=v0.1.0", "SOURCE_DATE_EPOCH=1700000000", "DPKG_DEB_COMPRESSOR_TYPE=none")
	second, err := os.ReadFile(onlyFile(t, sources+"/bin/*.deb"))
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("the packages differ: %d and %d bytes, %v", len(first), len(second), err)
	}
}

// Debian's checker finds no errors.
func TestLintian(t *testing.T) {
	t.Parallel()
	lintian := testenv.Program(t, "lintian")
	r := harness.Execute(t, "", lintian, "--allow-root", "--fail-on", "error",
		"--suppress-tags", "uses-no-compression-for-control-tarball,uses-no-compression-for-data-tarball", // only here, for speed
		pack(t, staged(t), "v0.1.0"))
	if r.Code != 0 {
		t.Errorf("lintian: %+v", r)
	}
}

// make install puts the programs where the unit starts them, and keeps a configuration.
func TestMakeInstall(t *testing.T) {
	t.Parallel()
	root := testenv.Dir(t)
	run(t, root, "mkdir", "-p", "etc/spambloom")
	config := harness.Write(t, filepath.Join(root, "etc/spambloom/spambloom.toml"), "# mine\n")
	making.Lock()
	defer making.Unlock()
	runMake(t, harness.Repository, "install", "PREFIX=/opt/mail", "DESTDIR="+root, "VERSION=v0.1.0")
	if text, err := os.ReadFile(config); string(text) != "# mine\n" {
		t.Errorf("the configuration is %q, %v", text, err)
	}
	if got := run(t, "", root+"/opt/mail/bin/spambloom", "version"); !strings.HasPrefix(got, "spambloom v0.1.0 ") {
		t.Errorf("version %q", got)
	}
	unit, err := os.ReadFile(root + "/opt/mail/lib/systemd/system/spambloom.service")
	if err != nil || !regexp.MustCompile(`(?m)^ExecStart=/opt/mail/bin/spambloomd$`).Match(unit) {
		t.Errorf("the unit does not start /opt/mail/bin/spambloomd: %v", err)
	}
	for _, name := range []string{"man/man1/spambloom-report.1", "man/man5/spambloom.toml.5", "man/man8/spambloomd.8",
		"bash-completion/completions/spambloom", "zsh/site-functions/_spambloom", "fish/vendor_completions.d/spambloom.fish", "doc/spambloom/contrib/postfix.md"} {
		if info, err := os.Stat(root + "/opt/mail/share/" + name); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The archives of a release are complete, and their checksums agree.
func TestTarballs(t *testing.T) {
	t.Parallel()
	readelf := testenv.Program(t, "readelf")
	making.Lock()
	defer making.Unlock()
	runMake(t, harness.Repository, "tarballs", "VERSION=v0.1.0-test")
	bin := filepath.Join(harness.Repository, "bin")
	run(t, bin, "sha256sum", "--check", "--strict", "SHA256SUMS")
	for arch, machine := range map[string]string{"amd64": "x86-64", "arm64": "aarch64"} {
		dir, name := testenv.Dir(t), fmt.Sprintf("spambloom-v0.1.0-test-linux-%s", arch)
		run(t, dir, "tar", "-xzf", filepath.Join(bin, name+".tar.gz"))
		for _, program := range []string{"spambloom", "spambloomd"} {
			kind := run(t, dir, readelf, "-hl", filepath.Join(name, "bin", program))
			if !strings.Contains(strings.ToLower(kind), machine) || strings.Contains(kind, "INTERP") {
				t.Errorf("%s of %s is not a static program for %s:\n%s", program, arch, machine, kind)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, name, "lib/systemd/system/spambloom.service")); err != nil {
			t.Error(err)
		}
		if err := os.Remove(filepath.Join(bin, name+".tar.gz")); err != nil {
			t.Error(err)
		}
	}
}
