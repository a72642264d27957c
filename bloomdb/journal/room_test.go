package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/cmd/testenv"
)

// A journal on a disk that takes a segment's header, but no more, keeps its fault until there is room.
func TestNoRoomForMore(t *testing.T) {
	dir := testenv.SmallDisk(t, "4m")
	j, err := Open(dir, [8]byte{1}, make(map[uint32]int64), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	filler := filepath.Join(dir, "filler")
	if err := os.WriteFile(filler, make([]byte, 4<<20-256<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	j.mu.Lock()
	j.fail(syscall.ENOSPC)
	j.mu.Unlock()
	record := Record{Target: layout.Target{Kind: layout.SpamFilter, Gen: 2931}}
	if err := j.Ready(); !errors.Is(err, syscall.ENOSPC) || !errors.Is(j.LastFault(), syscall.ENOSPC) {
		t.Errorf("with 256 KiB: %v, and the fault is %v", err, j.LastFault())
	}
	if _, err := j.Append(record); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("with 256 KiB, Append returned %v", err)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if err := j.Ready(); err != nil || j.LastFault() != nil {
		t.Fatalf("with room: %v, and the fault is %v", err, j.LastFault())
	}
	at, err := j.Append(record)
	if err != nil {
		t.Fatal(err)
	}
	j.Done(at)
}

// brokenFile fails to write.
type brokenFile struct {
	SegmentFile
	err error
}

func (f brokenFile) Write([]byte) (int, error) { return 0, f.err }

// A journal that finds a full disk or a used-up quota begins with that fault, so that mail is judged.
// Another error refuses the start.
func TestOpenWithoutRoom(t *testing.T) {
	for cause, opens := range map[error]bool{syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
		j, err := Open(t.TempDir(), [8]byte{1}, make(map[uint32]int64), 0, func(path string) (SegmentFile, error) {
			f, err := createFile(path)
			return brokenFile{f, cause}, err
		})
		if !opens {
			if !errors.Is(err, cause) {
				t.Errorf("%v: Open returned %v", cause, err)
			}
			continue
		}
		if err != nil || !errors.Is(j.LastFault(), cause) {
			t.Errorf("%v: Open returned %v, and the fault is missing", cause, err)
		}
	}
}
