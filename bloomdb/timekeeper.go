package bloomdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2"
)

// A wall clock may jump: by a wrong battery, a wrong time server, a hand. Whatever expires
// by one look at it is gone. The database therefore goes by a time of its own, which
// follows the wall clock as long as that agrees with the monotonic clock:
//
//	in order   the wall clock is within maxSkew of the last time plus what has elapsed
//	doubted    it is not: time goes on by the monotonic clock alone
//	believed   it stayed beyond for confirmAfter, or another site's record confirms it
//
// While the clock is doubted, reports stand in the generation in which they would stand
// without the jump, nothing expires, and records have the right time. A restart is no
// way around it: the last time is on disk (clockFile), and a wall clock that is more than
// startGap beyond it at the start is doubted, as is one that is before it. A shutdown of
// more than startGap looks the same; then what is too old stays for another day.
const (
	// confirmAfter is how long a jump must last until it is believed.
	confirmAfter = 24 * time.Hour
	// startGap is how long a daemon may be stopped without a doubt.
	startGap = 72 * time.Hour
	// anchorEvery bounds how fast many small jumps add up: maxSkew in this time.
	anchorEvery = time.Hour
	// stampEvery is how often the time is written to disk.
	stampEvery = time.Minute
)

// timekeeper is the time that the database goes by. It is safe for concurrent use.
type timekeeper struct {
	wall    func() time.Time
	elapsed func() time.Duration // monotonic; nil: the wall clock is always believed
	log     *slog.Logger
	dir     string // state folder

	mu     sync.Mutex // guards all below
	anchor time.Time  // the time at anchored
	at     time.Duration
	credit time.Duration // a jump ahead that is believed, for a stop of unknown length
	doubt  doubt
	stamp  time.Time // that is on disk
}

// doubt is a jump that is not believed yet. The zero value is none.
type doubt struct {
	off   time.Duration // the wall clock is so far ahead; below 0: behind
	least time.Duration // the smallest distance since it began
	since time.Duration // by the monotonic clock
	from  time.Time     // by the database's time
}

// newTimekeeper begins with the wall clock's time.
func newTimekeeper(o *Options) *timekeeper {
	k := &timekeeper{wall: o.Now, elapsed: o.Elapsed, log: o.Log}
	if k.anchor = k.wall().Round(0); k.elapsed != nil {
		k.at = k.elapsed()
	}
	return k
}

