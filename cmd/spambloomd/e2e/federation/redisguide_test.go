package federation

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// guidedRedis is a Redis as contrib/redis.md sets it up.
type guidedRedis struct {
	t      *testing.T
	dir    string
	port   int
	url    string
	cmd    *exec.Cmd
	blocks int // of the page that were used
}

// newGuidedRedis runs the commands of the page.
func newGuidedRedis(t *testing.T) *guidedRedis {
	t.Helper()
	testenv.Program(t, "openssl")
	r := &guidedRedis{t: t, dir: testenv.Dir(t), port: testenv.Port(t)}
	r.sh(r.block("(\ncd /etc/redis\numask 077\nopenssl"))
	r.setURL(r.sh(r.block("(\ncd /etc/redis\numask 077\nadmin")))
	harness.Write(t, filepath.Join(r.dir, "redis.conf"), "bind 192.0.2.1\nport 6379\nappendonly no\nrequirepass geheim\n")
	r.sh(r.block("sed -i -E"))
	r.sh(r.block("chown -R redis:"))
	t.Cleanup(r.stop)
	return r
}

// block returns a block of redis.md for this Redis, which is no service of the machine.
func (r *guidedRedis) block(first string) string {
	r.t.Helper()
	r.blocks++
	return r.here(harness.PageBlock(r.t, "redis.md", first))
}

// here returns commands of a page for this Redis.
func (r *guidedRedis) here(commands string) string {
	return strings.NewReplacer("/etc/redis", r.dir, "/etc/spambloom/redis-ca.pem", filepath.Join(r.dir, "site-ca.pem"),
		"redis.example.org:6379", fmt.Sprintf("localhost:%d", r.port), "-h redis.example.org -p 6379", fmt.Sprintf("-h localhost -p %d", r.port),
		"redis.example.org", "localhost", "tls-port 6379", fmt.Sprintf("tls-port %d", r.port), "bind * -::*", "bind 127.0.0.1",
		"chown -R redis:", "chown -R $(id -un):", " && systemctl restart redis-server", "",
		"rediss://spambloom:PASSWORD@redis.example.org:6379/0", r.url).Replace(commands)
}

// setURL takes the URL that commands of the page print.
func (r *guidedRedis) setURL(out string) {
	r.t.Helper()
	url := regexp.MustCompile(`url = "(.*)"`).FindStringSubmatch(out)
	if url == nil || url[1] == r.url {
		r.t.Fatalf("no new URL in %s", out)
	}
	r.url = url[1]
}

