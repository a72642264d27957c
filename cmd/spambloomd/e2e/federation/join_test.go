package federation

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
)

// member is a site with a federation key of its own, as it is before it joins another one.
type member struct {
	*harness.Site
	t       *testing.T
	reports []api.Request
}

// newMember prepares a site. It exchanges nothing if redis is empty.
func newMember(t *testing.T, name, redis string) *member {
	t.Helper()
	s := harness.NewSite(t, name, "", redis)
	s.Configure(t, `federation_key = ""`+"\n", "") // the default, in the state folder
	return &member{Site: s, t: t}
}

// runAlone starts the site, and lets a user report spam.
func (m *member) runAlone() *member {
	m.t.Helper()
	m.Start()
	m.report()
	return m
}

func (m *member) report() {
	m.t.Helper()
	r := harness.Request(harness.Text())
	m.MustReport(m.t, r)
	m.reports = append(m.reports, r)
}

// verb runs invite or join, which must succeed, and returns what it prints.
func (m *member) verb(args ...string) string {
	m.t.Helper()
	r := m.tryVerb(args...)
	if r.Code != 0 {
		m.t.Fatalf("%s: %v: %+v", m.Name, args[0], r)
	}
	return strings.TrimSpace(r.Stdout)
}

func (m *member) tryVerb(args ...string) harness.Result {
	m.t.Helper()
	args = append(args, "-c", filepath.Join(m.Dir, "spambloom.toml"), "--data", filepath.Join(m.Dir, "state"))
	return harness.Execute(m.t, "", harness.Program(m.t, "spambloom"), args...)
}

func (m *member) restart() {
	m.t.Helper()
	if code := m.Stop(syscall.SIGTERM); code != 0 {
		m.t.Errorf("%s: exit code %d\n%s", m.Name, code, m.Log())
	}
	m.Start()
}

// expectJoined checks that each site has all reports that either has ever made, and those that
// both make from now on.
func expectJoined(t *testing.T, sites ...*member) {
	t.Helper()
	for _, from := range sites {
		harness.ExpectListed(t, from.Site, from.reports)
		from.report()
		latest := from.reports[len(from.reports)-1]
		for _, to := range sites {
			testenv.Eventually(t, to.Name+" receives a report of "+from.Name, func() bool { return to.Lists(t, latest) })
			for i, r := range from.reports {
				testenv.Eventually(t, fmt.Sprintf("%s receives report %d of %s", to.Name, i, from.Name), func() bool { return to.Lists(t, r) })
			}
		}
	}
}

// Two sites that have run alone join, whichever makes the first line, and whether or not the
// member names its peers.
func TestJoinAfterRunningAlone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trust     []string
		inviteNow bool // the member makes the first line
	}{
		"request first": {nil, false}, "invitation first": {nil, true}, "with peers": {[]string{"--trust", "full"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redis := harness.StartRedis(t)
			a, b := newMember(t, "a", redis.URL()).runAlone(), newMember(t, "b", "").runAlone()
			invite := append([]string{"invite", "--yes", "--redis", redis.URL()}, c.trust...)
			request := ""
			if c.inviteNow {
				request = b.verb("join", a.verb(invite...))
			} else {
				request = b.verb("join")
			}
			b.verb("join", "--yes", a.verb(append(invite, request)...))
			if len(c.trust) > 0 {
				a.restart()
			}
			b.restart()
			expectJoined(t, a, b)
			if status := b.CLI("status", "--json"); !strings.Contains(status.Stdout, "previous_until") {
				t.Errorf("b does not show its previous key: %s", status.Stdout)
			}
			if again := b.verb("join", "--yes", a.verb(append(invite, request)...)); !strings.Contains(again, "nothing to change") {
				t.Errorf("joining again changes something: %s", again)
			}
		})
	}
}

// A site joins before its first start, while neither the member nor Redis runs. It has no
// previous key, and everything is well once they start, in any order.
func TestJoinBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	a := newMember(t, "a", redis.URL()).runAlone()
	a.Stop(syscall.SIGTERM)
	redis.Stop()
	b := newMember(t, "b", "")
	if err := os.Mkdir(filepath.Join(b.Dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	b.verb("join", "--yes", a.verb("invite", "--yes", "--redis", redis.URL(), b.verb("join")))
	b.Start()
	b.report()
	redis.Start()
	a.Start()
	expectJoined(t, a, b)
	if status := b.CLI("status", "--json"); strings.Contains(status.Stdout, "previous_until") {
		t.Errorf("b has a previous key: %s", status.Stdout)
	}
}

// Both sites invite and both join. Each then has the other's key, so they exchange under
// both. A further invitation shows the second one who joins that nothing is left to do.
func TestJoinCrosswise(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	a, b := newMember(t, "a", redis.URL()).runAlone(), newMember(t, "b", redis.URL()).runAlone()
	invite := []string{"invite", "--yes", "--redis", redis.URL()}
	toB, toA := a.verb(append(invite, b.verb("join"))...), b.verb(append(invite, a.verb("join"))...)
	b.verb("join", "--yes", toB)
	a.verb("join", "--yes", toA)
	a.restart()
	b.restart()
	expectJoined(t, a, b)
	again := a.verb(append(invite, b.verb("join"))...)
	if r := b.tryVerb("join", "--yes", again); r.Code != 65 || !strings.Contains(r.Stderr, "is leaving the federation") {
		t.Errorf("b joins the key that it leaves: %+v", r)
	}

	// As that error says, b exchanges its two keys. Then both sites have the same new one.
	path := filepath.Join(b.Dir, "spambloom.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	swapped := strings.NewReplacer("previous_federation_key", "federation_key", "federation_key", "previous_federation_key").Replace(string(text))
	harness.Write(t, path, swapped)
	b.restart()
	expectJoined(t, a, b)
	if again := b.verb("join", "--yes", again); !strings.Contains(again, "nothing to change") {
		t.Errorf("after the exchange of its keys, b is no member: %s", again)
	}
}

// A member with other parameters: the new site adopts them, and its reports stay.
func TestJoinWithOtherParameters(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	a, b := newMember(t, "a", redis.URL()), newMember(t, "b", "").runAlone()
	a.Configure(t, "capacity = 4000\n", "capacity = 6000\nkeep = 6\n")
	a.runAlone()
	b.verb("join", "--yes", a.verb("invite", "--yes", "--redis", redis.URL(), b.verb("join")))
	b.restart()
	expectJoined(t, a, b)
}
