package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// lines are what a command prints as JSON, one object a line, without members that
// differ between machines.
func (s *site) lines(without []string, args ...string) (list []string) {
	s.t.Helper()
	r := s.cli(args...)
	if r.code > 1 {
		s.t.Fatalf("spambloom %v: %+v", args, r)
	}
	for line := range strings.Lines(r.stdout) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			s.t.Fatalf("spambloom %v: %v in %q", args, err, line)
		}
		for _, name := range without {
			delete(object, name)
		}
		text, err := json.Marshal(object)
		if err != nil {
			s.t.Fatal(err)
		}
		list = append(list, string(text))
	}
	return list
}

// All that one machine knows moves to another one by a pipe: its verdicts, who reported
// what, and what each is worth. The sites of the federation hear of it.
func TestTransfer(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	key := filepath.Join(folder(t), "key")
	from := newSite(t, "mx1", key, "").start()
	var files []string
	for i := range 6 {
		files = append(files, write(t, filepath.Join(from.dir, fmt.Sprintf("%d.eml", i)), message(text())))
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
		if r := from.cli(args...); r.code != 0 {
			t.Fatalf("%v: %+v", args, r)
		}
	}
	to, third := newSite(t, "mx2", key, redis.url()).start(), newSite(t, "mx3", key, redis.url()).start()

	state := func(s *site) [][]string {
		return [][]string{
			s.lines([]string{"count", "sites"}, append([]string{"check", "--json"}, files...)...),
			s.lines([]string{"weight"}, "reporters", "--json"), // which fades by the second
			s.lines([]string{"id"}, "reports", "--json"),
		}
	}
	want := state(from)
	spambloom := program(t, "spambloom")
	pipe := fmt.Sprintf("%s export --control %s | %s import --control %s", spambloom, from.control, spambloom, to.control)
	for i, reports := range []string{"6 new, 0 known", "0 new, 6 known"} {
		if r := execute(t, "", "sh", "-c", pipe); r.code != 0 || !strings.Contains(r.stdout, "reports: "+reports) || r.stderr != "" {
			t.Fatalf("import %d: %+v\n%s", i, r, to.log())
		}
		for part, got := range state(to) {
			if !slices.Equal(got, want[part]) {
				t.Errorf("import %d:\n%s\nwant\n%s", i, strings.Join(got, "\n"), strings.Join(want[part], "\n"))
			}
		}
	}
	eventually(t, "another site hears of it", func() bool {
		return third.cli("check", files[0]).code == 0 && third.cli("check", files[1]).code == 0
	})
	if r := third.cli("check", files[2]); r.code != 1 {
		t.Errorf("what was taken back: %+v", r)
	}

	if code := to.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("stopped with %d", code)
	}
	to.start()
	for part, got := range state(to) {
		if !slices.Equal(got, want[part]) {
			t.Errorf("after a restart:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want[part], "\n"))
		}
	}
}
