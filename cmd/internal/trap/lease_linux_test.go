package trap

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// A message on which another process has a lease waits in its folder, and others do not wait for it.
func TestLeasedMessage(t *testing.T) {
	for _, folder := range []string{"new", "cur"} {
		dir, k := maildir(t), &taker{}
		path := filepath.Join(dir, folder, "1")
		put(t, path, "leased")
		put(t, filepath.Join(dir, folder, "2"), "free")
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		testenv.Check(t, err)
		defer f.Close()
		if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
			t.Skipf("no leases here: %v", err)
		}
		trap := New(Options{Maildir: dir, Take: k.take, MaxMessage: func() int64 { return 1 << 20 }})
		testenv.Check(t, trap.sweep(context.Background()))
		if s := trap.Status(); !slices.Equal(k.got, []string{"free"}) || s.Refused != 0 {
			t.Errorf("%s: took %q, %+v", folder, k.got, s)
		}
		_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
		testenv.Check(t, err)
		testenv.Check(t, trap.sweep(context.Background()))
		if names := list(t, dir, "cur"); !slices.Equal(k.got, []string{"free", "leased"}) || !slices.Equal(names, []string{"1:2,S", "2:2,S"}) {
			t.Errorf("%s: took %q, cur has %q", folder, k.got, names)
		}
	}
}
