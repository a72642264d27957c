// Package history keeps counters by hour for a year, through restarts, in less than 5 MB.
//
//	Run: every 10 s read the counters -> add what they gained to the hour; every minute
//	     write the month's file, and at the end
//	Hours, Sum: what was counted between two times
//
// Counting costs mail nothing: Run reads the counters of the metrics. A crash loses at most
// the last minute. The package owns the folder with the files (FORMAT.md). A damaged file is
// set aside and costs its month. A file that cannot be read or written, or that a newer version
// made, stays where it is: Fault returns the error, and the counts stay in memory until it ends. Neither ever keeps the daemon
// from working.
//
// The package does not know what the counters mean; see package figures. A History is safe
// for concurrent use. Its only lock is mu.
package history

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

const (
	readEvery  = 10 * time.Second
	writeEvery = time.Minute
	keepMonths = 13 // the current one, and a year

	suffix = ".counts"
	aside  = ".damaged"
	nameOf = "2006-01"
)

// Options of a History.
type Options struct {
	Dir  string                             // created if it is missing
	Read func() (map[string]float64, error) // counters since the start of the process
	Now  func() time.Time                   // nil: time.Now
	Log  *slog.Logger                       // nil: discard
}

// History keeps counters by hour.
type History struct {
	opt Options

	mu      sync.Mutex
	last    map[string]float64   // the counters when they were last read
	months  map[time.Time]*month // not written yet, or being counted
	dirty   map[time.Time]bool   // of months: changed since it was written
	fault   error                // of the last write, or of reading the month to add to
	damaged []string             // names of files that are set aside
}

// Hour is what was counted within one hour. Counters that are zero are absent.
type Hour struct {
	Start  time.Time         `json:"start"`
	Counts map[string]uint64 `json:"counts"`
}

// Open returns the history in a folder. It never fails: files that are damaged are set
// aside, and a fault of the folder is that of Fault.
func Open(o Options) *History {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	h := &History{opt: o, last: map[string]float64{}, months: map[time.Time]*month{}, dirty: map[time.Time]bool{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		h.failed(err)
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		h.failed(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), suffix+aside) {
			h.damaged = append(h.damaged, e.Name())
		} else if begin, ok := beginOf(e.Name()); ok {
			if _, err := h.load(begin); err != nil {
				h.failed(err)
			}
		}
	}
	return h
}

// beginOf returns the month of a file's name.
func beginOf(name string) (time.Time, bool) {
	begin, err := time.Parse(nameOf+suffix, name)
	return begin, err == nil
}

func fileOf(begin time.Time) string { return begin.Format(nameOf) + suffix }

// Run reads the counters and writes files until ctx ends, and once more then.
func (h *History) Run(ctx context.Context) {
	read, write := time.NewTicker(readEvery), time.NewTicker(writeEvery)
	defer read.Stop()
	defer write.Stop()
	for {
		select {
		case <-read.C:
			h.Take()
		case <-write.C:
			h.write()
		case <-ctx.Done():
			h.Take()
			h.write()
			return
		}
	}
}

// Take adds to the current hour what the counters gained since they were last read.
func (h *History) Take() {
	values, err := h.opt.Read()
	if err != nil {
		h.opt.Log.Debug("counters of the history", "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	begin, hour := monthOf(h.opt.Now())
	for key, value := range values {
		gained := value - h.last[key]
		if gained < 1 || gained > maxValue || len(key) > maxKey {
			continue
		}
		if h.months[begin] == nil {
			m, err := h.load(begin)
			if err != nil {
				h.failed(err)
				return // the counters are read again
			}
			h.months[begin] = m
		}
		if h.months[begin].add(hour, key, uint64(gained)) {
			h.last[key] += float64(uint64(gained))
			h.dirty[begin] = true
		}
	}
}

// load returns a month from memory or from its file; empty if there is none. A damaged file is set
// aside. An error of the disk, of too many open files, or a file of a newer version is no damage. The
// caller holds mu.
func (h *History) load(begin time.Time) (*month, error) {
	if m := h.months[begin]; m != nil {
		return m, nil
	}
	path := filepath.Join(h.opt.Dir, fileOf(begin))
	data, err := readFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return newMonth(), nil
	}
	if err != nil {
		return nil, err
	}
	m, err := decode(data)
	if errors.Is(err, errNewer) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err != nil {
		h.setAside(path, err)
		return newMonth(), nil
	}
	return m, nil
}

// readFile reads a file of at most maxFile bytes, and one more of a longer one.
func readFile(path string) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe would wait for a writer
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, err // no content: it is set aside
	}
	return io.ReadAll(io.LimitReader(f, maxFile+1))
}

