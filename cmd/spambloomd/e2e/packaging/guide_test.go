//go:build packages

package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// install makes a new Debian a mail server, from within. No service is started meanwhile.
const install = `printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 0755 /usr/sbin/policy-rc.d &&
echo 'postfix postfix/main_mailer_type select Internet Site' | debconf-set-selections &&
apt-get update -qq &&
apt-get install -y -qq --no-install-recommends systemd-sysv dbus iproute2 openssl postfix redis-server swaks &&
rm /usr/sbin/policy-rc.d && postconf -e inet_protocols=all`

// host is a Debian 12 with Postfix and Redis that has been booted, in a network of its own.
type host struct {
	*debian
	nspawn *exec.Cmd
}

// mailArchive returns a Debian with what a mail server has, loaded once into the user's cache.
func mailArchive(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(cache, "spambloom", "debian-12-mail-"+architecture(t)+".tar")
	if _, err := os.Stat(archive); err == nil {
		return archive
	}
	d := newDebian(t)
	lock := flock.New(archive + ".lock")
	if err := lock.Lock(); err != nil {
		t.Fatal(err)
	}
	defer lock.Unlock()
	run(t, d.root, "mv", "usr/bin/systemctl.real", "usr/bin/systemctl")
	run(t, d.root, "cp", "/etc/resolv.conf", "etc/resolv.conf")
	run(t, d.root, "cp", "-a", "/etc/ssl/certs/.", "etc/ssl/certs/")
	r := d.execute("sh", "-c", install)
	if r.Code != 0 {
		t.Logf("exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	testenv.Need(t, r.Code == 0, "a mirror of Debian")
	run(t, "", "tar", "-C", d.root, "-cf", archive+".new", ".")
	if err := os.Rename(archive+".new", archive); err != nil {
		t.Fatal(err)
	}
	return archive
}

// boot starts the hosts mx1 and mx2, which reach each other and nothing else.
func boot(t *testing.T, archive string) (hosts [2]*host) {
	t.Helper()
	testenv.Root(t)
	nspawn, ip := testenv.Program(t, "systemd-nspawn"), testenv.Program(t, "ip")
	spaces := [2]string{fmt.Sprintf("spambloom-%d-1", os.Getpid()), fmt.Sprintf("spambloom-%d-2", os.Getpid())}
	for _, space := range spaces {
		run(t, "", ip, "netns", "add", space)
		t.Cleanup(func() {
			if out, err := exec.Command(ip, "netns", "delete", space).CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s", space, err, out)
			}
		})
	}
	run(t, "", ip, "link", "add", "mail", "netns", spaces[0], "type", "veth", "peer", "name", "mail", "netns", spaces[1])
	for i, space := range spaces {
		n := i + 1
		for _, args := range []string{"addr add 192.0.2.%d/24 dev mail", "link set mail up", "link set lo up"} {
			args = strings.ReplaceAll(args, "%d", fmt.Sprint(n))
			run(t, "", ip, append([]string{"-n", space}, strings.Fields(args)...)...)
		}
		h := &host{debian: &debian{t, filepath.Join(testenv.Dir(t), "debian")}}
		run(t, "", "mkdir", h.root)
		run(t, h.root, "tar", "-xf", archive)
		harness.Write(t, h.root+"/etc/hostname", fmt.Sprintf("mx%d\n", n))
		harness.Write(t, h.root+"/etc/mailname", fmt.Sprintf("mx%d.example.org\n", n))
		harness.Write(t, h.root+"/etc/hosts", "127.0.0.1 localhost\n192.0.2.1 mx1 redis.example.org\n192.0.2.2 mx2\n")
		run(t, h.root, "chroot", ".", "postconf", "-e", fmt.Sprintf("myhostname=mx%d.example.org", n), "mydestination=$myhostname, localhost")
		h.nspawn = exec.Command(nspawn, "--keep-unit", "--register=no", "--network-namespace-path=/run/netns/"+space, "-D", h.root, "--boot")
		if err := harness.StartChild(h.nspawn); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = h.nspawn.Process.Signal(syscall.SIGTERM) // it shuts the host down
			_ = h.nspawn.Wait()
		})
		hosts[i] = h
	}
	for _, h := range hosts {
		testenv.Eventually(t, "the host has booted", func() bool {
			state, _ := h.shell("systemctl is-system-running; systemctl is-active postfix redis-server")
			return strings.HasSuffix(state, "active\nactive\n") && !strings.HasPrefix(state, "starting")
		})
	}
	return hosts
}

