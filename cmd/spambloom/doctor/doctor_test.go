package doctor

import (
	"encoding/json"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/exchange/link"
	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/spambloom/finding"
	"github.com/spambloom/spambloom/cmd/spambloom/mta"
	"github.com/spambloom/spambloom/cmd/spambloom/verb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/overview"
)

// A user may connect if every folder may be entered, and the socket may be written.
func TestMayConnect(t *testing.T) {
	testenv.Need(t, os.Geteuid() == 0, "root, to look with another user's eyes")
	const name = "nobody"
	if _, err := user.Lookup(name); err != nil {
		t.Skip(err)
	}
	dir := testenv.Dir(t)
	path := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", path)
	testenv.Check(t, err)
	defer ln.Close()
	for _, c := range []struct {
		folder, socket os.FileMode
		state, want    string
	}{
		{0o755, 0o666, finding.OK, "may connect"},
		{0o755, 0o660, finding.Warning, "may not connect"},
		{0o700, 0o666, finding.Warning, "may not enter"},
	} {
		testenv.Check(t, os.Chmod(path, c.socket))
		testenv.Check(t, os.Chmod(dir, c.folder))
		if r := mayConnect(name, path); r.State != c.state || !strings.Contains(r.Text, c.want) {
			t.Errorf("%o %o: %+v", c.folder, c.socket, r)
		}
	}
	os.Chmod(dir, 0o755)
	if r := mayConnect(name, filepath.Join(dir, "none")); r.State != finding.Warning {
		t.Errorf("no socket: %+v", r)
	}
	file := filepath.Join(dir, "file")
	testenv.Check(t, os.WriteFile(file, nil, 0o666))
	if r := mayConnect(name, file); r.State != finding.Warning || !strings.Contains(r.Text, "is no socket") {
		t.Errorf("a file: %+v", r)
	}
}

// The password of Redis is in a file that other users can read, unless its mode is 640.
func TestPasswordIsReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spambloom.toml")
	for _, c := range []struct {
		url   string
		mode  os.FileMode
		found int
	}{
		{"rediss://spambloom:secret@redis.example.org/0", 0o644, 1},
		{"rediss://spambloom:secret@redis.example.org/0", 0o640, 0},
		{"redis://127.0.0.1/0", 0o644, 0},
	} {
		testenv.Check(t, os.WriteFile(path, nil, 0o600))
		testenv.Check(t, os.Chmod(path, c.mode))
		p := &patient{config: config.Default(), state: "/var/lib/spambloom"}
		p.Options.Config, p.config.Redis.URL = path, c.url
		results := p.password()
		if len(results) != c.found {
			t.Errorf("%s, %o: %+v", c.url, c.mode, results)
		}
		if c.found > 0 && results[0].Command != "chgrp --reference=/var/lib/spambloom "+path+" && chmod 640 "+path {
			t.Errorf("%+v", results[0])
		}
	}
}

// The advice about the clock fits the machine: a minimal Debian has no service for timedatectl to
// start, and a container has the clock of its host.
func TestSynchronise(t *testing.T) {
	const booted = "run/systemd/system"
	for _, c := range []struct {
		files []string
		want  string
	}{
		{nil, "install and start a service for NTP, such as chrony"},
		{[]string{booted}, "install and start a service for NTP, such as chrony or systemd-timesyncd"},
		{[]string{booted, "etc/debian_version"}, "apt install systemd-timesyncd"},
		{[]string{"etc/debian_version"}, "install and start a service for NTP, such as chrony"},
		{[]string{booted, "etc/debian_version", "usr/lib/systemd/ntp-units.d/80-systemd-timesync.list"}, "timedatectl set-ntp true"},
		{[]string{booted, "etc/systemd/ntp-units.d/50-chrony.list"}, "timedatectl set-ntp true"},
		{[]string{booted, "run/systemd/container"}, "synchronise the clock of the machine on which this container runs"},
	} {
		root := t.TempDir()
		for _, file := range c.files {
			testenv.Check(t, os.MkdirAll(filepath.Join(root, filepath.Dir(file)), 0o755))
			testenv.Check(t, os.WriteFile(filepath.Join(root, file), nil, 0o644))
		}
		if got := synchronise(root); got != c.want {
			t.Errorf("%q: %q, want %q", c.files, got, c.want)
		}
	}
}

