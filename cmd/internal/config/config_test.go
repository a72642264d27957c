package config

import (
	"flag"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

var update = flag.Bool("update", false, "rewrite the example file and the .error files")

const exampleFile = "../../../contrib/spambloom.toml"

// The files in contrib that are made from the table agree with it.
func TestExampleFile(t *testing.T) {
	for path, text := range map[string]string{
		exampleFile:                             Example(),
		"../../../contrib/man/spambloom.toml.5": Page(),
	} {
		if *update {
			testenv.Check(t, os.WriteFile(path, []byte(text), 0o644))
		}
		committed, err := os.ReadFile(path)
		testenv.Check(t, err)
		if string(committed) != text {
			t.Errorf("%s differs from the table in keys.go: run make generate", path)
		}
	}
}

// Different returns the keys that an administrator has set, and hides passwords.
func TestDifferent(t *testing.T) {
	if d := Default().Different(); len(d) > 0 {
		t.Errorf("the defaults differ: %v", d)
	}
	c, err := parse("c.toml", "[milter]\nskip_authenticated = true\n[bulk]\nthreshold = 7\n[redis]\nurl = \"redis://me:secret@db:6379/0\"\n[[peer]]\nname = \"mx2\"\ntrust = \"none\"\n")
	testenv.Check(t, err)
	if got, want := slog.GroupValue(c.Different()...).String(), "[bulk.threshold=7 redis.url=redis://***@db:6379/0 peer=mx2 none]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The example shows the defaults, so reading it must yield them, even with the comment
// signs removed.
func TestExampleIsTheDefault(t *testing.T) {
	c, err := parse("example", Example())
	testenv.Check(t, err)
	if live, restart := c.Changed(Default()); live != nil || restart != nil {
		t.Errorf("the example changes %v %v", live, restart)
	}
	c, err = parse("example", regexp.MustCompile(`(?m)^#([\w\[])`).ReplaceAllString(Example(), "$1"))
	testenv.Check(t, err)
	for _, k := range keys {
		want := k.def
		if k.example != nil {
			want = k.example
		}
		if got := k.kind.get(c); !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v", k.path(), got, want)
		}
		where := c.Where(k.path())
		if isList(k.section) {
			where = c.where[tableKey(k.section, 0, k.name)]
		}
		if !strings.HasPrefix(where, "example:") {
			t.Errorf("%s was not read from the file but from %s", k.path(), where)
		}
	}
}

func TestExampleWidth(t *testing.T) {
	for i, line := range strings.Split(Example(), "\n") {
		if len(line) > 85 {
			t.Errorf("line %d has %d columns: %s", i+1, len(line), line)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	text := `
milter.oversize = "skip"
[site]
name = "mx-1.example"
[milter]
listen = ["unix:/run/m.sock",
          "inet:8899@[::1]"]
local_networks = ["10.0.0.0/8", "192.0.2.7"]
max_message = "64 KiB"
[bulk]
capacity = 5_000_000
period = "36h"
[reports]
quorum = 1
max_error_per_mail = 1e-4
[redis]
url = "redis://me:secret@db:6379/0"
`
	text = strings.Replace(text, "milter.oversize = \"skip\"\n", "", 1)
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
	c, err := Load(path)
	testenv.Check(t, err)
	want := Default()
	want.where = c.where
	want.Site.Name = "mx-1.example"
	want.Milter.Listen = []string{"unix:/run/m.sock", "inet:8899@[::1]"}
	want.Milter.LocalNetworks = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("192.0.2.7/32")}
	want.Milter.MaxMessage = 64 << 10
	want.Bulk.Capacity = 5_000_000
	want.Bulk.Period = 36 * time.Hour
	want.Reports.MaxErrorPerMail = 1e-4
	want.Redis.URL = "redis://me:secret@db:6379/0"
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got  %+v\nwant %+v", c, want)
	}
	for key, want := range map[string]string{
		"milter.listen": path + ":5: milter.listen",
		"bulk.period":   path + ":11: bulk.period",
		"http.listen":   "default of http.listen",
	} {
		if got := c.Where(key); got != want {
			t.Errorf("Where(%s) = %q, want %q", key, got, want)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.toml")
	testenv.Check(t, os.WriteFile(big, []byte(strings.Repeat("# padding\n", maxFile/10+1)), 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "none.toml"): "no such file",
		dir:                             "is a directory",
		big:                             "larger than 1048576 bytes",
	} {
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Load(%s) = %v, want %q and the path", path, err, want)
		}
	}
}

// Every bad file fails with the error in the file beside it.
func TestBadFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.toml")
	if err != nil || len(files) < 20 {
		t.Fatal("corpus of bad files is missing:", len(files), err)
	}
	for _, path := range files {
		_, err := Load(path)
		if err == nil {
			t.Errorf("%s: accepted", path)
			continue
		}
		got := err.Error() + "\n"
		want := strings.TrimSuffix(path, ".toml") + ".error"
		if *update {
			testenv.Check(t, os.WriteFile(want, []byte(got), 0o644))
		}
		if text, err := os.ReadFile(want); err != nil || string(text) != got {
			t.Errorf("%s: got\n%swant\n%s%v", path, got, text, err)
		}
	}
}

func TestOverride(t *testing.T) {
	c := Default()
	testenv.Check(t, c.Override("milter.listen", "--listen", []string{"unix:/a", "unix:/b"}))
	if !slices.Equal(c.Milter.Listen, []string{"unix:/a", "unix:/b"}) || c.Where("milter.listen") != "--listen" {
		t.Errorf("listen = %v from %s", c.Milter.Listen, c.Where("milter.listen"))
	}
	err := c.Override("site.name", "--site", "mx 1")
	if err == nil || err.Error() != `--site: "mx 1" is not a site name; allowed: 1 to 64 of a-z A-Z 0-9 . _ -, not starting with a dot` {
		t.Error(err)
	}
}

func TestEffectiveHidesPasswords(t *testing.T) {
	for url, want := range map[string]string{
		"redis://user:hunter2@db:6379/0":               "redis://***@db:6379/0",
		"rediss://:hunter2@db:6379":                    "rediss://***@db:6379",
		"redis://db1:6379,db2:6379/0":                  "redis://db1:6379,db2:6379/0",
		"redis://a:hunter2@db1,redis://b:hunter2@db2":  "redis://***",
		"unix://:hunter2@/run/redis.sock":              "unix://***@/run/redis.sock",
		"redis://u:pa@hunter2@db:6379/0":               "", // the parser takes the last @
		"redis://u:12/hunter2@db:6379/0":               "redis://***",
		"redis://u:x/hunter2@db:6379/0":                "redis://***",
		"redis://u:x?hunter2@db:6379/0":                "redis://***",
		"redis://u:x#hunter2@db:6379/0":                "redis://***",
		"redis://u:x,hunter2@db:6379/0":                "redis://***",
		"redis://u:x\"hunter2'@db:6379/0":              "",
		"redis://u:%zzhunter2@db:6379/0":               "redis://***",
		"hunter2":                                      "***",
		"redis://a:hunter2@s1,s2/0?password=hunter2":   "",
		"redis://s1/0?password=a&hunter2&password=b#c": "",
	} {
		c := Default()
		testenv.Check(t, c.Override("redis.url", "--redis", url))
		line := slog.GroupValue(c.Effective()...).String()
		if strings.Contains(line, "hunter2") || !strings.Contains(line, hidden) && strings.Contains(url, "hunter2") || !strings.Contains(line, "redis.url="+want) {
			t.Errorf("%s: %s", url, line)
		}
		if !strings.Contains(line, "milter.max_message=10MiB") {
			t.Error(line)
		}
	}
}

// No error shows a password, however badly it is written.
func TestErrorsHidePasswords(t *testing.T) {
	for _, text := range []string{
		`url = ["redis://me:hunter2@db"]`,
		`url = {url = "redis://me:hunter2@db"}`,
		`url = redis://me:hunter2@db`,
		`url = "redis://me:x"hunter2@db"`,
		`url = 'redis://me:x'hunter2@db'`,
		`url = "redis://me:hunter2@db`,
		`url = "redis://me:\hunter2@db"`,
		`url = "redis://me:hunter2\u0007@db"`,
		`url = hunter2`,
		`url = 17hunter2`,
		`url = 0xhunter2`,
		`url = 1979-05-27Thunter2`,
		`url = true`,
	} {
		for _, file := range []string{"[redis]\n" + text, "redis." + text, "redis = {" + text + "}"} {
			_, err := parse("f", file)
			if err == nil || strings.Contains(err.Error(), "hunter") {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	for _, file := range []string{
		"[redis]\n\"url\" = \"redis://me:hunter2\\u12x@db\"",
		"[redis]\nurl = [\n\"redis://me:hunter2\\u12x@db\"\n]",
		"[redis]\nurl = \"\"\"\nredis://me:hunter2\\U0012x@db\"\"\"",
		"[redis]\npassword = \"\\\"hunter2\\x1z\"",
		"[redis]\npassword = \"a'b\\\"hunter2\\x1z\"",
		"redis = hunter2",
		"redis = 12.hunter2",
	} {
		_, err := parse("f", file)
		if err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, value := range []any{[]string{"redis://me:hunter2@db"}, "redis://me:hunter2\a@db"} {
		if err := Default().Override("redis.url", "--redis", value); err == nil || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// A key or token in the place of its file's path is refused and not shown: the daemon would make
// another key in a file with that name.
func TestSecretsAreNoPaths(t *testing.T) {
	key := strings.Repeat("0a1b2c3d", 8)
	for _, line := range []string{
		`site.federation_key = "` + key + `"`,
		`site.previous_federation_key = " ` + strings.ToUpper(key) + `"`,
		`site.federation_key = ["` + key + `"]`,
		`site.signing_key = "ed25519-private:` + key + `="`,
		`control.remote_key = """-----BEGIN PRIVATE KEY-----\n` + key + `"""`,
		`control.remote_tokens = "spambloom1-` + key + `"`,
		`redis.key = {key = "` + key + `"}`,
	} {
		_, err := parse("f", line)
		if err == nil || strings.Contains(strings.ToLower(err.Error()), key) || !strings.Contains(err.Error(), "write it into a file") {
			t.Errorf("%s: %v", line, err)
		}
	}
	if _, err := parse("f", `site.federation_key = "/run/secrets/`+key+`"`); err != nil {
		t.Error(err)
	}
}

// No line that setup or join shows contains the password of a URL, in whatever way it is written.
func TestWithoutURL(t *testing.T) {
	for line, want := range map[string]string{
		`url = "redis://me:hunter2@db:1/0"`:               `url = "redis://***@db:1/0"`,
		`url = 'redis://me:hunter2@db:1/0'`:               `url = 'redis://***@db:1/0'`,
		`url = "redis://me:hunter2'hunter2@db:1/0"`:       `url = "redis://***@db:1/0"`,
		`url = '''rediss://me:hunter2@db:1/0'''`:          `url = '''rediss://***@db:1/0'''`,
		`rediss://me:hunter2@db:1/0"""`:                   `rediss://***@db:1/0"""`,
		`url = "REDIS://me:hunter2@db:1/0" # 'x'`:         `url = "REDIS://***@db:1/0" # 'x'`,
		`url = "redis://db" # before: redis://me:hunter2`: `url = "redis://db" # before: redis://***`,
		`url = "redis://db:1/0"`:                          `url = "redis://db:1/0"`,
		`url = "http://me:hunter2@db:1/0"`:                `url = "***"`,
		`url = 'me:hunter2@db:1'`:                         `url = "***"`,
		`url = ""`:                                        `url = ""`,
	} {
		if got := WithoutURL(line); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func TestChanged(t *testing.T) {
	a, b := Default(), Default()
	b.Log.Level = "debug"
	b.Milter.LocalNetworks = nil
	b.Bulk.Capacity = 1_000_000
	live, restart := b.Changed(a)
	if !slices.Equal(live, []string{"milter.local_networks", "log.level"}) || !slices.Equal(restart, []string{"bulk.capacity"}) {
		t.Errorf("live %v, restart %v", live, restart)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"listen", "local_networks", "max_message"}
	for in, want := range map[string]string{
		"listne": "listen", "maxmessage": "max_message", "max-message": "max_message",
		"localnetworks": "local_networks", "zzzzzz": "", "": "",
	} {
		if got := nearest(in, names); got != want {
			t.Errorf("nearest(%q) = %q, want %q", in, got, want)
		}
	}
}

// A file is read or rejected, nothing worse. An accepted configuration can be shown.
func FuzzParse(f *testing.F) {
	f.Add(Example())
	f.Add("peer.name = 1\n")
	f.Add("[[peer]]\nname = \"mx2\"\n[[\"peer\"]]\n[[peer.name]]\n")
	f.Add("peer = [{name = \"mx2\"}, {}]\n")
	f.Add(policies)
	f.Add("[[trap]]\nname = \"t\"\nmaildir = \"/t\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := parse("f", text)
		if err == nil {
			c.Effective()
		} else if err.Error() == "" {
			t.Error("an error without text")
		}
	})
}

// Each table of a list has its own lines, also in later errors.
func TestPeers(t *testing.T) {
	const text = `peer = 1 # a heading in a comment: [[peer]]
`
	if _, err := parse("f", text); err == nil {
		t.Error("a number was taken for a list of peers")
	}
	c, err := parse("f", `[site]
name = "mx1"
[[peer]] # the first
name = "mx2"
key = "ed25519:AAAA"

[[ peer ]]
name = "mx3"
trust = "vote"
key = "ed25519:BBBB"
next_key = "ed25519:CCCC"
max_reports = 1_000
`)
	testenv.Check(t, err)
	want := []Peer{
		{Name: "mx2", Key: "ed25519:AAAA", Trust: "full"},
		{Name: "mx3", Key: "ed25519:BBBB", NextKey: "ed25519:CCCC", Trust: "vote", MaxReports: 1000},
	}
	if !slices.Equal(c.Peers, want) {
		t.Errorf("%+v", c.Peers)
	}
	for _, p := range []struct {
		i          int
		name, want string
	}{{0, "key", "f:5: peer.key"}, {0, "trust", "f:3: peer"}, {1, "key", "f:10: peer.key"}, {1, "max_counts", "f:7: peer"}} {
		if got := c.WherePeer(p.i, p.name); got != p.want {
			t.Errorf("%s of peer %d is at %q, want %q", p.name, p.i, got, p.want)
		}
	}
	if live, restart := c.Changed(Default()); live != nil || !slices.Equal(restart, []string{"site.name", "peer"}) {
		t.Errorf("live %v, restart %v", live, restart)
	}
	if line := slog.GroupValue(c.Effective()...).String(); !strings.Contains(line, "peer=mx2 full, mx3 vote") {
		t.Error(line)
	}
}