func (r *guidedRedis) sh(script string) string {
	r.t.Helper()
	out, err := exec.Command("sh", "-ec", script).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

func (r *guidedRedis) start() {
	r.t.Helper()
	r.cmd = exec.Command(testenv.Program(r.t, "redis-server"), filepath.Join(r.dir, "redis.conf"), "--dir", r.dir, "--logfile", filepath.Join(r.dir, "log"))
	if err := harness.StartChild(r.cmd); err != nil {
		r.t.Fatal(err)
	}
	testenv.Eventually(r.t, "Redis listens", func() bool {
		conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", r.port), time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (r *guidedRedis) stop() {
	if r.cmd != nil {
		_ = r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// empty restarts Redis without its data.
func (r *guidedRedis) empty() {
	r.t.Helper()
	r.stop()
	for _, name := range []string{"appendonlydir", "dump.rdb"} {
		if err := os.RemoveAll(filepath.Join(r.dir, name)); err != nil {
			r.t.Fatal(err)
		}
	}
	r.start()
}

// configure writes redis.conf with a line replaced.
func (r *guidedRedis) configure(old, new string) {
	r.t.Helper()
	path := filepath.Join(r.dir, "redis.conf")
	text, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(text), old) {
		r.t.Fatalf("no %q in redis.conf (%v)", old, err)
	}
	harness.Write(r.t, path, strings.ReplaceAll(string(text), old, new))
}

// The commands of the page, all of them, make a Redis with TLS and its own users. Its restart
// does not cut the federation. If the users are lost by a restart, log, sites and /readyz name
// the cause, and the sites exchange again when the users are back.
func TestRedisRestart(t *testing.T) {
	t.Parallel()
	redis := newGuidedRedis(t)
	redis.start()
	a, b := newMember(t, "a", ""), newMember(t, "b", "").runAlone()
	redis.sh(redis.block("install -m 644"))
	settings := "[redis]\n" + redis.block("url = ")
	a.Overlay(t, settings)
	closed, _, _ := strings.Cut(redis.block("chgrp spambloom"), "\n") // TestGuide runs both lines, where there is such a group
	redis.sh(strings.NewReplacer("chgrp spambloom", "chgrp nogroup", "/etc/spambloom", a.Dir).Replace(closed))
	if info, err := os.Stat(filepath.Join(a.Dir, "spambloom.toml")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file with the password: %v, %v", info, err)
	}
	a.runAlone()
	line := a.verb("invite", "--yes", "--with-password", "--redis", redis.url, b.verb("join"))
	b.verb("join", "--yes", line)
	b.restart()
	expectJoined(t, a, b)

	// The rights in the page suffice for sites of other federations to be seen.
	c := newMember(t, "c", "")
	c.Overlay(t, settings)
	c.Start()
	testenv.Eventually(t, "c sees a site with another key", func() bool {
		return strings.Contains(c.CLI("sites").Stderr, "a uses this Redis with another federation key")
	})
	c.Stop(syscall.SIGTERM)

	redis.stop()
	testenv.Eventually(t, "a sees that Redis is away", func() bool { return strings.Contains(a.CLI("sites").Stderr, "warning: Redis: unreachable: ") })
	redis.start()
	expectJoined(t, a, b)

	redis.stop()
	redis.configure("aclfile ", "#aclfile ") // as after ACL SETUSER without an aclfile
	redis.start()
	// Connections that the restart cut are found one by one, and each shows another cause.
	testenv.Eventually(t, "sites names the cause", func() bool { return strings.Contains(a.CLI("sites").Stderr, "warning: Redis: password: ") })
	testenv.Eventually(t, "/readyz names the cause", func() bool {
		_, ready := a.Get("/readyz")
		return strings.Contains(ready, "exchange: Redis: password: ")
	})
	testenv.Eventually(t, "the log names the changed cause", func() bool { return strings.Contains(a.Log(), `"cause":"password"`) })
	redis.stop()
	redis.configure("#aclfile ", "aclfile ")
	redis.start()
	expectJoined(t, a, b)
	testenv.Eventually(t, "no fault is shown", func() bool { return !strings.Contains(a.CLI("sites").Stderr, "Redis:") })

	redis.empty()
	testenv.Eventually(t, "the log names the loss", func() bool {
		return strings.Contains(a.Log(), `"cause":"lost"`) && strings.Contains(a.Log(), "Redis came back empty or with older data")
	})
	expectJoined(t, a, b)

	redis.changePassword(a, b)
	if all := strings.Count(harness.GuidePage(t, "redis.md"), "\n```") / 2; redis.blocks != all {
		t.Errorf("%d of the %d blocks of the page were used", redis.blocks, all)
	}
}

// A restart keeps what the sites have published, also if no site runs that could publish it again.
// Redis replays its file as the default user, and checks that user's rights for what a script wrote.
func TestRedisKeepsRecords(t *testing.T) {
	t.Parallel()
	redis := newGuidedRedis(t)
	redis.start()
	redis.sh(redis.block("install -m 644"))
	a := newMember(t, "a", "")
	a.Overlay(t, "[redis]\n"+redis.block("url = "))
	a.runAlone()
	stream := func() string { return redis.admin("--scan --pattern '{spambloom:*}:stream:a'") }
	testenv.Eventually(t, "a publishes", func() bool { return stream() != "" })
	a.Stop(syscall.SIGTERM)
	before := redis.admin("dbsize")
	redis.stop()
	redis.start()
	if after := redis.admin("dbsize"); after != before || stream() == "" {
		t.Errorf("%s keys before the restart of Redis, %s after it", before, after)
	}
	if out, err := exec.Command("sh", "-c", redis.here("redis-cli -h redis.example.org -p 6379 --tls --cacert /etc/redis/ca.pem dbsize")).CombinedOutput(); !strings.Contains(string(out), "NOAUTH") {
		t.Errorf("a client without a password: %s, %v", out, err)
	}
}

// changePassword runs the page's commands: a site that restarts with the old password names the
// cause, and the sites exchange again with the new URL.
func (r *guidedRedis) changePassword(a, b *member) {
	r.t.Helper()
	r.setURL(r.sh(r.block("(\ncd /etc/redis\npassword")))
	b.restart()
	testenv.Eventually(r.t, "b has the old password", func() bool { return strings.Contains(b.CLI("sites").Stderr, "warning: Redis: password: ") })
	for _, m := range []*member{a, b} {
		m.Overlay(r.t, fmt.Sprintf("[redis]\nurl = %q\n", r.url))
		m.restart()
	}
	expectJoined(r.t, a, b)
}

// Sites with different keys or parameters on one Redis learn it from each other.
func TestSitesSayWhy(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	a, b := newMember(t, "a", redis.URL()), newMember(t, "b", redis.URL())
	lone := newMember(t, "lone", "")
	a.Start()
	b.Start()
	lone.Start()
	if warnings := lone.CLI("sites").Stderr; !strings.Contains(warnings, "redis.url is not set") {
		t.Errorf("lone: %s", warnings)
	}
	a.restart() // it sees b at once
	testenv.Eventually(t, "a names the other key", func() bool {
		return strings.Contains(a.CLI("sites").Stderr, "b uses this Redis with another federation key")
	})
	if _, ready := a.Get("/readyz"); !strings.Contains(ready, "exchange: b uses this Redis with another federation key") {
		t.Errorf("/readyz: %s", ready)
	}
}