// Each thing that the daemon or the machine can lack is a warning with a command.
func TestWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		examine func(p *patient) []finding.Finding
		change  func(p *patient)
		want    string
	}{
		"the clock jumped": {(*patient).clock, func(p *patient) { p.status.Database.Clock = &bloomdb.ClockStatus{Ahead: 3600} },
			"the clock has jumped"},
		"other parameters": {(*patient).federation, func(p *patient) {
			p.sites = &api.SiteList{Sites: []api.Site{{Site: "mx2", Link: &api.Link{Refused: map[string]int64{"parameters": 3}}}}}
		}, "records of mx2 are refused: it has other parameters"},
		"only dropped sites": {(*patient).federation, func(p *patient) {
			p.sites = &api.SiteList{Sites: []api.Site{{Site: "mx1", State: api.StateSelf}, {Site: "mx2", State: api.StateDropped}}}
		}, "no report of another site has an effect here: mx2 is dropped"},
		"another federation key": {(*patient).federation, func(p *patient) {
			p.sites = &api.SiteList{RedisFault: "a fault that the finding on Redis has", Notes: []string{"mx7 uses this Redis with another federation key"}}
		}, "mx7 uses this Redis with another federation key"},
		"rights that the daemon lacks in Redis": {func(p *patient) []finding.Finding { return []finding.Finding{p.daemonsRedis()} }, func(p *patient) {
			p.sites = &api.SiteList{RedisFault: "rights: no permission for XADD"}
		}, "answers this command, but not the daemon yet: rights: no permission"},
		"small disk": {func(p *patient) []finding.Finding { return []finding.Finding{p.disk()} }, func(p *patient) {
			p.status.Overview = &overview.Overview{MostDisk: 1 << 60} // more than any disk has
		}, " now has 0 B, and "},
		"little memory": {func(p *patient) []finding.Finding { return []finding.Finding{p.memory()} }, func(p *patient) { p.status.Overview = &overview.Overview{MostMemory: 1 << 50} },
			"the kernel may end it under load"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &patient{config: config.Default(), state: t.TempDir(), status: &api.Status{}}
			p.config.Redis.URL = "redis://127.0.0.1/0"
			c.change(p)
			found := c.examine(p)
			if len(found) == 0 || found[0].State != finding.Warning || !strings.Contains(found[0].Text, c.want) || found[0].Command == "" {
				t.Errorf("%+v, want %q", found, c.want)
			}
		})
	}
}

// Whether the daemon has a URL of Redis that this command does not know, it says itself: other sites are also known of
// before the URL was lost, and none while a new site's Redis is down. In a container this command has the same variable.
func TestRedisOfTheDaemonOnly(t *testing.T) {
	self, others := []api.Site{{Site: "mx1", State: api.StateSelf}}, []api.Site{{Site: "mx1", State: api.StateSelf}, {Site: "mx2", State: api.StateSilent}}
	for _, c := range []struct {
		daemon string
		sites  []api.Site
		state  string
	}{
		{`{}`, self, finding.OK},
		{`{}`, others, finding.OK},
		{`{"exchange":{"connected":false}}`, self, finding.Skipped},
		{`{"exchange":{"connected":true}}`, others, finding.Skipped},
	} {
		p := &patient{config: config.Default(), state: t.TempDir(), status: &api.Status{}, sites: &api.SiteList{Sites: c.sites}}
		testenv.Check(t, json.Unmarshal([]byte(c.daemon), &p.facts))
		got := p.redis(t.Context())[0]
		if got.State != c.state || strings.Contains(got.Text, "SPAMBLOOM_REDIS") != (c.state == finding.Skipped) {
			t.Errorf("%s, %d sites: %+v", c.daemon, len(c.sites), got)
		}
	}
	t.Setenv("SPAMBLOOM_REDIS", "redis://:secret\a@redis")
	found := Examine(t.Context(), nil, Options{Place: verb.Place{Config: filepath.Join(t.TempDir(), "none")}})
	if last := found[len(found)-1]; !last.IsFault || !strings.Contains(last.Text, "SPAMBLOOM_REDIS") || strings.Contains(last.Text, "secret") {
		t.Errorf("a wrong URL in the environment: %+v", found)
	}
}

