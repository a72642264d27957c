// Package trap watches a spam trap: a Maildir that receives only spam. It owns finding new
// mail, reading it within limits, and marking it as processed. Its owner decides what is
// done with a message.
//
//	new/ (and at the start cur/ without S) -> read -> Take -> cur/NAME:2,S
//	                                          Take fails temporarily -> stays, retried
//
// A file in cur/ with the flag S, seen, has been taken or refused: a restart does not take
// it again, a mail program shows it, and a cron job may delete it. It keeps its name, unless
// that is too long for the flag or taken: no name of a file stops a trap. Nothing outside the
// Maildir is read or moved, wherever links point. Only one message, of all traps that share
// Options.Turn, and a limited number of names are in memory at a time.
package trap

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	pollEvery  = 5 * time.Second // between two looks
	retryAfter = 30 * time.Second
	batch      = 256 // names that are held at a time

	// slow is how long a look at a message may take: after that, its disk does not answer.
	slow = time.Minute
)

// ErrRefused is wrapped by Take where a message will never be taken: the next one
// may be.
var ErrRefused = errors.New("not taken")

// Options are what a trap needs.
type Options struct {
	Maildir string // absolute

	// Take processes a message and keeps at most that many bytes of it. Raw has up to twice as many, because a
	// header may be left out in part. If the message is longer than raw, isCut is true. Take returns nil if it
	// took the message. An error that wraps ErrRefused concerns this message. Other errors concern the system,
	// such as a full disk: the message stays and is retried.
	Take func(ctx context.Context, raw []byte, most int64, isCut bool) error

	Turn       *sync.Mutex  // held while a message is in memory; nil: one of this trap's own
	MaxMessage func() int64 // for Take, asked for each message. Unit: bytes
	Log        *slog.Logger // nil: discard
}

// Status counts the mail in a trap since the start.
type Status struct {
	Taken   int64  `json:"taken"`
	Refused int64  `json:"refused"`         // moved without being taken; see the log
	Waiting int64  `json:"waiting"`         // in new/, at the last check
	Fault   string `json:"error,omitempty"` // why mail waits
}

// Trap is one watched Maildir. Only one goroutine may call Run; Status may be called at the same time.
type Trap struct {
	Options
	sorted bool   // cur/ was checked
	busy   bool   // a message of cur/ was left for the next look
	stuck  string // path of a processed file that could not be moved

	mu     sync.Mutex
	status Status
	doing  string    // what the trap waits for; empty while it looks for nothing
	since  time.Time // of doing
}

// New returns a trap. Run starts watching.
func New(o Options) *Trap {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Turn == nil {
		o.Turn = new(sync.Mutex)
	}
	return &Trap{Options: o}
}

// Status returns the status of the trap. Its fault may also be that a disk does not answer.
func (t *Trap) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.status
	if took := time.Since(t.since); t.doing != "" && took >= slow {
		s.Fault = fmt.Sprintf("%s for %v", t.doing, took.Truncate(time.Second))
	}
	return s
}

// await notes what the trap waits for from now on; empty: nothing.
func (t *Trap) await(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.doing, t.since = what, time.Now()
}

// Faults of a trap that waits too long. Status adds the time.
const (
	ownDisk   = "the Maildir's disk has not answered"
	otherDisk = "another trap, whose disk may not answer, has read a message"
)

func (t *Trap) update(change func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.status)
}

// Run watches until ctx ends. It waits for a Maildir that is missing or unreadable.
func (t *Trap) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timer.Reset(t.look(ctx))
	}
}

// look processes new mail, and returns when to check again. Each fault is logged once,
// until it changes or ends.
func (t *Trap) look(ctx context.Context) time.Duration {
	t.await(ownDisk)
	err := t.sweep(ctx)
	t.await("")
	if ctx.Err() != nil {
		return 0
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	before := ""
	t.update(func(s *Status) { before, s.Fault = s.Fault, text })
	switch {
	case err == nil && before != "":
		t.Log.Info("spam trap recovered", "maildir", t.Maildir)
	case text != before:
		t.Log.Warn("spam trap suspended", "maildir", t.Maildir, "error", err)
	}
	if err != nil {
		return retryAfter
	}
	return pollEvery
}

// sweep processes all mail. It stops at an error, because the rest would meet it too.
func (t *Trap) sweep(ctx context.Context) error {
	root, err := os.OpenRoot(t.Maildir + "/.") // so that a pipe in its place is not waited for
	if err != nil {
		t.sorted = false // another Maildir may appear
		return err
	}
	defer root.Close()
	// If one were a link to the other, each look would take all mail again.
	for _, folder := range []string{"new", "cur"} {
		if info, err := root.Lstat(folder); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link", filepath.Join(t.Maildir, folder))
		}
	}
	if err := t.unstick(root); err != nil {
		return err
	}
	if !t.sorted {
		t.busy = false
		if err := t.sweepFolder(ctx, root, "cur", func(name string) bool { return !hasSeenFlag(name) }); err != nil {
			return err
		}
		t.sorted = !t.busy
	}
	all := func(string) bool { return true }
	if err := t.count(root); err != nil {
		return err
	}
	if err := t.sweepFolder(ctx, root, "new", all); err != nil {
		return errors.Join(err, t.count(root))
	}
	return t.count(root)
}

// count records how much mail waits.
func (t *Trap) count(root *os.Root) error {
	n := int64(0)
	err := names(root, "new", func(fs.DirEntry) error { n++; return nil })
	t.update(func(s *Status) { s.Waiting = n })
	return err
}

