package clock

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"github.com/spambloom/spambloom/bloomdb/folder"
)

// A wall clock may jump: because of a dead battery, a wrong time server, or an administrator.
// Data that expires by one wrong reading is lost. The database therefore keeps its own time,
// which follows the wall clock as long as that agrees with the monotonic clock:
//
//	in order   the wall clock is within MaxSkew of the last time plus the elapsed time
//	doubted    it is not: time advances by the monotonic clock alone
//	believed   the difference lasted ConfirmAfter, or the records of other sites confirm it
//
// While the clock is doubted, reports go to the generation they would go to without the jump,
// nothing expires, and records carry the right time. A restart does not end the doubt: the
// last time is on disk (File). At a start, a wall clock that is behind it, or ahead of it by
// more than StartGap, is doubted. A shutdown longer than StartGap looks the same; expired data
// then stays for another day.
//
// A start cannot distinguish a stop of some hours from a clock that is some hours ahead. The
// time it adds is a guess until the daemon has run for ConfirmAfter, or another site's record
// confirms it. A wall clock that goes back within the guess is believed at once. For
// SettleAfter a start, a wall clock that goes ahead within StartGap is believed too, because
// time servers correct a clock some minutes after the start. The guess is on disk, so that a
// later start does not take it as certain.
//
// A folder without reports and without a last time has nothing to lose. In its first
// ConfirmAfter, until there is a report, its time follows the wall clock in both directions; back, until
// there is a report of this site.
const (
	// ConfirmAfter is how long a jump must last before it is believed.
	ConfirmAfter = 24 * time.Hour
	// StartGap is how long a daemon may be stopped without raising a doubt.
	StartGap = 72 * time.Hour
	// SettleAfter is how long after a start a time server may correct the clock.
	SettleAfter = time.Hour
	// anchorEvery limits how fast many small jumps add up: by MaxSkew in this time.
	anchorEvery = time.Hour
	// StampEvery is how often the time is written to disk.
	StampEvery = time.Minute
)

// Keeper keeps the database's time. It is safe for concurrent use.
type Keeper struct {
	wall    func() time.Time
	elapsed func() time.Duration // monotonic; nil: the wall clock is always believed
	log     *slog.Logger
	dir     string        // state folder
	life    time.Duration // the least time after which a report expires; 0: never

	mu     sync.Mutex // guards all below
	anchor time.Time  // the time when elapsed was at
	at     time.Duration
	begun  time.Duration // when the keeper started, by the monotonic clock
	credit time.Duration // how far ahead a jump is believed, since the length of the stop is unknown
	guess  guess
	doubt  doubt
	stamp  time.Time // the time on disk
	words  words     // the times of other sites

	fresh bool                // no last time was on disk, and there has been no report of this site
	holds func(own bool) bool // see Watch; nil: assume there are
}

// guess is the part of the time that a start added without proof. The zero value is no guess.
type guess struct {
	by    time.Duration // at most StartGap
	since time.Duration // by the monotonic clock
}

// doubt is a jump that is not believed yet. The zero value is no doubt.
type doubt struct {
	off   time.Duration // how far the wall clock is ahead; below 0: behind
	least time.Duration // the smallest off since the doubt began
	since time.Duration // by the monotonic clock
	from  time.Time     // by the database's time
}

// New returns a keeper that begins with the wall clock's time.
func New(now func() time.Time, elapsed func() time.Duration, log *slog.Logger) *Keeper {
	k := &Keeper{wall: now, elapsed: elapsed, log: log}
	if k.anchor = k.wall().Round(0); k.elapsed != nil {
		k.at = k.elapsed()
	}
	return k
}

