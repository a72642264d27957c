package milter

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/milter/spill"
)

// fullDisk is a folder on a file system of its own with room for a megabyte.
func fullDisk(t *testing.T) string { return disk(t, 1<<20) }

// disk is a folder on a file system of its own with room for n bytes.
func disk(t *testing.T, bytes int) string {
	t.Helper()
	return testenv.SmallDisk(t, strconv.Itoa(bytes))
}

// noDescriptors takes all of the process's file descriptors until the test's end.
func noDescriptors(t *testing.T) {
	t.Helper()
	var before syscall.Rlimit
	testenv.Check(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	few := before
	few.Cur = 256
	testenv.Check(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	var taken []*os.File
	t.Cleanup(func() {
		for _, f := range taken {
			f.Close()
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	})
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return
		}
		taken = append(taken, f)
	}
}

// The temporary files share the disk with reports, so bodies leave room there.
func TestSpillLeavesRoomForReports(t *testing.T) {
	const room = 1 << 20
	folder := disk(t, spill.Reserve+room)
	b := start(t, Options{MaxMessage: 8 * room, MaxMemory: 2 * room, SpillFolder: folder}, clean)
	hog(t, b, 5*room)
	if spilled := b.Load().Spilled; spilled < room/2 || spilled > room+share {
		t.Errorf("%d bytes in files, with room for %d", spilled, room)
	}
	lines := b.log.lines(t, "message judged on its beginning only")
	if len(lines) != 1 || !strings.Contains(fmt.Sprint(lines[0]), "256 MiB are reserved for reports") {
		t.Errorf("log lines %v", lines)
	}
}
