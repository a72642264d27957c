//go:build packages

package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// systemctl stands in for that of systemd, which does not run in a folder: it records its
// calls. Those that only change or read files are passed on.
const systemctl = `#!/bin/sh
echo "$*" >>/systemctl.log
case "$*" in
*--root=*) exec systemctl.real "$@" ;;
*is-enabled*) exec systemctl.real --root=/ is-enabled spambloom.service ;;
esac
`

// debian is a Debian 12 in a folder.
type debian struct {
	t    *testing.T
	root string
}

// newDebian unpacks a Debian of this test's own. The system is loaded once, into the user's
// cache.
func newDebian(t *testing.T) *debian {
	t.Helper()
	testenv.Root(t)
	debootstrap := testenv.Program(t, "debootstrap")
	cache, err := os.UserCacheDir()
	testenv.Check(t, err)
	run(t, "", "mkdir", "-p", filepath.Join(cache, "spambloom"))
	archive := filepath.Join(cache, "spambloom", "debian-12-"+architecture(t)+".tar")
	lock := flock.New(archive + ".lock")
	testenv.Check(t, lock.Lock())
	defer lock.Unlock()
	if _, err := os.Stat(archive); err != nil {
		load(t, debootstrap, archive)
	}
	d := &debian{t, filepath.Join(testenv.Dir(t), "debian")}
	run(t, "", "mkdir", d.root)
	run(t, d.root, "tar", "-xf", archive)
	run(t, d.root, "mkdir", "-p", "run/systemd/system")
	run(t, d.root, "mv", "usr/bin/systemctl", "usr/bin/systemctl.real")
	harness.Write(t, filepath.Join(d.root, "usr/bin/systemctl"), systemctl)
	run(t, d.root, "chmod", "0755", "usr/bin/systemctl")
	return d
}

// load makes the archive, from the mirror of this machine. The test is skipped if there is
// none.
func load(t *testing.T, debootstrap, archive string) {
	t.Helper()
	mirror := "http://deb.debian.org/debian"
	sources, _ := os.ReadFile("/etc/apt/sources.list.d/debian.sources") // without the file: Debian's own
	if m := regexp.MustCompile(`(?m)^URIs: *(\S+)`).FindSubmatch(sources); m != nil {
		mirror = string(m[1])
	}
	dir := filepath.Join(testenv.Dir(t), "system")
	out, err := exec.CommandContext(t.Context(), debootstrap, "--variant=minbase",
		"--include=ca-certificates,systemd", "bookworm", dir, mirror).CombinedOutput()
	if err != nil {
		t.Logf("debootstrap: %v\n%s", err, out)
	}
	testenv.Need(t, err == nil, "a mirror of Debian")
	run(t, "", "tar", "-C", dir, "-cf", archive+".new", ".")
	testenv.Check(t, os.Rename(archive+".new", archive))
}

// command returns a program with its arguments that runs in this Debian as a user. Its /proc is
// mounted for this program alone.
func (d *debian) command(user string, args ...string) []string {
	in := []string{"unshare", "--mount", "sh", "-c", `mount -t proc proc "$1/proc" && exec env -i \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C \
		STATE_DIRECTORY=/var/lib/spambloom RUNTIME_DIRECTORY=/run/spambloom \
		chroot --userspec="$0" "$@"`, user, d.root}
	return append(in, args...)
}

// execute runs a program in this Debian as root.
func (d *debian) execute(args ...string) harness.Result {
	d.t.Helper()
	in := d.command("root:root", args...)
	return harness.Execute(d.t, "", in[0], in[1:]...)
}

// run is execute for programs that must succeed.
func (d *debian) run(args ...string) string {
	d.t.Helper()
	r := d.execute(args...)
	if r.Code != 0 {
		d.t.Fatalf("%s: exit %d\n%s%s", strings.Join(args, " "), r.Code, r.Stdout, r.Stderr)
	}
	return r.Stdout
}

// install installs a package, and returns what its scripts asked systemd to do.
func (d *debian) install(pkg string) (asked string) {
	d.t.Helper()
	run(d.t, "", "cp", pkg, d.root+"/spambloom.deb")
	return d.dpkg("--install", "/spambloom.deb")
}

// dpkg runs dpkg, and returns what the scripts asked systemd to do.
func (d *debian) dpkg(args ...string) (asked string) {
	d.t.Helper()
	harness.Write(d.t, d.root+"/systemctl.log", "")
	d.run(append([]string{"dpkg"}, args...)...)
	log, err := os.ReadFile(d.root + "/systemctl.log")
	if err != nil {
		d.t.Fatal(err)
	}
	return string(log)
}

// has reports whether a file exists in this Debian.
func (d *debian) has(path string) bool {
	_, err := os.Lstat(d.root + path)
	return err == nil
}

// start runs the daemon as its unit does: as its user, with a state folder made by systemd.
// It returns a function that stops it.
func (d *debian) start() (stop func()) {
	d.t.Helper()
	d.run("install", "-d", "-m", "0700", "-o", "spambloom", "-g", "spambloom", "/var/lib/spambloom")
	d.run("install", "-d", "-m", "0755", "-o", "spambloom", "-g", "spambloom", "/run/spambloom")
	log, err := os.Create(filepath.Join(testenv.Dir(d.t), "log"))
	if err != nil {
		d.t.Fatal(err)
	}
	in := d.command("spambloom:spambloom", "/usr/bin/spambloomd", "--listen", "inet:0@127.0.0.1", "--http", "127.0.0.1:0")
	cmd := exec.Command(in[0], in[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := harness.StartChild(cmd); err != nil {
		d.t.Fatal(err)
	}
	testenv.Eventually(d.t, "the daemon is ready", func() bool {
		text, err := os.ReadFile(log.Name())
		return err == nil && strings.Contains(string(text), "msg=ready")
	})
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM) // Wait reports one that ended before
		if err := cmd.Wait(); err != nil {
			d.t.Error(err)
		}
		log.Close()
	}
	d.t.Cleanup(stop)
	return stop
}
