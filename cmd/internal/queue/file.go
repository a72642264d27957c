package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// The files of a queue's folder.
const (
	fileName     = "waiting"
	newName      = "waiting.new" // while the file is rewritten
	lockName     = "lock"        // held while the file is changed
	deliveryName = "delivery"    // held by the process that delivers
)

// patience is the timeout for the lock of the file: its holder writes some kilobytes and
// syncs them.
const patience = 5 * time.Second

// checkOwn rejects files of other users, and unexpected file types: in a folder writable by
// others, they could replace our file.
func checkOwn(path string, info fs.FileInfo, folder bool) error {
	own, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case folder && !info.IsDir():
		return fmt.Errorf("queue %s: not a folder, or a symbolic link", path)
	case !folder && !info.Mode().IsRegular():
		return fmt.Errorf("queue %s: not a regular file", path)
	case !ok || int(own.Uid) != os.Geteuid():
		return fmt.Errorf("queue %s: it belongs to another user", path)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("queue %s: others can write it (mode %04o)", path, info.Mode().Perm())
	}
	return nil
}

// checkFolder rejects a folder not owned by this user. It returns fs.ErrNotExist if there
// is none.
func (q *Queue) checkFolder() error {
	info, err := os.Lstat(q.dir)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return checkOwn(q.dir, info, true)
}

// makeFolder creates the folder if it is missing, so that it survives a crash.
func (q *Queue) makeFolder() error {
	err := q.checkFolder()
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(q.dir, 0o700); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	if err := syncNames(filepath.Dir(q.dir)); err != nil {
		return err
	}
	return q.checkFolder()
}

// syncNames writes the names in a folder to disk.
func syncNames(dir string) error {
	if err := folder.Sync(dir); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return nil
}

// open opens a file of the folder, without following a link and without waiting for the
// other end of a pipe.
func (q *Queue) open(name string, flags int) (*os.File, error) {
	path := filepath.Join(q.dir, name)
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("queue %s: it is a symbolic link", path)
	}
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		err = checkOwn(path, info, false)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// lock waits for one of the folder's locks. If wait is false, it tries only once. The
// folder must exist.
func (q *Queue) lock(name string, wait bool) (unlock func(), ok bool, err error) {
	path := filepath.Join(q.dir, name)
	l := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW), flock.SetPermissions(0o600))
	if wait {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		ok, err = l.TryLockContext(ctx, 2*time.Millisecond)
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("another process has held it for %v", patience)
		}
	} else {
		ok, err = l.TryLock()
	}
	if err != nil {
		return nil, false, fmt.Errorf("lock queue %s: %w", path, err)
	}
	return func() { _ = l.Close() }, ok, nil // an error here has no effect
}

// file is the queue's file, open and locked.
type file struct {
	*os.File
	contents
	q *Queue
}

// known is the content of the file when this process last used it. It is valid while nobody
// has changed the file.
type known struct {
	info fs.FileInfo // nil: unknown
	contents
}

func (k known) holds(info fs.FileInfo) bool {
	return k.info != nil && os.SameFile(k.info, info) && k.info.Size() == info.Size() && k.info.ModTime().Equal(info.ModTime())
}

// load opens the file, creates it if it is missing, and reads it if its content is unknown.
// It truncates a torn end. The caller holds the lock.
func (q *Queue) load() (*file, error) {
	f, err := q.open(fileName, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && q.known.holds(info) {
		return &file{f, q.known.contents, q}, nil
	}
	c, size, err := q.readAll(f)
	if err == nil && size > c.end {
		if err = f.Truncate(c.end); err != nil {
			err = fmt.Errorf("queue: %w", err)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{f, c, q}, nil
}

// readAll reads an open file of size bytes.
func (q *Queue) readAll(f *os.File) (c contents, size int64, err error) {
	most := q.maxFile()
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return c, 0, fmt.Errorf("read queue: %w", err)
	case int64(len(data)) > most:
		return c, 0, fmt.Errorf("queue %s: larger than %d bytes", f.Name(), most)
	}
	c, err = read(data)
	var other *VersionError
	if errors.As(err, &other) {
		other.Path = f.Name()
		return c, 0, other
	}
	if err != nil {
		return c, 0, fmt.Errorf("queue %s: %w", f.Name(), err)
	}
	return c, int64(len(data)), nil
}

// append writes records after the last one, preceded by the file's header if the file is
// empty. After an error it removes the partly written records.
func (f *file) append(records ...record) error {
	var data []byte
	if f.end == 0 {
		data = append(data, fileHead...)
	}
	for _, r := range records {
		data = r.appendTo(data)
	}
	if _, err := f.WriteAt(data, f.end); err != nil {
		_ = f.Truncate(f.end) // otherwise the next user truncates it
		return fmt.Errorf("write queue: %w", err)
	}
	f.end += int64(len(data))
	for _, r := range records {
		f.note(r)
	}
	return nil
}

// close ends the use of the file, and keeps its known content.
func (f *file) close() {
	f.q.known = known{}
	if info, err := f.Stat(); err == nil && info.Size() == f.end {
		f.q.known = known{info, f.contents}
	}
	f.Close()
}

// sync makes the appended records durable.
func (f *file) sync() error {
	if err := f.File.Sync(); err != nil {
		return fmt.Errorf("queue: sync %s: %w", f.Name(), err)
	}
	return syncNames(f.q.dir)
}

// shrink removes settled entries from the file if that makes it empty, or most of it is
// settled and it is large. After an error the file is unchanged.
func (f *file) shrink() error {
	dead := f.end - int64(len(fileHead)) - f.live
	switch {
	case len(f.waiting) == 0 && f.end > int64(len(fileHead)):
		if err := f.Truncate(int64(len(fileHead))); err != nil {
			return fmt.Errorf("queue: %w", err)
		}
		f.end, f.lost = int64(len(fileHead)), 0
	case dead > f.live && dead > 1<<20:
		return f.rewrite()
	}
	return nil
}

// rewrite replaces the file with one that contains only waiting entries.
func (f *file) rewrite() (err error) {
	fresh, err := f.q.open(newName, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	all := &file{File: fresh, q: f.q}
	defer func() {
		if err != nil {
			fresh.Close()
			_ = os.Remove(fresh.Name())
		}
	}()
	if err := all.append(f.waiting...); err != nil {
		return err
	}
	if err := fresh.Sync(); err != nil {
		return fmt.Errorf("queue: sync %s: %w", fresh.Name(), err)
	}
	path := f.Name()
	if err := os.Rename(fresh.Name(), path); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	f.File.Close()
	f.File, f.contents = fresh, all.contents
	return syncNames(f.q.dir)
}