// setAside renames a damaged file. The caller holds mu.
func (h *History) setAside(path string, damage error) {
	name := filepath.Base(path) + aside
	if err := os.Rename(path, path+aside); err != nil {
		h.failed(err)
		return
	}
	h.opt.Log.Error("history: a damaged file is set aside; its month begins again", "file", path+aside, "error", damage)
	if !slices.Contains(h.damaged, name) {
		h.damaged = append(h.damaged, name)
	}
}

// write writes the months that have changed, and removes old files.
func (h *History) write() {
	h.mu.Lock()
	defer h.mu.Unlock()
	current, _ := monthOf(h.opt.Now())
	if _, err := h.load(current); err != nil {
		h.failed(err)
		return
	}
	for begin := range h.dirty {
		path := filepath.Join(h.opt.Dir, fileOf(begin))
		if err := renameio.WriteFile(path, h.months[begin].encode(), 0o600); err != nil {
			h.failed(err)
			return
		}
		delete(h.dirty, begin)
		if begin.Before(current) {
			delete(h.months, begin)
		}
	}
	if h.fault != nil {
		h.opt.Log.Info("history: written again")
		h.fault = nil
	}
	h.expire(current.AddDate(0, 1-keepMonths, 0))
}

// expire removes the files of months before a time. The caller holds mu.
func (h *History) expire(before time.Time) {
	entries, err := os.ReadDir(h.opt.Dir)
	if err != nil {
		h.failed(err)
	}
	for _, e := range entries {
		if begin, ok := beginOf(e.Name()); ok && begin.Before(before) {
			if err := os.Remove(filepath.Join(h.opt.Dir, e.Name())); err != nil {
				h.failed(err)
			}
		}
	}
}

// failed records a fault, and logs one that is new. The caller holds mu.
func (h *History) failed(err error) {
	if h.fault == nil || h.fault.Error() != err.Error() {
		h.opt.Log.Error("history: counts by hour are not written", "error", err)
	}
	h.fault = err
}

// Fault returns the error that keeps counts from being written; nil if there is none.
func (h *History) Fault() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.fault
}

// Damaged lists the files that were set aside, until they are removed.
func (h *History) Damaged() (list []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.damaged = slices.DeleteFunc(h.damaged, func(name string) bool {
		_, err := os.Lstat(filepath.Join(h.opt.Dir, name))
		return errors.Is(err, fs.ErrNotExist)
	})
	return slices.Clone(h.damaged)
}

// Hours returns the hours between two times, in their order: every hour that begins at from
// or later, and before to. An hour in which nothing was counted, or whose file cannot be read, has
// no counts. It returns at most a year, the latest one.
func (h *History) Hours(from, to time.Time) []Hour {
	from, to = from.UTC().Truncate(time.Hour), to.UTC()
	if most := to.Truncate(time.Hour).AddDate(-1, 0, 0); from.Before(most) {
		from = most
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	var list []Hour
	var held *month
	var of time.Time
	for t := from; t.Before(to); t = t.Add(time.Hour) {
		begin, hour := monthOf(t)
		if held == nil || begin != of {
			var err error
			if held, err = h.load(begin); err != nil {
				h.opt.Log.Warn("history: a month is not shown", "error", err)
				held = newMonth()
			}
			of = begin
		}
		list = append(list, Hour{Start: t, Counts: maps.Clone(held.hours[hour])})
	}
	return list
}

// Sum adds up hours.
func Sum(hours []Hour) map[string]uint64 {
	sum := make(map[string]uint64)
	for _, h := range hours {
		for key, n := range h.Counts {
			sum[key] += n
		}
	}
	return sum
}
