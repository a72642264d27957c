package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
)

// condition is a difference between machines that must not affect tests.
type condition struct {
	name string
	exec string   // command that runs the test programs, for -exec
	args []string // of go test
	// begin changes the machine for one round, whose TMPDIR is dir, and returns a function
	// that undoes the change. Nil: nothing to change.
	begin func(ctx context.Context, dir string) (end func() error, err error)
}

// conditions are used in turn.
var conditions = []condition{
	{name: "quiet"},
	{name: "load on all cores", begin: burn},
	{name: "one core", exec: "taskset -c 0"},
	{name: "GOMAXPROCS=1", exec: "env GOMAXPROCS=1"},
	{name: "GOMAXPROCS=4", exec: "env GOMAXPROCS=4"},
	{name: "shuffled", args: []string{"-shuffle=on"}},
	{name: "slow disk", begin: mountSlow},
	{name: "umask 077", exec: `sh -c 'umask 077 && exec "$0" "$@"'`},
	{name: "TMPDIR on tmpfs", begin: mountTmpfs},
	{name: "race detector", args: []string{"-race"}},
}

// conditionsNamed returns the conditions with these names, or all of them for no names.
func conditionsNamed(names []string) (used []condition, err error) {
	for _, name := range names {
		i := slices.IndexFunc(conditions, func(c condition) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no condition is named %q", name)
		}
		used = append(used, conditions[i])
	}
	if len(used) == 0 {
		return conditions, nil
	}
	return used, nil
}

// burn keeps all cores busy, like a second test run at the same time.
func burn(context.Context, string) (func() error, error) {
	done := make(chan struct{})
	var burning sync.WaitGroup
	for range runtime.NumCPU() {
		burning.Go(func() {
			for n := uint64(1); ; n = n*6364136223846793005 + 1442695040888963407 {
				if n%(1<<20) == 0 { // about every millisecond
					select {
					case <-done:
						return
					default:
					}
				}
			}
		})
	}
	return func() error { close(done); burning.Wait(); return nil }, nil
}

// The slow disk is a file system in a file, limited to the writes per second of a busy
// disk, of which a sync takes several. With 300 a second a round took an hour. If the limit
// cannot be set (cgroups of version 2 have none for all processes), each write is
// synchronous instead.
const (
	slowDisk   = 4 << 30 // bytes
	slowWrites = 2000    // a second
	throttle   = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device"
)

func mountSlow(ctx context.Context, dir string) (func() error, error) {
	image := filepath.Clean(dir) + ".image"
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		return nil, err
	}
	undo := func() error { return os.Remove(image) }
	if err := os.Truncate(image, slowDisk); err != nil {
		return nil, errors.Join(err, undo())
	}
	if err := command(ctx, "mkfs.ext4", "-q", "-F", image); err != nil {
		return nil, errors.Join(err, undo())
	}
	unmount, err := mounted(ctx, dir, "-o", "loop", image)
	if err != nil {
		return nil, errors.Join(err, undo())
	}
	fast, err := slow(dir)
	if err != nil {
		fast = func() error { return nil }
		err = command(ctx, "mount", "-o", "remount,sync", dir)
	}
	end := func() error { return errors.Join(fast(), unmount(), undo()) }
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return end, nil
}

// slow limits the writes of the device mounted on dir. The limit outlives the file system,
// on a device that others will reuse.
func slow(dir string) (undo func() error, err error) {
	var stat unix.Stat_t
	if err := unix.Stat(dir, &stat); err != nil {
		return nil, err
	}
	limit := func(writes int) error {
		line := fmt.Sprintf("%d:%d %d", unix.Major(stat.Dev), unix.Minor(stat.Dev), writes)
		return os.WriteFile(throttle, []byte(line), 0)
	}
	return func() error { return limit(0) }, limit(slowWrites)
}

func mountTmpfs(ctx context.Context, dir string) (func() error, error) {
	return mounted(ctx, dir, "-t", "tmpfs", "none")
}

// mounted mounts on dir, with the permissions of a folder for temporary files.
func mounted(ctx context.Context, dir string, args ...string) (func() error, error) {
	if err := command(ctx, "mount", append(args, dir)...); err != nil {
		return nil, err
	}
	unmount := func() error { return command(context.WithoutCancel(ctx), "umount", "--lazy", dir) }
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		return nil, errors.Join(err, unmount())
	}
	return unmount, nil
}

func command(ctx context.Context, name string, args ...string) error {
	if out, err := exec.CommandContext(ctx, name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
