package queue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
)

// ErrFull is wrapped by the error for an entry beyond the queue's limits.
var ErrFull = errors.New("the queue is full")

// Options bound a queue.
type Options struct {
	Entries int   // maximum number waiting; 0: 1,000
	Bytes   int64 // maximum size of the file; 0: 64 MiB
}

// A program that reports for other users has one queue for all of them. Entries for one
// reporter may take a quarter of it, and at least:
const (
	leastEntries = 16
	leastBytes   = 1 << 20
)

// Queue is the queue in a folder. It is safe for concurrent use, also by several processes.
type Queue struct {
	dir string
	Options

	mu    sync.Mutex // one goroutine at a time takes the lock of the file
	known known      // guarded by mu
}

// New returns the queue in the folder dir. The folder is created with the first entry,
// readable by this user only, and not touched before. Every method rejects a folder or file
// of another user, a symbolic link, and one that others can write.
func New(dir string, o Options) *Queue {
	if o.Entries == 0 {
		o.Entries = 1000
	}
	if o.Bytes == 0 {
		o.Bytes = 64 << 20
	}
	return &Queue{dir: dir, Options: o}
}

// Dir returns the folder.
func (q *Queue) Dir() string { return q.dir }

// maxFile returns the maximum size of a valid file: Add keeps to Bytes, and the records of
// settled entries follow.
func (q *Queue) maxFile() int64 { return q.Bytes + int64(2*q.Entries*headSize) + 1<<20 }

// Waiting describes the waiting entries of a queue.
type Waiting struct {
	Count  int       `json:"count"`
	Since  time.Time `json:"since,omitzero"` // time of the oldest
	Bytes  int64     `json:"bytes,omitempty"`
	Lost   int64     `json:"lost,omitempty"` // damaged bytes of the file, which were skipped
	Folder string    `json:"folder,omitempty"`
}

// Waiting describes the waiting entries. It takes no lock and changes nothing, so it sees
// only complete records of a write in progress.
func (q *Queue) Waiting() (Waiting, error) {
	w := Waiting{Folder: q.dir}
	c, err := q.peek()
	if err != nil {
		return w, err
	}
	w.Count, w.Bytes, w.Lost = len(c.waiting), c.live, c.lost
	if len(c.waiting) > 0 {
		if e, err := c.waiting[0].entry(); err == nil {
			w.Since = e.At
		}
	}
	return w, nil
}

// List returns the waiting entries, the oldest first, without unreadable ones. Like Waiting
// it takes no lock.
func (q *Queue) List() ([]Entry, error) {
	c, err := q.peek()
	var entries []Entry
	for _, r := range c.waiting {
		if e, err := r.entry(); err == nil {
			entries = append(entries, e)
		}
	}
	return entries, err
}

// peek reads the file as it is. If there is none, nothing waits.
func (q *Queue) peek() (contents, error) {
	err := q.checkFolder()
	if err != nil {
		return contents{}, ignoreMissing(err)
	}
	f, err := q.open(fileName, os.O_RDONLY)
	if err != nil {
		return contents{}, ignoreMissing(err)
	}
	defer f.Close()
	c, _, err := q.readAll(f)
	return c, err
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Add adds an entry. When it returns nil, the entry is on disk and Deliver will pass it to
// send. The queue assigns the entry's number. It returns ErrFull if there are too many
// entries, if they are too large, or if the entry's reporter, if set, has too many.
func (q *Queue) Add(e Entry) error {
	payload, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	if len(payload) > maxPayload {
		return fmt.Errorf("queue: an entry of %d bytes; at most %d", len(payload), maxPayload)
	}
	if err := q.makeFolder(); err != nil {
		return err
	}
	return q.change(func(f *file) error {
		// Numbers also increase after the file was emptied: a record that settles an entry
		// must never apply to a later one.
		r := record{kind: kindEntry, number: max(f.last+1, uint64(e.At.UnixMicro())), payload: payload}
		if err := cmp.Or(q.share(f, e, r.size()), q.room(f, r.size())); err != nil {
			return err
		}
		if err := f.append(r); err != nil {
			return err
		}
		return f.sync()
	})
}

// share rejects an entry that exceeds the share of its reporter.
func (q *Queue) share(f *file, e Entry, size int64) error {
	entries, bytes := max(q.Entries/4, leastEntries), max(q.Bytes/4, leastBytes)
	if e.Request.Reporter == "" || len(f.waiting) < entries && f.live+size <= bytes {
		return nil
	}
	n, by := 0, api.FoldReporter(e.Request.Reporter)
	for i := range f.waiting {
		if r := &f.waiting[i]; r.reporter() == by {
			n, size = n+1, size+r.size()
		}
	}
	if n >= entries || size > bytes {
		return fmt.Errorf("%w for %s: one reporter may have a quarter of it, and %d entries wait in %s", ErrFull, e.Request.Reporter, n, q.dir)
	}
	return nil
}

// room rejects an entry beyond the limits.
func (q *Queue) room(f *file, size int64) error {
	switch {
	case len(f.waiting) >= q.Entries:
		return fmt.Errorf("%w: %d entries wait in %s", ErrFull, len(f.waiting), q.dir)
	case f.live+size > q.Bytes:
		return fmt.Errorf("%w: %d bytes wait in %s", ErrFull, f.live, q.dir)
	case f.end+size <= q.Bytes:
		return nil
	}
	// There is room without the settled entries.
	return f.rewrite()
}

// change changes the file under its lock.
func (q *Queue) change(do func(*file) error) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	unlock, _, err := q.lock(lockName, true)
	if err != nil {
		return err
	}
	defer unlock()
	f, err := q.load()
	if err != nil {
		return err
	}
	defer f.close()
	return do(f)
}