// sweepFolder processes the wanted mail of new or cur.
func (t *Trap) sweepFolder(ctx context.Context, root *os.Root, folder string, wanted func(name string) bool) error {
	return names(root, folder, func(entry fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !wanted(entry.Name()) {
			return nil
		}
		return t.message(ctx, root, folder+"/"+entry.Name())
	})
}

// names visits the messages of a folder, some names at a time. It may skip a message that
// is moved meanwhile.
func names(root *os.Root, folder string, visit func(fs.DirEntry) error) error {
	dir, err := root.OpenFile(folder, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0) // not a pipe
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		entries, err := dir.ReadDir(batch)
		for _, entry := range entries {
			if entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
				continue
			}
			if err := visit(entry); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// message processes one message and marks it. An error of the message itself affects only
// this one.
func (t *Trap) message(ctx context.Context, root *os.Root, path string) error {
	err := t.take(ctx, root, path)
	switch {
	case err == nil:
		t.update(func(s *Status) { s.Taken++ })
	case errors.Is(err, errGone):
		return nil
	case errors.Is(err, errBusy):
		t.busy = true
		return nil
	case errors.Is(err, ErrRefused):
		t.update(func(s *Status) { s.Refused++ })
		t.Log.Info("trapped message not taken", "path", filepath.Join(t.Maildir, path), "error", err)
	default:
		return err
	}
	t.stuck = path
	return t.unstick(root)
}

// errGone means that another process was faster.
var errGone = errors.New("the message is gone")

// errBusy means that another process has a lease on the message, as a client of an NFS server may on
// what it delivers. The kernel has asked for it back, and ends it after 45 s: the next look finds it
// free. It is no fault of the trap: whoever may write there can have leases on many files.
var errBusy = errors.New("another process has a lease on the message")

// take reads a message and has it processed, while no other trap does.
func (t *Trap) take(ctx context.Context, root *os.Root, path string) error {
	t.await(otherDisk)
	t.Turn.Lock()
	defer t.Turn.Unlock()
	t.await(ownDisk)
	most := t.MaxMessage()
	raw, isCut, err := read(root, path, 2*most)
	switch {
	case ctx.Err() != nil: // the disk may have hung: nobody waits for a report any more
		return ctx.Err()
	case err == nil:
		return t.Take(ctx, raw, most, isCut)
	case errors.Is(err, fs.ErrNotExist):
		return errGone
	case errors.Is(err, syscall.EAGAIN): // the open does not wait
		return errBusy
	case isTransient(err):
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// isTransient reports whether reading a file failed because of the machine, not the file.
func isTransient(err error) bool {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return false
	}
	switch number {
	case syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO,
		syscall.ESTALE, syscall.ETIMEDOUT, syscall.ENOTCONN, syscall.EHOSTDOWN, syscall.EREMOTEIO: // NFS, FUSE
		return true
	}
	return false
}

// unstick marks the last processed file if that failed before. Nothing else is processed
// until then, or each check would take the file again.
func (t *Trap) unstick(root *os.Root) error {
	if t.stuck == "" {
		return nil
	}
	err := move(root, t.stuck)
	if err == nil || errors.Is(err, fs.ErrNotExist) && isMissing(root, t.stuck) {
		t.stuck = ""
		return nil
	}
	return err
}

// move moves a processed file to cur, with the flag S. It replaces nothing there. A name that
// leaves no room for the flag, or whose place is taken, becomes another one: any name can be
// chosen by a program that writes into the Maildir, and must not stop the trap.
func move(root *os.Root, path string) error {
	name := withSeen(filepath.Base(path))
	if path == "cur/"+name {
		return nil
	}
	if !isMissing(root, "cur/"+name) {
		// Nobody can guess these 26 letters and take that place, too.
		name = fmt.Sprintf("%d.%s%sS", time.Now().Unix(), rand.Text(), infoMark)
	}
	return root.Rename(path, "cur/"+name)
}

// isMissing reports whether a path does not exist, as opposed to other errors.
func isMissing(root *os.Root, path string) bool {
	_, err := root.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// read reads the first bytes of a message if it is a regular file. isCut reports that the file is longer.
func read(root *os.Root, path string, most int64) (raw []byte, isCut bool, err error) {
	f, size, err := openRegular(root, path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	var b bytes.Buffer
	b.Grow(int(min(size, most+1)) + bytes.MinRead) // a buffer that grows takes twice as much
	_, err = b.ReadFrom(io.LimitReader(f, most+1))
	n := min(int64(b.Len()), most)
	return b.Bytes()[:n], n < int64(b.Len()), err
}

// openRegular opens a regular file and returns its size in bytes.
func openRegular(root *os.Root, path string) (f *os.File, size int64, err error) {
	errOther := fmt.Errorf("%s is not a file", path)
	info, err := root.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errOther
	}
	if err != nil {
		return nil, 0, err
	}
	// The type may have changed: opening a pipe must not block.
	if f, err = root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err == nil && !info.Mode().IsRegular() {
		err = errOther
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// infoMark precedes the flags in a file name of cur (https://cr.yp.to/proto/maildir.html).
const infoMark = ":2,"

// hasSeenFlag reports whether a name has the flag S.
func hasSeenFlag(name string) bool {
	_, flags, ok := strings.Cut(name, infoMark)
	return ok && strings.Contains(flags, "S")
}

// withSeen returns a name with the flag S, in ASCII order among the others.
func withSeen(name string) string {
	base, flags, ok := strings.Cut(name, infoMark)
	if !ok {
		return name + infoMark + "S"
	}
	if hasSeenFlag(name) {
		return name
	}
	at := strings.IndexFunc(flags, func(r rune) bool { return r > 'S' })
	if at < 0 {
		at = len(flags)
	}
	return base + infoMark + flags[:at] + "S" + flags[at:]
}
