package settings

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/spambloom/spambloom/cmd/internal/config"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// The state folder's bound holds the reports that the ledger keeps, and the filters; the data of
// other sites adds to it.
func TestDiskBound(t *testing.T) {
	bound := func(change func(s *Settings)) int64 {
		s := &Settings{Config: config.Default(), Data: t.TempDir(), Name: "mx1"}
		change(s)
		most, err := s.MostDisk()
		testenv.Check(t, err)
		return most
	}
	spilled := bound(func(*Settings) {})
	alone := bound(func(s *Settings) { s.Milter.OverMemory = "head" })
	if spilled != alone+4*config.Default().Milter.MaxMemory {
		t.Errorf("with temporary files %d MiB, without %d", spilled>>20, alone>>20)
	}
	if ledger := 4 * config.Default().Reports.Capacity * reportSize; alone < ledger+(200<<20) || alone > 2*ledger {
		t.Errorf("at most %d MiB, the ledger %d", alone>>20, ledger>>20)
	}
	if joined := bound(func(s *Settings) { s.Redis.URL = "redis://db" }); joined < spilled+(512<<20) {
		t.Errorf("joined: %d MiB, alone %d", joined>>20, spilled>>20)
	}
	if small := bound(func(s *Settings) { s.Reports.Capacity /= 10 }); small > spilled/3 {
		t.Errorf("a tenth of the capacity: %d MiB of %d", small>>20, spilled>>20)
	}
}

// The memory that -t prints includes the messages that traps and the page read.
func TestReadingIsPartOfTheMemory(t *testing.T) {
	most := func(text string) int64 {
		s, err := configured(t, text)
		testenv.Check(t, err)
		most, err := s.MostMemory()
		testenv.Check(t, err)
		return most
	}
	const long, noPage = "[milter]\nmax_message = \"64MiB\"\n", "[http]\nlisten = \"\"\n"
	const trap = "[[trap]]\nname = \"lure\"\nmaildir = \"/var/mail/trap\"\n"
	for _, test := range []struct {
		without, with string
		want          int64
	}{
		{"", trap, 30 << 20}, {noPage, "", 0}, {long + noPage, long, 8 * 54 << 20}, {long + noPage, long + trap, (3*64 + 8*54) << 20},
	} {
		if more := most(test.with) - most(test.without); more != test.want {
			t.Errorf("%s%d MiB more, want %d", test.with, more>>20, test.want>>20)
		}
	}
}

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
