package federation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// admin runs a command of Redis as the administrator of the recipe.
func (r *guidedRedis) admin(args string) string {
	r.t.Helper()
	return r.sh(r.here(`cd /etc/redis
export REDISCLI_AUTH=$(sed -n 's/^user admin on >\([0-9a-f]*\).*/\1/p' users.acl)
redis-cli -h redis.example.org -p 6379 --tls --cacert ca.pem --user admin ` + args))
}

// page runs a block of federation.md on the machine of Redis.
func (r *guidedRedis) page(first string, replace ...string) string {
	r.t.Helper()
	block := strings.NewReplacer(replace...).Replace(harness.PageBlock(r.t, "federation.md", first))
	return r.sh(r.here(block))
}

// keyIDs returns the ids of a site's federation key and of its previous one.
func (m *member) keyIDs() (current, previous string) {
	m.t.Helper()
	var status struct {
		Database struct {
			KeyID    string `json:"key_id"`
			Previous *struct {
				KeyID string `json:"key_id"`
			} `json:"previous"`
		} `json:"database"`
	}
	if err := json.Unmarshal([]byte(m.CLI("status", "--json").Stdout), &status); err != nil {
		m.t.Fatal(err)
	}
	if p := status.Database.Previous; p != nil {
		previous = p.KeyID
	}
	return status.Database.KeyID, previous
}

// The commands that look into Redis and delete from it work in the Redis of the recipe, with TLS
// and its users, as they are on the page. They find a site's keys under every federation key, and
// leave those of other sites.
func TestCommandsForRedis(t *testing.T) {
	t.Parallel()
	redis := newGuidedRedis(t)
	redis.start()
	redis.sh(redis.block("install -m 644"))
	a, b := newMember(t, "a", ""), newMember(t, "b", "").runAlone()
	a.Overlay(t, "[redis]\n"+redis.block("url = "))
	a.runAlone()
	b.verb("join", "--yes", a.verb("invite", "--yes", "--with-password", "--redis", redis.url, b.verb("join")))
	b.restart()
	expectJoined(t, a, b)
	current, previous := b.keyIDs()
	for _, id := range []string{current, previous} {
		testenv.Eventually(t, "b has a heartbeat under the key "+id, func() bool {
			return strings.Contains(redis.admin("hkeys '{spambloom:"+id+"}:heads'"), "b\n")
		})
		redis.admin("xadd '{spambloom:" + id + "}:foreign:b' '*' delta intruder")
	}
	if code := b.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d", code)
	}

	// An intruder's names of keys contain a line that names a key of another application.
	redis.admin("set shop:orders precious")
	for _, name := range []string{`{spambloom:x}:foreign:b\nshop:orders`, `{spambloom:x}:\nshop:orders\n:stream:b`, `{spambloom:` + previous + `}:\nshop:orders`} {
		redis.admin(`eval "redis.call('set', '` + name + `', 1)" 0`)
	}
	out := redis.page("(\ncd /etc/redis\nexport")
	if strings.Contains(out, "shop") {
		t.Errorf("a key of another application is shown:\n%s", out)
	}
	for _, id := range []string{current, previous} {
		if !strings.Contains(out, "{spambloom:"+id+"}:foreign:b\n") || strings.Count(out, "intruder") != 2 {
			t.Errorf("the foreign entries:\n%s", out)
		}
	}
	redis.page("(\ncd /etc/redis\nsite=", "site=mx2", "site=b")
	keys := redis.admin("--scan")
	for _, want := range []string{"{spambloom:" + current + "}:stream:a\n", "{spambloom:" + current + "}:heads\n"} {
		if !strings.Contains(keys, want) {
			t.Errorf("%q is gone:\n%s", want, keys)
		}
	}
	for key := range strings.Lines(keys) {
		key = strings.TrimSpace(key)
		if !strings.HasPrefix(key, "{spambloom:") || strings.Contains(key, ":x}") {
			continue
		}
		if strings.HasSuffix(key, ":b") || strings.Contains(key, ":b:") {
			t.Errorf("%s is left", key)
		}
		if strings.HasSuffix(key, ":heads") || strings.HasSuffix(key, ":tails") || strings.HasSuffix(key, ":votes") || strings.HasSuffix(key, ":sites") {
			if fields := redis.admin("hkeys '" + key + "'"); strings.Contains("\n"+fields, "\nb\n") {
				t.Errorf("%s has an entry of b", key)
			}
		}
	}

	redis.admin("hset '{spambloom:" + previous + "}:heads' x y")
	redis.page("(\n   cd /etc/redis\n   old=", "old=OLDID", "old="+previous)
	redis.admin(`eval "redis.call('del', '{spambloom:` + previous + `}:\nshop:orders')" 0`) // names of another form remain
	if keys := redis.admin("--scan"); strings.Contains(keys, previous) || !strings.Contains(keys, "{spambloom:"+current+"}:stream:a\n") {
		t.Errorf("after the roll-over:\n%s", keys)
	}
	if got := redis.admin("get shop:orders"); got != "precious\n" {
		t.Errorf("a key of another application is now %q", got)
	}

	// Then the other site removes the name: nothing of b comes back.
	harness.ExpectListed(t, a.Site, b.reports)
	redis.sh("export SPAMBLOOM_CONTROL=" + a.Control + "\n" + strings.NewReplacer("mx2", "b", "spambloom ", harness.Program(t, "spambloom")+" ").Replace(harness.PageBlock(t, "federation.md", "spambloom drop --yes mx2")))
	if a.Lists(t, b.reports[0]) {
		t.Error("a still has the reports of b")
	}
	if out := a.CLI("sites").Stdout; strings.Contains(out, "dropped") {
		t.Errorf("sites:\n%s", out)
	}
}

