package federation

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// lines are what a command prints as JSON, one object a line, without members that
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

// All that one machine knows moves to another one by a pipe: its verdicts, who reported
// what, and what each is worth. The sites of the federation hear of it.
func TestTransfer(t *testing.T) {
	t.Parallel()
	redis := harness.StartRedis(t)
	key := filepath.Join(testenv.Dir(t), "key")
	from := harness.NewSite(t, "mx1", key, "").Start()
	var files []string
	for i := range 6 {
		files = append(files, harness.Write(t, filepath.Join(from.Dir, fmt.Sprintf("%d.eml", i)), harness.Message(harness.Text())))
	}
	for _, args := range [][]string{
		{"report", "--as", "anna", "--class", "phish", files[0]},
		{"report", "--as", "bob", files[0]},
		{"report", "--as", "bob", files[1]},
		{"report", "--as", "carl", files[2]},
		{"revoke", "--as", "anna", files[2]},
		{"report", "--as", "dora", files[3]},
		{"reporters", "carl", "--weight", "0.25"},
		{"undo", "dora", "--since", "1h"},
		{"never", files[4]},
	} {
		if r := from.CLI(args...); r.Code != 0 {
			t.Fatalf("%v: %+v", args, r)
		}
	}
	to, third := harness.NewSite(t, "mx2", key, redis.URL()).Start(), harness.NewSite(t, "mx3", key, redis.URL()).Start()

	state := func(s *harness.Site) [][]string {
		return [][]string{
			lines(s, []string{"count", "sites"}, append([]string{"check", "--json"}, files...)...),
			lines(s, []string{"weight"}, "reporters", "--json"), // which fades by the second
			lines(s, []string{"id"}, "reports", "--json"),
		}
	}
	want := state(from)
	spambloom := harness.Program(t, "spambloom")
	pipe := fmt.Sprintf("%s export --control %s | %s import --control %s", spambloom, from.Control, spambloom, to.Control)
	for i, reports := range []string{"6 new, 0 known", "0 new, 6 known"} {
		if r := harness.Execute(t, "", "sh", "-c", pipe); r.Code != 0 || !strings.Contains(r.Stdout, "reports: "+reports) || r.Stderr != "" {
			t.Fatalf("import %d: %+v\n%s", i, r, to.Log())
		}
		for part, got := range state(to) {
			if !slices.Equal(got, want[part]) {
				t.Errorf("import %d:\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want[part], "\n"))
			}
		}
	}
	testenv.Eventually(t, "another site hears of it", func() bool {
		return third.CLI("check", files[0]).Code == 0 && third.CLI("check", files[1]).Code == 0
	})
	if r := third.CLI("check", files[2]); r.Code != 1 {
		t.Errorf("what was taken back: %+v", r)
	}

	if code := to.Stop(syscall.SIGTERM); code != 0 {
		t.Errorf("stopped with %d", code)
	}
	to.Start()
	for part, got := range state(to) {
		if !slices.Equal(got, want[part]) {
			t.Errorf("after a restart:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want[part], "\n"))
		}
	}
}
