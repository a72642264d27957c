package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/spambloomd/e2e/harness"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A file that was read at the start but is missing at a SIGHUP, for example while an editor
// rewrites it, must not disable all policies and rules.
func TestUsualFileAwayAtReload(t *testing.T) {
	dir := t.TempDir()
	usual := filepath.Join(dir, "spambloom.toml")
	unchanged := func(string) bool { return false }
	s, err := makeSettings(Flags{Data: dir}, unchanged, false, usual)
	if err != nil || s.File != "" {
		t.Fatalf("without a file: %q, %v", s.File, err)
	}
	harness.Write(t, usual, "[actions]\nspam = \"reject\"\n")
	for range 2 { // the file is created before the first
		if s, err = s.Reload(); err != nil || s.File != usual || s.Actions.Spam != "reject" {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	testenv.Check(t, os.Remove(usual))
	if s, err := s.Reload(); err == nil || !strings.Contains(err.Error(), usual) {
		t.Errorf("reloaded with %+v, %v", s, err)
	}
}

func TestStateFolderChoice(t *testing.T) {
	t.Setenv("STATE_DIRECTORY", "/var/lib/a:/var/lib/b")
	for flag, want := range map[string]string{"": "/var/lib/a", "/data": "/data"} {
		if got := StateFolder(flag); got != want {
			t.Errorf("StateFolder(%q) = %s, want %s", flag, got, want)
		}
	}
	t.Setenv("STATE_DIRECTORY", "")
	want := "spambloom-data"
	if os.Geteuid() == 0 {
		want = "/var/lib/spambloom"
	}
	if got := StateFolder(""); got != want {
		t.Errorf("StateFolder = %s, want %s", got, want)
	}
}

// The URL of Redis in the environment goes before that in the file, and a flag before both. An error names the variable,
// and shows no password.
func TestRedisOfTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	file := harness.Write(t, filepath.Join(dir, "spambloom.toml"), "[redis]\nurl = \"redis://file/0\"\n")
	for _, c := range []struct{ variable, flag, want string }{
		{"", "", "redis://file/0"},
		{"redis://:secret@variable/0", "", "redis://:secret@variable/0"},
		{"redis://:secret@variable/0", "redis://flag/0", "redis://flag/0"},
	} {
		t.Setenv("SPAMBLOOM_REDIS", c.variable)
		s, err := makeSettings(Flags{Config: file, Data: dir, Redis: c.flag}, func(name string) bool { return name == "redis" && c.flag != "" }, false, "")
		if err != nil || s.Redis.URL != c.want {
			t.Errorf("%+v: %v, %v", c, s, err)
		}
	}
	t.Setenv("SPAMBLOOM_REDIS", "http://:secret@variable/0")
	_, err := makeSettings(Flags{Config: file, Data: dir}, func(string) bool { return false }, false, "")
	if err == nil || !strings.Contains(err.Error(), "SPAMBLOOM_REDIS") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}

// By default the control socket is in the folder created by systemd that users of the group
// may enter.
func TestControlSocketChoice(t *testing.T) {
	for _, c := range []struct{ runtime, flag, want string }{
		{"", "", "unix:/data/spambloom.sock"},
		{"/run/a:/run/b", "", "unix:/run/a/control.sock"},
		{"/run/a", "unix:/run/c.sock", "unix:/run/c.sock"},
	} {
		t.Setenv("RUNTIME_DIRECTORY", c.runtime)
		given := func(flag string) bool { return flag == "control" && c.flag != "" }
		s, err := New(Flags{Config: "../../../contrib/spambloom.toml", Data: "/data", Control: c.flag}, given)
		if err != nil || s.Control.Listen != c.want {
			t.Errorf("%+v: %v, error %v", c, s.Control.Listen, err)
		}
	}
}