// A site leaves by the commands of the page, and goes on alone with all that it knows. It returns
// to the key that it had before, under which it has its own reports of the time between.
func TestLeave(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	a, b := newMember(t, "a", redis.URL()).runAlone(), newMember(t, "b", "").runAlone()
	alone, _ := b.keyIDs()
	b.verb("join", "--yes", a.verb("invite", "--yes", "--redis", redis.URL(), b.verb("join")))
	b.restart()
	expectJoined(t, a, b)

	leave, _, _ := strings.Cut(harness.PageBlock(t, "federation.md", "sed -i '/^\\[redis"), "\n") // the second line restarts the service
	path := filepath.Join(b.Dir, "spambloom.toml")
	if r := harness.Execute(t, "", "sh", "-ec", strings.ReplaceAll(leave, "/etc/spambloom/spambloom.toml", path)); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	b.restart()
	expectAlone := func() {
		t.Helper()
		if warnings := b.CLI("sites").Stderr; !strings.Contains(warnings, "redis.url is not set") {
			t.Errorf("sites: %s", warnings)
		}
		harness.ExpectListed(t, b.Site, b.reports)
		harness.ExpectListed(t, b.Site, a.reports)
	}
	expectAlone()
	b.report()

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	harness.Write(t, path, strings.NewReplacer("previous_federation_key", "federation_key", "federation_key", "previous_federation_key").Replace(string(text)))
	b.restart()
	expectAlone()
	if now, _ := b.keyIDs(); now != alone {
		t.Errorf("the key is %s, not %s", now, alone)
	}

	// Without the federation's key, b has its own reports.
	lines := strings.Split(string(must(os.ReadFile(path))), "\n")
	kept := lines[:0]
	for _, line := range lines {
		if !strings.HasPrefix(line, "previous_federation_key") {
			kept = append(kept, line)
		}
	}
	harness.Write(t, path, strings.Join(kept, "\n"))
	b.restart()
	harness.ExpectListed(t, b.Site, b.reports)
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
