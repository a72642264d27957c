// Package trap watches a spam trap: a Maildir whose mail is all spam. It owns finding
// new mail, reading it within bounds, and marking it as taken; what is done with a
// message is its owner's word.
//
//	new/ (and at the start cur/ without S) -> read -> Take -> cur/NAME:2,S
//	                                          Take cannot now -> left there, tried again
//
// A file in cur/ with the flag S, seen, has been taken or refused: a restart does not
// take it again, a mail program shows it, and a cron job may delete it. Nothing
// outside of the Maildir is read or moved, whatever links point there. Only one
// message at a time is in memory, and only some names.
package trap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	pollEvery  = 5 * time.Second // between two looks
	retryAfter = 30 * time.Second
	batch      = 256 // names that are held at a time
)

// ErrRefused is wrapped by Take where a message will never be taken: the next one
// may be.
var ErrRefused = errors.New("not taken")

// Options are what a trap needs.
type Options struct {
	Maildir string // absolute

	// Take takes a message, of which there may be more than Raw. nil: it was taken.
	// An error that wraps ErrRefused is about this message. All others are about what
	// is behind Take, such as a full disk: the message stays, and is tried again.
	Take func(ctx context.Context, raw []byte, truncated bool) error

	MaxMessage int64        // bytes that are read of a message, until SetMaxMessage
	Log        *slog.Logger // nil: discard
}

// Status is what became of the mail in a trap since the start.
type Status struct {
	Taken   int64  `json:"taken"`
	Refused int64  `json:"refused"`         // moved without having been taken; the log says why
	Waiting int64  `json:"waiting"`         // in new/, at the last look
	Fault   string `json:"error,omitempty"` // why mail waits
}

// Trap is one watched Maildir. Run is for one goroutine; Status and SetMaxMessage are
// safe beside it.
type Trap struct {
	Options
	sorted     bool   // cur/ was looked through
	stuck      string // path of a file that was done with and could not be moved
	maxMessage atomic.Int64

	mu     sync.Mutex
	status Status
}

// New returns a trap that nothing watches yet.
func New(o Options) *Trap {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	t := &Trap{Options: o}
	t.SetMaxMessage(o.MaxMessage)
	return t
}

// SetMaxMessage bounds the messages that are read from now on, in bytes.
func (t *Trap) SetMaxMessage(bytes int64) { t.maxMessage.Store(bytes) }

// Status is how the trap stands.
func (t *Trap) Status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status
}

func (t *Trap) update(change func(*Status)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	change(&t.status)
}

// Run watches until ctx ends. A Maildir that is not there, or not to be read, is
// waited for.
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

// look takes what is there, and says when to look again. Each fault is logged once
// until it is another, or over.
func (t *Trap) look(ctx context.Context) time.Duration {
	err := t.sweep(ctx)
	if ctx.Err() != nil {
		return 0
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	before := t.Status().Fault
	t.update(func(s *Status) { s.Fault = text })
	switch {
	case err == nil && before != "":
		t.Log.Info("spam trap works again", "maildir", t.Maildir)
	case text != before:
		t.Log.Warn("spam trap waits", "maildir", t.Maildir, "error", err)
	}
	if err != nil {
		return retryAfter
	}
	return pollEvery
}

// sweep takes all mail that is there. An error ends it: what is left would meet it, too.
func (t *Trap) sweep(ctx context.Context) error {
	root, err := os.OpenRoot(t.Maildir)
	if err != nil {
		t.sorted = false // what comes back may be another one
		return err
	}
	defer root.Close()
	if err := t.unstick(root); err != nil {
		return err
	}
	if !t.sorted {
		if err := t.sweepFolder(ctx, root, "cur", func(name string) bool { return !seen(name) }); err != nil {
			return err
		}
		t.sorted = true
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

// count notes how much mail waits.
func (t *Trap) count(root *os.Root) error {
	n := int64(0)
	err := names(root, "new", func(fs.DirEntry) error { n++; return nil })
	t.update(func(s *Status) { s.Waiting = n })
	return err
}

// sweepFolder takes the mail of new or cur that is wanted.
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

// names visits the messages of a folder, some names at a time. A message that is moved
// meanwhile may or may not be visited.
func names(root *os.Root, folder string, visit func(fs.DirEntry) error) error {
	dir, err := root.Open(folder)
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

// message takes one message and marks it. Whatever is wrong with the message itself
// costs only this one.
func (t *Trap) message(ctx context.Context, root *os.Root, path string) error {
	raw, truncated, err := t.read(root, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // somebody was faster
	}
	if err == nil {
		err = t.Take(ctx, raw, truncated)
	} else if !transient(err) {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	switch {
	case err == nil:
		t.update(func(s *Status) { s.Taken++ })
	case errors.Is(err, ErrRefused):
		t.update(func(s *Status) { s.Refused++ })
		t.Log.Info("trapped message not taken", "path", filepath.Join(t.Maildir, path), "error", err)
	default:
		return err
	}
	t.stuck = path
	return t.unstick(root)
}

// transient says that a file was not read for a fault of the machine, not its own.
func transient(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EIO) ||
		errors.Is(err, syscall.ENOMEM) || errors.Is(err, syscall.ESTALE)
}

// unstick marks the file that was done with last, if that is still to do: nothing else
// is taken before, or each look would take it once more.
func (t *Trap) unstick(root *os.Root) error {
	if t.stuck == "" {
		return nil
	}
	name := filepath.Base(t.stuck)
	err := root.Rename(t.stuck, "cur/"+withSeen(name))
	if err == nil || errors.Is(err, fs.ErrNotExist) && gone(root, t.stuck) {
		t.stuck = ""
		return nil
	}
	return err
}

// gone says that a path is not there, which others do not say of it.
func gone(root *os.Root, path string) bool {
	_, err := root.Lstat(path)
	return errors.Is(err, fs.ErrNotExist)
}

// read reads the beginning of a message, if it is a file of its own.
func (t *Trap) read(root *os.Root, path string) (raw []byte, truncated bool, err error) {
	info, err := root.Lstat(path)
	if err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is no file", path)
	}
	// What it is may have changed: a pipe must not hold us.
	f, err := root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, false, err
	}
	if !info.Mode().IsRegular() {
		return nil, false, fmt.Errorf("%s is no file", path)
	}
	limit := t.maxMessage.Load()
	raw, err = io.ReadAll(io.LimitReader(f, limit+1))
	if int64(len(raw)) > limit {
		return raw[:limit], true, err
	}
	return raw, false, err
}

// infoMark begins the flags in a file name of cur (https://cr.yp.to/proto/maildir.html).
const infoMark = ":2,"

// seen says that a name has the flag S.
func seen(name string) bool {
	_, flags, ok := strings.Cut(name, infoMark)
	return ok && strings.Contains(flags, "S")
}

// withSeen is a name with the flag S, in ASCII order among the others.
func withSeen(name string) string {
	base, flags, ok := strings.Cut(name, infoMark)
	if !ok {
		return name + infoMark + "S"
	}
	if seen(name) {
		return name
	}
	at := strings.IndexFunc(flags, func(r rune) bool { return r > 'S' })
	if at < 0 {
		at = len(flags)
	}
	return base + infoMark + flags[:at] + "S" + flags[at:]
}