// Now returns the database's time.
func (k *Keeper) Now() time.Time {
	if k.elapsed == nil {
		return k.wall()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.look()
}

// look reads both clocks. The caller holds mu.
func (k *Keeper) look() time.Time {
	wall, at := k.wall(), k.elapsed()
	expected := k.anchor.Add(at - k.at)
	off := wall.Sub(expected)
	k.confirm(at)
	switch {
	case off.Abs() <= MaxSkew:
		k.settle(wall, at)
		return wall
	case off > 0 && off <= k.credit, off < 0 && k.guess.by > 0 && -off <= k.guess.by+MaxSkew:
		k.revise(off, wall, at)
		return wall
	case k.isFresh(off, at):
		k.log.Warn("the clock has jumped; accepted, as there are no reports yet", "by", off)
		k.believe(wall, at)
		return wall
	}
	k.suspect(off, at, expected)
	if at-k.doubt.since < ConfirmAfter {
		return expected
	}
	k.log.Warn("the clock jump has lasted and is accepted now", "by", k.doubt.least)
	k.reportExpired(k.doubt.least)
	believed := expected.Add(k.doubt.least)
	k.believe(believed, at)
	return believed
}

// settle ends a doubt, since the wall clock is in order.
func (k *Keeper) settle(wall time.Time, at time.Duration) {
	if k.doubt.off != 0 {
		k.log.Warn("the clock is right again; nothing expired", "was_off_by", k.doubt.off)
		k.doubt = doubt{}
	}
	if at-k.at >= anchorEvery {
		k.anchor, k.at = wall.Round(0), at
	}
}

// confirm ends the credit and the guess of a start when their time is over.
func (k *Keeper) confirm(at time.Duration) {
	if at-k.begun >= SettleAfter && k.doubt.off == 0 {
		k.credit = 0
	}
	if at-k.guess.since >= ConfirmAfter {
		k.guess = guess{}
	}
}

// revise sets the time to a wall clock that is ahead within the credit, or back within the
// guess. After a step ahead, the whole guess waits anew. It never exceeds StartGap.
func (k *Keeper) revise(off time.Duration, wall time.Time, at time.Duration) {
	g, credit := k.guess, k.credit
	if g.by = min(max(g.by+off, 0), StartGap); off > 0 {
		g.since = at
	} else {
		k.log.Warn("the clock was set back; accepted, as the time is possible since the last start", "by", off)
	}
	if credit > 0 {
		credit = min(credit-off, StartGap)
	}
	k.believe(wall, at)
	k.guess, k.credit = g, credit
}

// Watch sets the function that reports whether there are reports, of this site only or of any. It is called
// with mu held, and must not ask for the time.
func (k *Keeper) Watch(holds func(own bool) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds = holds
}

// isFresh reports whether a jump could cost nothing yet. One back expires nothing, so that another site's
// reports do not keep a wrong time.
func (k *Keeper) isFresh(off, at time.Duration) bool {
	k.fresh = k.fresh && at-k.begun < ConfirmAfter && k.holds != nil && !k.holds(true)
	return k.fresh && (off < 0 || !k.holds(false))
}

// believe sets the time and takes it as certain.
func (k *Keeper) believe(now time.Time, at time.Duration) {
	k.anchor, k.at, k.credit, k.guess, k.doubt = now.Round(0), at, 0, guess{}, doubt{}
}

// suspect begins or continues a doubt. A doubt begins anew when the clock is off in the other
// direction.
func (k *Keeper) suspect(off, at time.Duration, now time.Time) {
	if k.doubt.off == 0 || (k.doubt.off > 0) != (off > 0) {
		k.doubt = doubt{off: off, least: off, since: at, from: now}
		k.log.Error("the clock has jumped; not trusted, nothing expires by it (check the time server)",
			"by", off, "time", now.UTC().Format(time.RFC3339), "believed_after", ConfirmAfter)
		if k.outlives(off) {
			k.log.Error("reports made before the clock is accepted expire then; if the clock is right, stop the daemon, remove the file and start it again",
				"file", filepath.Join(k.dir, File), "reports_last", k.life)
		}
	}
	k.doubt.off = off
	if off.Abs() < k.doubt.least.Abs() {
		k.doubt.least = off
	}
}

// outlives reports whether a jump is longer than a report may last: reports made while it is
// doubted then expire when it is believed.
func (k *Keeper) outlives(off time.Duration) bool { return k.life > 0 && off > k.life }

// reportExpired logs which reports a jump that is believed now has expired.
func (k *Keeper) reportExpired(by time.Duration) {
	if k.outlives(by) {
		k.log.Error("reports made while the clock was not trusted may have expired",
			"since", k.doubt.from.UTC().Format(time.RFC3339), "reports_last", k.life)
	}
}

// Witness takes the authenticated time of another site's record as evidence: it confirms a guess,
// and a clock that is ahead if more sites confirm that than contradict it. A record can be old, or
// from the future if its site's clock was ahead once, and anyone can repeat it. A later time that is
// near neither clock proves nothing, and does not replace what its site has said.
func (k *Keeper) Witness(site string, made time.Time) {
	if k == nil || k.elapsed == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now, at, wall := k.look(), k.elapsed(), k.wall()
	if made.Sub(now).Abs() <= MaxSkew {
		k.guess = guess{}
	}
	if made.Sub(now) > MaxSkew && made.Sub(wall).Abs() > MaxSkew {
		return
	}
	k.words.add(site, word{made, at})
	if k.doubt.off <= 0 || at-k.begun < hearAll || !k.words.confirm(wall, now, at) {
		return
	}
	k.log.Warn("the clock is confirmed by other sites; jump accepted", "by", k.doubt.off)
	k.reportExpired(k.doubt.off)
	k.believe(wall, at)
}

// Passed takes a time that this site has had: its folder, with the last time, may be an older copy. The wall clock
// is compared with that time then, as at a start. A time after the wall clock's proves nothing: that clock may
// have been ahead once.
func (k *Keeper) Passed(t time.Time) {
	if k.elapsed == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.look(); t.Sub(now) > MaxSkew && t.Sub(k.wall()) <= MaxSkew {
		k.believe(t, k.elapsed())
		k.credit = StartGap
		k.look()
	}
}

// Status describes a jump of the clock that is not believed.
type Status struct {
	Time     time.Time `json:"time"`          // the database's time
	Ahead    float64   `json:"ahead_seconds"` // how far the wall clock is ahead; below 0: behind
	Since    time.Time `json:"since"`         // by Time
	Believed time.Time `json:"believed"`      // by Time: when the jump will be believed, if it lasts
	Expires  bool      `json:"expires"`       // reports made until then expire then
}

// Status returns nil while the clock is in order.
func (k *Keeper) Status() *Status {
	if k == nil || k.elapsed == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.look()
	if k.doubt.off == 0 {
		return nil
	}
	return &Status{now.UTC(), k.doubt.off.Seconds(), k.doubt.from.UTC(), k.doubt.from.Add(ConfirmAfter).UTC(), k.outlives(k.doubt.off)}
}

// File is the name of the file with the last time, the duration of a jump, and the guess.
const File = "clock"

// Cost describes the loss of that file.
const Cost = "the time stamp that detects a clock jump across a restart"

// certainStamp is the content's size in bytes without a guess.
const certainStamp = 8 + 8 + 8

var Form = folder.SealedForm{FileForm: folder.FileForm{Name: "time stamp", Magic: "SBCLOCK\n", Version: 1}, Most: certainStamp + 8 + 8}

// stamped is the content of the file.
type stamped struct {
	time          time.Time
	lasted, least time.Duration // the doubt: how long it has lasted, and its smallest off
	guess, ran    time.Duration // the guess, and how long the daemon has run with it
}

// ReadStamp reads the file. For a new folder it returns an error that wraps os.ErrNotExist;
// damage is a *DamageError.
func ReadStamp(dir string) (s stamped, err error) {
	var body []byte
	err = Form.Load(filepath.Join(dir, File), func(data []byte) (err error) {
		body, err = Form.Open(data, [8]byte{})
		if err == nil && len(body) != certainStamp && len(body) != Form.Most {
			err = errors.New("file is cut short")
		}
		return err
	})
	if err != nil {
		return s, err
	}
	number := func(i int) int64 { return int64(binary.BigEndian.Uint64(body[8*i:])) }
	s = stamped{time: time.UnixMilli(number(0)).UTC(), lasted: time.Duration(number(1)), least: time.Duration(number(2))}
	if len(body) > certainStamp {
		s.guess, s.ran = time.Duration(number(3)), time.Duration(number(4))
	}
	return s, nil
}

// bytes returns the file.
func (s stamped) bytes() []byte {
	b := binary.BigEndian.AppendUint64(Form.Begin([8]byte{}), uint64(s.time.UnixMilli()))
	b = binary.BigEndian.AppendUint64(b, uint64(s.lasted))
	b = binary.BigEndian.AppendUint64(b, uint64(s.least))
	if s.guess > 0 {
		b = binary.BigEndian.AppendUint64(b, uint64(s.guess))
		b = binary.BigEndian.AppendUint64(b, uint64(s.ran))
	}
	return folder.Seal(b)
}

// Load reads the last time from the state folder. The wall clock is believed if there is no
// last time, or if the file is damaged. A damaged file is set aside. life is the least time
// after which a report expires.
func (k *Keeper) Load(dir string, life time.Duration) error {
	k.dir, k.life = dir, life
	if k.elapsed == nil {
		return nil
	}
	k.begun, k.fresh = k.elapsed(), true
	s, err := ReadStamp(dir)
	var damage *folder.DamageError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &damage):
		k.log.Error("a damaged file is set aside", "path", damage.Path+folder.DamagedSuffix, "cost", Cost, "error", err)
		return folder.SetAside(damage.Path)
	case err != nil:
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stamp, k.anchor, k.at, k.credit, k.fresh = s.time, s.time, k.begun, StartGap, false
	if s.guess > 0 && s.guess <= StartGap && s.ran >= 0 && s.ran < ConfirmAfter {
		k.guess = guess{s.guess, k.at - s.ran}
	}
	off := k.wall().Sub(k.stamp)
	if s.lasted > 0 && s.lasted <= ConfirmAfter && off.Abs() > MaxSkew && (off > 0) == (s.least > 0) {
		if s.least > 0 && s.least <= StartGap {
			k.credit = 0 // a credit would let a restart end the doubt
		}
		k.suspect(off, k.at-s.lasted, k.stamp.Add(-s.lasted))
		k.doubt.least = s.least
	}
	k.look()
	return nil
}

// Write writes the time to disk if it is due. closing makes it due.
func (k *Keeper) Write(closing bool) error {
	if k == nil || k.elapsed == nil {
		return nil
	}
	k.mu.Lock()
	s := stamped{time: k.look(), least: k.doubt.least}
	at := k.elapsed()
	if k.doubt.off != 0 {
		s.lasted = max(1, at-k.doubt.since)
	}
	if s.guess = k.guess.by; s.guess > 0 {
		s.ran = at - k.guess.since
	}
	k.isFresh(0, at)
	due := closing || s.time.Sub(k.stamp).Abs() >= StampEvery
	k.mu.Unlock()
	if !due {
		return nil
	}
	path := filepath.Join(k.dir, File)
	if err := renameio.WriteFile(path, s.bytes(), 0o600, renameio.WithTempDir(k.dir)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	k.mu.Lock()
	k.stamp = s.time
	k.mu.Unlock()
	return nil
}
