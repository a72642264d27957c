package settings

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The unit has the limits of the default configuration, in a federation, and little more.
func TestUnitBounds(t *testing.T) {
	s := &Settings{Config: config.Default(), Data: t.TempDir(), Name: "mx1"}
	s.Redis.URL = "redis://db"
	memory, err := s.MostMemory()
	testenv.Check(t, err)
	unit, err := os.ReadFile("../../../contrib/spambloom.service")
	testenv.Check(t, err)
	for name, want := range map[string]int64{"MemoryMax": memory >> 20, "TasksMax": s.MostTasks()} {
		m := regexp.MustCompile(`(?m)^` + name + `=(\d+)M?$`).FindSubmatch(unit)
		if m == nil {
			t.Errorf("the unit has no %s; %d is right", name, want)
			continue
		}
		if got, err := strconv.ParseInt(string(m[1]), 10, 64); err != nil || got < want || got > want+want/5 {
			t.Errorf("%s=%s, %d is needed", name, m[1], want)
		}
	}
}