// Ignored sites do not count as sites in use, and are named.
func TestIgnoredSites(t *testing.T) {
	p := &patient{config: config.Default(), state: t.TempDir(), status: &api.Status{}}
	p.config.Redis.URL = "redis://127.0.0.1/0"
	p.sites = &api.SiteList{Sites: []api.Site{
		{Site: "mx1", State: api.StateSelf}, {Site: "mx2", State: api.StateHeard}, {Site: "mx3", State: api.StateDropped}, {Site: "mx4", State: api.StateMuted},
	}}
	found := p.federation()
	if len(found) != 1 || found[0].State != finding.OK || !strings.HasPrefix(found[0].Text, "other sites in use: 1; ") ||
		!strings.HasSuffix(found[0].Text, "; ignored here: mx3 is dropped, mx4 is muted (spambloom mute --undo SITE)") {
		t.Errorf("%+v", found)
	}
}

// The first connection of a daemon that has just started is no warning.
func TestFirstConnection(t *testing.T) {
	p := &patient{sites: &api.SiteList{RedisFault: link.Pending}}
	if found := p.daemonsRedis(); found.State != finding.Skipped || !strings.Contains(found.Text, "first connection") {
		t.Errorf("%+v", found)
	}
}

// What INFO says about a Redis that loses records.
func TestPersistence(t *testing.T) {
	results := persistence("# Persistence\r\naof_enabled:0\r\n# Memory\r\nmaxmemory_policy:allkeys-lru\r\n")
	if len(results) != 3 {
		t.Fatalf("%+v", results)
	}
	if results = persistence("aof_enabled:1\r\nmaxmemory_policy:noeviction\r\n"); len(results) != 1 || !strings.Contains(results[0].Text, "more rights") {
		t.Errorf("%+v", results)
	}
	if total := totalMemory("MemFree: 1 kB\nMemTotal:       16333764 kB\n"); total != 16333764<<10 {
		t.Error(total)
	}
}

// A mail server with more sessions than the daemon has connections is a warning.
func TestSessions(t *testing.T) {
	for _, c := range []struct {
		name                     string
		sessions, perClient, all int
		want                     string
	}{
		{"Postfix", 300, 400, 1000, ""},
		{"Postfix", 401, 400, 1000, "Postfix takes 401 SMTP sessions at a time, and the daemon 400"},
		{"Sendmail", mta.NoLimit, 400, 1000, "Sendmail takes any number of SMTP sessions at a time, and the daemon 400"},
		{"Sendmail", 500, 0, 1000, ""},
		{"Sendmail", 500, 600, 450, "Sendmail takes 500 SMTP sessions at a time, and the daemon 450"},
	} {
		p := &patient{config: config.Default()}
		p.config.Milter.MaxConnectionsPerClient, p.config.Milter.MaxConnections = int64(c.perClient), int64(c.all)
		var said []string
		for _, f := range p.milters(&mta.Server{Name: c.name, Sessions: c.sessions, Milters: []mta.Milter{{Spec: "inet:127.0.0.1:8899", DefaultAction: "accept"}}}) {
			if f.State == finding.Warning {
				said = append(said, f.Text)
			}
		}
		if got := strings.Join(said, "; "); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// At a new site doctor says what that means, if the site can learn at all.
func TestNewSiteIsNamed(t *testing.T) {
	server := &mta.Server{Name: "Postfix", Milters: []mta.Milter{{Spec: "inet:127.0.0.1:8899", DefaultAction: "accept"}}}
	for _, c := range []struct {
		authserv string
		isNew    bool
		want     string
	}{{"mx.example.org", true, "this site is new"}, {"mx.example.org", false, ""}, {"", true, "proofs of senders"}} {
		p := &patient{config: config.Default(), status: &api.Status{Database: bloomdb.Status{NewSite: c.isNew}}}
		p.config.Milter.AuthservID = c.authserv
		var said []string
		for _, f := range p.milters(server) {
			if strings.Contains(f.Text, "this site is new") || strings.Contains(f.Text, "proofs of senders") {
				said = append(said, f.Text)
			}
		}
		if got := strings.Join(said, "; "); !strings.HasPrefix(got, c.want) || len(said) > 1 || c.want == "" && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
