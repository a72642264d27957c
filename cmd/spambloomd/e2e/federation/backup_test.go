package federation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// lines returns the JSON output of a command, one object a line, without members that
// differ between machines.
func lines(s *harness.Site, without []string, args ...string) (list []string) {
	s.T.Helper()
	r := s.CLI(args...)
	if r.Code > 1 {
		s.T.Fatalf("spambloom %v: %+v", args, r)
	}
	for line := range strings.Lines(r.Stdout) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			s.T.Fatalf("spambloom %v: %v in %q", args, err, line)
		}
		for _, name := range without {
			delete(object, name)
		}
		text, err := json.Marshal(object)
		if err != nil {
			s.T.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

// page runs a block of contrib/backup.md unchanged, except for paths and commands that
// affect the system.
func page(t *testing.T, first string, replace ...string) string {
	t.Helper()
	block := harness.PageBlock(t, "backup.md", first)
	spambloomd := harness.Program(t, "spambloomd")
	for _, pair := range slices.Collect(slices.Chunk(append(replace,
		"systemctl stop spambloom\n", "", "systemctl start spambloom\n", "", "runuser -u spambloom -- ", "",
		"-o spambloom -g spambloom ", "", "spambloomd --", spambloomd+" --"), 2)) {
		block = strings.ReplaceAll(block, pair[0], pair[1])
	}
	r := harness.Execute(t, "", "sh", "-ec", block)
	if r.Code != 0 {
		t.Fatalf("%s\n%+v", block, r)
	}
	return r.Stdout
}

// moved is a site with reports, and its effect on its users.
type moved struct {
	*harness.Site
	key, redis string // of the federation
	files      []string
}

// newMoved starts mx1, with a report of every kind, and another site.
func newMoved(t *testing.T) (m *moved, other *harness.Site) {
	redis := harness.StartRedis(t)
	m = &moved{key: filepath.Join(testenv.Dir(t), "key"), redis: redis.URL()}
	other = harness.NewSite(t, "mx2", m.key, m.redis).Start()
	m.Site = harness.NewSite(t, "mx1", m.key, m.redis).Start()
	for i := range 6 {
		m.files = append(m.files, harness.Write(t, filepath.Join(m.Dir, fmt.Sprintf("%d.eml", i)), harness.Message(harness.Text())))
	}
	for _, args := range [][]string{
		{"report", "--as", "anna", "--class", "phish", m.files[0]},
		{"report", "--as", "bob", m.files[0]},
		{"report", "--as", "bob", m.files[1]},
		{"report", "--as", "carl", m.files[2]},
		{"revoke", "--as", "anna", m.files[2]},
		{"report", "--as", "dora", m.files[3]},
		{"reporters", "carl", "--weight", "0.25"},
		{"undo", "dora", "--since", "1h"},
		{"never", m.files[4]},
	} {
		m.must(args...)
	}
	return m, other
}

func (m *moved) must(args ...string) string {
	m.T.Helper()
	r := m.CLI(args...)
	if r.Code != 0 {
		m.T.Fatalf("%v: %+v", args, r)
	}
	return r.Stdout
}

// state returns the site's answers.
func (m *moved) state() [][]string {
	return [][]string{
		lines(m.Site, []string{"count", "sites", "site"}, append([]string{"check", "--json"}, m.files...)...),
		lines(m.Site, []string{"weight"}, "reporters", "--json"), // without members that change by the second
		lines(m.Site, nil, "reports", "--json"),
		lines(m.Site, nil, "never", "--list", "--json"),
	}
}

func (m *moved) wantState(when string, want [][]string) {
	m.T.Helper()
	for part, got := range m.state() {
		if !slices.Equal(got, want[part]) {
			m.T.Errorf("%s:\n%s\nwant\n%s", when, strings.Join(got, "\n"), strings.Join(want[part], "\n"))
		}
	}
}

func (m *moved) stop() {
	m.T.Helper()
	if code := m.Stop(syscall.SIGTERM); code != 0 {
		m.T.Errorf("stopped with %d\n%s", code, m.Log())
	}
}

// expectReceived reports a message and waits until another site has received it.
func (m *moved) expectReceived(other *harness.Site, what string) string {
	m.T.Helper()
	file := harness.Write(m.T, filepath.Join(m.Dir, what+".eml"), harness.Message(harness.Text()))
	m.must("report", "--as", "anna", file)
	testenv.Eventually(m.T, "the other site receives it, "+what, func() bool { return other.CLI("check", file).Code == 0 })
	return file
}

// Returning to yesterday's state as described on the page: everything in the backup and
// nothing later exists, other sites continue to receive the site's deltas, and its counts
// are not added twice.
func TestRestoreYesterday(t *testing.T) {
	t.Parallel()
	m, other := newMoved(t)
	m.expectReceived(other, "before")
	want := m.state()
	tar := filepath.Join(m.Dir, "site.tar")
	if out := m.must("backup", tar); !strings.Contains(out, ", reports: 7, reporters: 4\nkeys that this backup does not contain; copy these files as well: \""+m.key+"\"\n") {
		t.Errorf("%s", out)
	}
	since := m.expectReceived(other, "since")
	m.stop()
	state := filepath.Join(m.Dir, "state")
	out := page(t, "systemctl stop spambloom\nmv ", "/var/lib/spambloom", state, "/var/backups/spambloom.tar", tar,
		"--data", "-c "+filepath.Join(m.Dir, "spambloom.toml")+" --data")
	if !strings.Contains(out, state+": restored\nstate of mx1 as of ") {
		t.Errorf("%s", out)
	}
	m.Start()
	m.wantState("restored", want)
	if r := m.CLI("check", since); r.Code != 1 {
		t.Errorf("later reports: %+v", r)
	}
	m.expectReceived(other, "after")
	if r := other.CLI("check", since); r.Code != 0 {
		t.Errorf("the other site lost later reports: %+v", r)
	}
	testenv.Eventually(t, "no site is stale", func() bool {
		return !strings.Contains(other.CLI("sites").Stdout+m.CLI("sites").Stdout, "stale")
	})
	// The same backup again: the epoch that it began has ended, too.
	m.stop()
	if err := os.RemoveAll(state); err != nil {
		t.Fatal(err)
	}
	if r := harness.Execute(t, "", harness.Program(t, "spambloomd"), "-c", filepath.Join(m.Dir, "spambloom.toml"), "--data", state, "--restore", tar); r.Code != 0 {
		t.Fatalf("%+v", r)
	}
	m.Start()
	m.wantState("restored again", want)
	m.expectReceived(other, "once more")
}

// A site moves to another machine with its folder, as described on the page, and keeps its
// identity.
func TestMove(t *testing.T) {
	t.Parallel()
	m, other := newMoved(t)
	m.expectReceived(other, "before")
	want := m.state()
	m.stop()
	to := harness.NewSite(t, "mx1", m.key, m.redis)
	page(t, "systemctl stop spambloom\ntar ", "tar -C /var/lib/spambloom -cf", "tar -C "+filepath.Join(m.Dir, "state")+" -cf",
		"ssh root@new", "sh -ec", "/var/lib/spambloom", filepath.Join(to.Dir, "state"))
	here := &moved{Site: to, files: m.files}
	here.Start()
	here.wantState("moved", want)
	here.expectReceived(other, "after")
}

// A site is renamed as described on the page: its reports, reporters and never-list stay,
// and other sites receive its deltas under the new name.
func TestRename(t *testing.T) {
	t.Parallel()
	m, other := newMoved(t)
	before := m.expectReceived(other, "before")
	want := m.state()
	m.stop()
	state := filepath.Join(m.Dir, "state")
	page(t, "spambloom backup /var/backups/before-renaming.tar\n", "spambloom backup /var/backups/before-renaming.tar\n", "", "/var/lib/spambloom", state)
	m.Configure(t, `name = "mx1"`, `name = "mx9"`)
	m.Start()
	if !strings.Contains(m.Log(), "reports of the ledger are listed again") || !strings.Contains(m.Log(), `"reports":4`) {
		t.Errorf("%s", m.Log())
	}
	if votes, _ := filepath.Glob(filepath.Join(state, "own-*.votes")); len(votes) == 0 {
		t.Error("the site has no votes of its own")
	}
	m.wantState("renamed", want)
	m.expectReceived(other, "after")
	for _, args := range [][]string{{"mute", "mx1"}, {"mute", "--undo", "mx1"}, {"drop", "--yes", "mx1"}, {"mute", "--undo", "mx1"}} {
		if r := other.CLI(args...); r.Code != 0 {
			t.Fatalf("%q: %+v", args, r)
		}
	}
	testenv.Eventually(t, "the other site receives the reports under the new name", func() bool {
		return other.CLI("check", before).Code == 0 && other.CLI("check", m.files[0]).Code == 0
	})
	if r := other.CLI("check", m.files[2]); r.Code != 1 {
		t.Errorf("a revoked message: %+v", r)
	}
}