// shell runs lines of a shell on the host, and returns their output and exit code.
func (h *host) shell(lines string) (out string, code int) {
	h.t.Helper()
	pid := h.nspawn.Process.Pid
	child, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil || len(strings.Fields(string(child))) == 0 {
		return "", -1 // not yet
	}
	r := harness.Execute(h.t, "", "nsenter", "-t", strings.Fields(string(child))[0], "-m", "-u", "-i", "-n", "-p", "-C", "-r", "-w",
		"env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C", "bash", "-c", "cd /root; "+lines)
	return r.Stdout + r.Stderr, r.Code
}

// do is shell for lines whose last one must succeed.
func (h *host) do(lines string) string {
	h.t.Helper()
	out, code := h.shell(lines)
	if code != 0 {
		h.t.Fatalf("%s\nexit %d\n%s", lines, code, out)
	}
	return out
}

// page runs a block of a page of the guide.
func (h *host) page(name, first string) string {
	h.t.Helper()
	return h.do(harness.PageBlock(h.t, name, first))
}

// timed logs how long a step of the walk took, for the figures in the guide.
func timed(t *testing.T, step string, do func()) {
	t.Helper()
	begun := time.Now()
	do()
	t.Logf("%s: %.1f s", step, time.Since(begun).Seconds())
}

// The guide, from the package to two joined sites, by its own commands: on two fresh machines
// that have run alone, with a restart of Redis in between.
func TestGuide(t *testing.T) {
	hosts := boot(t, mailArchive(t))
	mx1, mx2 := hosts[0], hosts[1]
	deb := pack(t, staged(t), "v0.1.0")
	for _, h := range hosts {
		run(t, "", "cp", deb, h.root+"/root/")
		timed(t, "dpkg -i", func() { h.page("guide/1-install.md", "dpkg -i") })
		var out string
		var code int
		timed(t, "setup, with a mail tagged", func() {
			out, code = h.shell(harness.PageBlock(t, "guide/1-install.md", "spambloom setup"))
		})
		for _, want := range []string{"OK       mail    Postfix handed a mail for postmaster to the daemon: X-Spambloom: clean; ",
			"OK       report  reported; the next copy is spam: X-Spambloom: spam; ", "OK       revoke  ", "OK       milter  the user postfix may connect"} {
			if code != 0 || !strings.Contains(out, "\n"+want) { // with a warning of the clock of this machine
				t.Fatalf("setup lacks %q, exit code %d:\n%s", want, code, out)
			}
		}
		h.shell(harness.PageBlock(t, "guide/2-first-mail.md", "spambloom report")) // the last two verdicts differ
		h.do("useradd --create-home anna")
		h.page("guide/3-reporting.md", "usermod")
		h.do("runuser -u anna -- spambloom check /usr/share/doc/spambloom/contrib/sample-spam.eml || [ $? = 1 ]")
	}

	begun := time.Now()
	mx1.page("redis.md", "(\ncd /etc/redis\numask 077\nopenssl")
	url := mx1.page("redis.md", "(\ncd /etc/redis\numask 077\nadmin")
	mx1.page("redis.md", "sed -i -E")
	mx1.page("redis.md", "chown -R redis:")
	mx1.page("redis.md", "install -m 644")
	mx1.do("sed -i '/^\\[redis\\]/r /dev/stdin' /etc/spambloom/spambloom.toml <<'END'\n" + url + "ca = \"/etc/spambloom/redis-ca.pem\"\nEND")
	mx1.page("redis.md", "chgrp spambloom")

	t.Logf("Redis: %.1f s", time.Since(begun).Seconds())

	begun = time.Now()
	request := strings.TrimSpace(mx2.do("spambloom join 2>/dev/null"))
	invitation := strings.TrimSpace(mx1.do("spambloom invite --yes --with-password " + request + " 2>/dev/null"))
	mx2.do("spambloom join --yes " + invitation + " && systemctl restart spambloom")
	for i, h := range hosts {
		testenv.Eventually(t, "the sites are heard", func() bool {
			return strings.Contains(h.page("guide/4-joining.md", "spambloom sites"), fmt.Sprintf("mx%d   heard", 2-i))
		})
	}
	t.Logf("join, until both are heard: %.1f s", time.Since(begun).Seconds())
	const sample = "/usr/share/doc/spambloom/contrib/sample-spam.eml"
	expectThere := func(verb string, code int) {
		t.Helper()
		mx1.do("spambloom " + verb + " --no-queue " + sample)
		testenv.Eventually(t, verb+" of mx1 is at mx2", func() bool { _, got := mx2.shell("spambloom check " + sample); return got == code })
	}
	timed(t, "report of the other site", func() { expectThere("report", 0) })
	mx1.do("systemctl restart redis-server")
	timed(t, "revocation after a restart of Redis", func() { expectThere("revoke", 1) })
	expectThere("report", 0)
	mx2.do(strings.NewReplacer("192.0.2.1", "192.0.2.2", "mx1", "mx2").Replace(harness.PageBlock(t, "guide/2-first-mail.md", "swaks")))
	testenv.Eventually(t, "the mail is delivered at mx2 with a header", func() bool {
		out, _ := mx2.shell("grep -ah -B20 'Orchard' /var/mail/*")
		return strings.Contains(out, "X-Spambloom: spam; kind=body; ")
	})

	mx2.expectRestored()
	mx1.expectSystemdSocket()
	mx2.expectDoor()
	for _, h := range hosts {
		h.shell(harness.PageBlock(t, "guide/5-every-day.md", "spambloom doctor")) // warns of the clock of this machine
		h.page("guide/5-every-day.md", "spambloom backup")
		h.shell(harness.PageBlock(t, "guide/6-upgrade.md", "spambloom backup"))
		h.page("guide/7-trouble.md", "spambloom setup --remove")
		if out := h.do("postconf -h smtpd_milters; systemctl is-active spambloom"); out != "\nactive\n" {
			t.Errorf("after --remove: %q", out)
		}
		h.page("backup.md", "spambloom setup --remove")
		if out, _ := h.shell("systemctl is-active spambloom"); out != "inactive\n" {
			t.Errorf("after the site's end: %q", out)
		}
	}
}

