package config

import (
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestTraps(t *testing.T) {
	c, err := parse("f", `[[trap]]
name = "trap1"
maildir = "/var/mail/trap/"
[[trap]]
name = "trap2"
maildir = "/var/mail/other"
class = "phish"
`)
	testenv.Check(t, err)
	want := []Trap{{"trap1", "/var/mail/trap", "other"}, {"trap2", "/var/mail/other", "phish"}}
	if !slices.Equal(c.Traps, want) {
		t.Errorf("%+v", c.Traps)
	}
	if live, restart := c.Changed(Default()); live != nil || !slices.Equal(restart, []string{"trap"}) {
		t.Errorf("live %v, restart %v", live, restart)
	}
	if line := slog.GroupValue(c.Effective()...).String(); !strings.Contains(line, "trap=trap1 /var/mail/trap, trap2 /var/mail/other") {
		t.Error(line)
	}
}