// now is the time.
func (k *timekeeper) now() time.Time {
	if k.elapsed == nil {
		return k.wall()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.look()
}

// look reads both clocks. The caller holds mu.
func (k *timekeeper) look() time.Time {
	wall, at := k.wall(), k.elapsed()
	expected := k.anchor.Add(at - k.at)
	off := wall.Sub(expected)
	switch {
	case off.Abs() <= maxSkew:
		k.settle(wall, at)
		return wall
	case off > 0 && off <= k.credit:
		k.believe(wall, at)
		return wall
	}
	k.suspect(off, at, expected)
	if at-k.doubt.since < confirmAfter {
		return expected
	}
	k.log.Warn("the clock's jump has lasted, and is believed now", "by", k.doubt.least)
	believed := expected.Add(k.doubt.least)
	k.believe(believed, at)
	return believed
}

// settle takes note of a wall clock that is in order.
func (k *timekeeper) settle(wall time.Time, at time.Duration) {
	if k.doubt.off != 0 {
		k.log.Warn("the clock is right again; nothing has expired by its jump", "was_off_by", k.doubt.off)
		k.doubt = doubt{}
	}
	if k.credit = 0; at-k.at >= anchorEvery {
		k.anchor, k.at = wall.Round(0), at
	}
}

// believe sets the time.
func (k *timekeeper) believe(now time.Time, at time.Duration) {
	k.anchor, k.at, k.credit, k.doubt = now.Round(0), at, 0, doubt{}
}

// suspect begins a doubt, or goes on with it. The span begins anew when the clock is off
// in the other direction.
func (k *timekeeper) suspect(off, at time.Duration, now time.Time) {
	if k.doubt.off == 0 || (k.doubt.off > 0) != (off > 0) {
		k.doubt = doubt{off: off, least: off, since: at, from: now}
		k.log.Error("the clock has jumped: it is not believed, and nothing expires by it",
			"by", off, "time", now.UTC().Format(time.RFC3339), "believed_after", confirmAfter)
	}
	k.doubt.off = off
	if off.Abs() < k.doubt.least.Abs() {
		k.doubt.least = off
	}
}

// witness takes note of the time of another site's record, which is proven. A record can
// be old, but is not made in the future: it confirms a clock that is ahead.
func (k *timekeeper) witness(made time.Time) {
	if k == nil || k.elapsed == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look()
	wall := k.wall()
	if k.doubt.off > 0 && made.Sub(wall).Abs() <= maxSkew {
		k.log.Warn("another site's time agrees with the clock, which is believed now", "by", k.doubt.off)
		k.believe(wall, k.elapsed())
	}
}

// witness takes the time of a record as confirmation, if its site is fully trusted.
func (db *DB) witness(h Head) {
	if h.Site != db.opt.Site && db.TrustOf(h.Site) == TrustFull && !db.Muted(h.Site) {
		db.opt.keeper.witness(h.Made)
	}
}

// ClockStatus describes a jump of the clock that is not believed.
type ClockStatus struct {
	Time     time.Time `json:"time"`          // that the database goes by
	Ahead    float64   `json:"ahead_seconds"` // of the wall clock; below 0: it is behind
	Since    time.Time `json:"since"`         // by Time
	Believed time.Time `json:"believed"`      // by Time: when it will be, if it lasts
}

// status is nil while the clock is in order.
func (k *timekeeper) status() *ClockStatus {
	if k == nil || k.elapsed == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.look()
	if k.doubt.off == 0 {
		return nil
	}
	return &ClockStatus{now.UTC(), k.doubt.off.Seconds(), k.doubt.from.UTC(), k.doubt.from.Add(confirmAfter).UTC()}
}

// Clock is a jump of the clock that is not believed; nil while the clock is in order. It
// is cheap.
func (db *DB) Clock() *ClockStatus { return db.opt.keeper.status() }

// clockFile holds the last time on disk, and how long a jump has lasted.
const clockFile = "clock"

var clockForm = sealedForm{name: "time stamp", magic: "SBCLOCK\n", version: 1, most: 8 + 8 + 8}

// stamped is what the file holds.
type stamped struct {
	time          time.Time
	lasted, least time.Duration // of a doubt
}

// readStamp returns an error that wraps os.ErrNotExist for a new folder. Damage is a
// *DamageError.
func readStamp(dir string) (s stamped, err error) {
	path := filepath.Join(dir, clockFile)
	data, err := clockForm.read(path)
	if err != nil {
		return s, err
	}
	body, err := clockForm.open(data, [8]byte{})
	if err == nil && len(body) != clockForm.most {
		err = errors.New("file is cut short")
	}
	if err != nil {
		return s, damaged(path, 0, err)
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(body[8*i:])) }
	return stamped{time.UnixMilli(number(0)).UTC(), time.Duration(number(1)), time.Duration(number(2))}, nil
}

// load takes the last time from the state folder. Without one, and if the file is
// damaged, which sets it aside, the wall clock is believed.
func (k *timekeeper) load(dir string) error {
	k.dir = dir
	if k.elapsed == nil {
		return nil
	}
	s, err := readStamp(dir)
	var damage *DamageError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &damage):
		k.log.Error("a damaged file is set aside", "path", damage.Path+damagedSuffix, "cost", costOf(clockFile), "error", err)
		return os.Rename(damage.Path, damage.Path+damagedSuffix)
	case err != nil:
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stamp, k.anchor, k.at, k.credit = s.time, s.time, k.elapsed(), startGap
	off := k.wall().Sub(k.stamp)
	if s.lasted > 0 && s.lasted <= confirmAfter && off.Abs() > maxSkew && (off > 0) == (s.least > 0) {
		k.credit = 0
		k.suspect(off, k.at-s.lasted, k.stamp.Add(-s.lasted))
		k.doubt.least = s.least
	}
	k.look()
	return nil
}

// write brings the time to disk, where that is due.
func (k *timekeeper) write(closing bool) error {
	if k == nil || k.elapsed == nil {
		return nil
	}
	k.mu.Lock()
	now := k.look()
	lasted := time.Duration(0)
	if k.doubt.off != 0 {
		lasted = max(1, k.elapsed()-k.doubt.since)
	}
	due := closing || now.Sub(k.stamp).Abs() >= stampEvery
	least := k.doubt.least
	k.mu.Unlock()
	if !due {
		return nil
	}
	b := binary.BigEndian.AppendUint64(clockForm.begin([8]byte{}), uint64(now.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(lasted))
	b = binary.BigEndian.AppendUint64(b, uint64(least))
	path := filepath.Join(k.dir, clockFile)
	if err := renameio.WriteFile(path, seal(b), 0o600, renameio.WithTempDir(k.dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	k.mu.Lock()
	k.stamp = now
	k.mu.Unlock()
	return nil
}
