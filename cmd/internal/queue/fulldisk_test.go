package queue

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// On a full disk, only entries on disk are reported as waiting. They can be delivered,
// which frees space.
func TestFullDisk(t *testing.T) {
	disk := testenv.SmallDisk(t, "64k")
	q := New(filepath.Join(disk, "queue"), Options{})
	for round := range 3 {
		var want []string
		var err error
		for err == nil {
			text := fmt.Sprint(round, "-", len(want))
			if err = q.Add(entryOf(text, "")); err == nil {
				want = append(want, text)
			}
		}
		if !errors.Is(err, syscall.ENOSPC) || len(want) < 100 {
			t.Fatalf("after %d entries: %v", len(want), err)
		}
		if n := count(t, New(q.Dir(), Options{})); n != len(want) {
			t.Fatalf("%d reported as waiting, %d there", len(want), n)
		}
		if got := deliver(t, New(q.Dir(), Options{})); !slices.Equal(got, want) {
			t.Fatalf("delivered %d of %d", len(got), len(want))
		}
		if n := count(t, q); n != 0 {
			t.Fatalf("%d still wait", n)
		}
	}
}

// A used-up quota is a full disk, too: the entry that was accepted is settled later. Another error
// ends the delivery.
func TestSettledWithoutRoom(t *testing.T) {
	for cause, isOwed := range map[error]bool{nil: false, syscall.ENOSPC: true, syscall.EDQUOT: true, syscall.EIO: false} {
		var err error
		if cause != nil {
			err = fmt.Errorf("write queue: %w", &fs.PathError{Op: "write", Path: fileName, Err: cause})
		}
		var d delivery
		if got := d.settled(7, err); (got == nil) != (isOwed || err == nil) || slices.Equal(d.owed, []uint64{7}) != isOwed {
			t.Errorf("%v: returned %v, owed %d", cause, got, d.owed)
		}
	}
}
