package history_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// On a full disk the counts stay in memory, the fault names the disk, and what was written before
// is whole. With room, all counts are written and the fault ends.
func TestFullDiskOfHistory(t *testing.T) {
	dir := testenv.SmallDisk(t, "64k")
	s := open(dir, noon)
	s.count(noon, "spam", 3)
	s.stop()
	if s.Fault() != nil {
		t.Fatal(s.Fault())
	}
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 128<<10), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for i := range 20 { // larger than a page
		s.count(noon, fmt.Sprintf("from:site%d.%0200d", i, i), 1)
	}
	s.count(noon, "spam", 4)
	s.stop()
	if !errors.Is(s.Fault(), syscall.ENOSPC) {
		t.Errorf("the fault of a full disk is %v", s.Fault())
	}
	open(dir, noon).want(t, noon.Add(-time.Hour), noon, map[string]uint64{"spam": 3})
	if got := s.Hours(noon.Add(-time.Hour), noon); len(got) == 0 || got[len(got)-1].Counts["spam"] != 7 {
		t.Errorf("in memory: %v", got)
	}
	testenv.Check(t, os.Remove(filler))
	s.count(noon, "spam", 1)
	s.stop()
	if s.Fault() != nil {
		t.Errorf("with room: %v", s.Fault())
	}
	again := open(dir, noon)
	if got := again.Hours(noon.Add(-time.Hour), noon); len(got) == 0 || got[len(got)-1].Counts["spam"] != 8 || len(got[len(got)-1].Counts) != 21 {
		t.Errorf("on disk: %v", got)
	}
}