// expectRestored takes a joined site back to a backup, by the page's commands.
func (h *host) expectRestored() {
	h.t.Helper()
	h.do("spambloom backup /var/backups/spambloom.tar")
	out := h.page("backup.md", "systemctl stop spambloom\nmv ")
	if strings.Contains(out, "is missing") {
		h.t.Errorf("the backup of a joined site: %s", out)
	}
	testenv.Eventually(h.t, "the restored site exchanges", func() bool { return strings.Contains(h.do("spambloom sites"), "mx1   heard") })
}

// expectSystemdSocket lets systemd listen for the daemon, by the commands in the unit. A port or
// socket that systemd holds for a stopped daemon is no reason for -t to refuse.
func (h *host) expectSystemdSocket() {
	h.t.Helper()
	h.do("systemctl stop spambloom && systemctl enable --now spambloom.socket")
	if out := h.do("spambloomd -t"); !strings.Contains(out, "systemd listens: its socket \"milter\" replaces milter.listen") {
		h.t.Errorf("-t while systemd listens:\n%s", out)
	}
	h.do("systemctl start spambloom && spambloomd -t && systemctl disable --now spambloom.socket && systemctl restart spambloom && spambloomd -t")
}

// expectDoor opens the door for mail servers without milters by the commands of its page: the
// daemon, which is not root, gives its socket to Exim's group, and listens on Amavis' port. Until
// it may, root's -t refuses as its start would.
func (h *host) expectDoor() {
	h.t.Helper()
	h.do("groupadd --system Debian-exim && sed -i '/^\\[spamd\\]/r /dev/stdin' /etc/spambloom/spambloom.toml <<'END'\n" +
		"listen = [\"unix:/run/spambloom/spamd.sock\", \"inet:783@127.0.0.1\"]\ngroup = \"Debian-exim\"\nEND")
	expectRefused := func(lines, want string) {
		h.t.Helper()
		if out, code := h.shell(lines); code != 77 || !strings.Contains(out, want) {
			h.t.Errorf("%s: exit code %d, want 77 and %q:\n%s", lines, code, want, out)
		}
	}
	expectRefused("spambloomd -t", `give the socket to group "Debian-exim"`)
	expectRefused(harness.PageBlock(h.t, "spamd.md", "usermod"), "no permission for port 783")
	h.page("spamd.md", "mkdir -p /etc/systemd")
	out := h.do("stat -c %U:%G /run/spambloom/spamd.sock; exec 3<>/dev/tcp/127.0.0.1/783; printf 'PING SPAMC/1.2\\r\\n\\r\\n' >&3; head -1 <&3")
	if out != "spambloom:Debian-exim\nSPAMD/1.5 0 PONG\r\n" {
		h.t.Errorf("the door: %q", out)
	}
}
