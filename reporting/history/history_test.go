package history_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/history"
)

var noon = time.Date(2026, 11, 20, 12, 30, 0, 0, time.UTC)

// site is a process whose counters begin at zero.
type site struct {
	*history.History
	now      time.Time
	counters map[string]float64
}

func open(dir string, now time.Time) *site {
	s := &site{now: now, counters: map[string]float64{}}
	s.History = history.Open(history.Options{
		Dir:  dir,
		Read: func() (map[string]float64, error) { return maps.Clone(s.counters), nil },
		Now:  func() time.Time { return s.now },
	})
	return s
}

// count adds to a counter at a time.
func (s *site) count(at time.Time, key string, n float64) {
	s.now = at
	s.counters[key] += n
	s.Take()
}

// stop ends the process in order, which writes the files.
func (s *site) stop() {
	ended, end := context.WithCancel(context.Background())
	end()
	s.Run(ended)
}

func (s *site) want(t *testing.T, from, to time.Time, want map[string]uint64) {
	t.Helper()
	if got := history.Sum(s.Hours(from, to)); !maps.Equal(got, want) {
		t.Errorf("from %v to %v: %v, want %v", from, to, got, want)
	}
}

// A pipe or a folder in the place of a file is set aside. The start does not wait for a pipe.
func TestNoFile(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"pipe":   func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"folder": func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		testenv.Check(t, spoil(filepath.Join(dir, "2026-11.counts")))
		s := open(dir, noon)
		s.count(noon, "spam", 7)
		if got := s.Damaged(); !slices.Equal(got, []string{"2026-11.counts.damaged"}) || s.Fault() != nil {
			t.Errorf("%s: set aside %v, fault %v", name, got, s.Fault())
		}
		s.stop()
	}
}

// What is not a file of version 1 is set aside by name and costs its month only.
func TestDamagedFile(t *testing.T) {
	whole := func() []byte {
		dir := t.TempDir()
		s := open(dir, noon)
		s.count(noon, "spam", 7)
		s.stop()
		data, err := os.ReadFile(filepath.Join(dir, "2026-11.counts"))
		testenv.Check(t, err)
		return data
	}()
	signed := func(body string) []byte {
		b := []byte("spamhist\x01" + body)
		return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	}
	flipped := slices.Clone(whole)
	flipped[12] ^= 1
	for name, data := range map[string][]byte{
		"empty": {}, "text": []byte("once upon a time"), "cut": whole[:len(whole)-1], "a bit": flipped, "longer": append(slices.Clone(whole), 0),
		"newer":            append([]byte("spamhist\x02"), whole[9:]...),
		"no hours":         signed("\x00"),
		"hour too late":    signed("\x00\x01\xe9\x05\x00"),
		"hour twice":       signed("\x00\x02\x01\x00\x00\x00"),
		"no such counter":  signed("\x01\x04spam\x01\x01\x01\x01\x01"),
		"counter twice":    signed("\x01\x04spam\x01\x01\x02\x00\x01\x00\x01"),
		"name twice":       signed("\x02\x04spam\x04spam\x00"),
		"name without end": signed("\x01\x7fspam"),
		"name not UTF-8":   signed("\x01\x01\xff\x00"),
		"names too many":   signed("\x61"),
		"zero":             signed("\x01\x04spam\x01\x01\x01\x00\x00"),
		"value too large":  signed("\x01\x04spam\x01\x01\x01\x00\x81\x80\x80\x80\x80\x80\x80\x10"),
		"a rest":           signed("\x00\x00\x00"),
		"large":            make([]byte, 3<<20),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			october := open(dir, noon.AddDate(0, -1, 0))
			october.count(noon.AddDate(0, -1, 0), "spam", 3)
			october.stop()
			testenv.Check(t, os.WriteFile(filepath.Join(dir, "2026-11.counts"), data, 0o600))
			s := open(dir, noon)
			if got := s.Damaged(); !slices.Equal(got, []string{"2026-11.counts.damaged"}) {
				t.Fatalf("set aside: %q", got)
			}
			s.want(t, noon.AddDate(0, -2, 0), noon, map[string]uint64{"spam": 3})
			s.count(noon, "spam", 2)
			s.stop()
			if s = open(dir, noon); s.Fault() != nil || len(s.Damaged()) != 1 {
				t.Errorf("after the damage: %v, %q", s.Fault(), s.Damaged())
			}
			s.want(t, noon.AddDate(0, -2, 0), noon, map[string]uint64{"spam": 5})
			if err := os.Remove(filepath.Join(dir, "2026-11.counts.damaged")); err != nil || len(s.Damaged()) != 0 {
				t.Errorf("the removed file is still named: %q (%v)", s.Damaged(), err)
			}
		})
	}
}

// A folder that cannot be written is a fault, and counts go on in memory until it can be.
func TestFolderCannotBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "history")
	testenv.Check(t, os.WriteFile(dir, nil, 0o600))
	s := open(dir, noon)
	if s.Fault() == nil {
		t.Error("a file in place of the folder is no fault")
	}
	s.count(noon, "spam", 4)
	s.stop()
	if s.Fault() == nil {
		t.Error("no fault after writing into a file")
	}
	s.want(t, noon.Add(-time.Hour), noon, map[string]uint64{"spam": 4})
	testenv.Check(t, errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700)))
	s.count(noon, "spam", 1)
	s.stop()
	if s.Fault() != nil {
		t.Errorf("the fault is over, but %v", s.Fault())
	}
	open(dir, noon).want(t, noon.Add(-time.Hour), noon, map[string]uint64{"spam": 5})
}

// A process that starts again continues the counts, and the sums are those of the hours.
func TestCountsOutliveRestarts(t *testing.T) {
	dir := t.TempDir()
	s := open(dir, noon)
	s.count(noon, "clean", 10)
	s.count(noon.Add(time.Hour), "clean", 5)
	s.count(noon.Add(time.Hour), "spam", 1)
	s.stop()
	s = open(dir, noon.Add(time.Hour))
	s.count(noon.Add(time.Hour), "clean", 2)
	s.stop()
	s = open(dir, noon.Add(2*time.Hour))
	s.want(t, noon, noon.Add(2*time.Hour), map[string]uint64{"clean": 17, "spam": 1})
	s.want(t, noon.Add(time.Hour), noon.Add(2*time.Hour), map[string]uint64{"clean": 7, "spam": 1})
	hours := s.Hours(noon.Add(-2*time.Hour), noon.Add(2*time.Hour))
	if len(hours) != 5 || hours[0].Start != noon.Add(-2*time.Hour).Truncate(time.Hour) || len(hours[0].Counts) != 0 || hours[2].Counts["clean"] != 10 {
		t.Errorf("hours: %v", hours)
	}
}

// Months beyond a year are removed; others are kept.
func TestAYearIsKept(t *testing.T) {
	dir := t.TempDir()
	s := open(dir, noon)
	for back := range 30 {
		s.count(noon.AddDate(0, -back, 0), "spam", 1)
	}
	s.now = noon
	s.stop()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 13 {
		t.Errorf("%d files: %q (%v)", len(files), files, err)
	}
	open(dir, noon).want(t, noon.AddDate(-3, 0, 0), noon, map[string]uint64{"spam": 13}) // of a year, both ends included
}

// The largest history stays below 5 MB: 96 counters in every hour of 13 months, each of
// four bytes. Further counters are dropped.
func TestLargestHistory(t *testing.T) {
	dir := t.TempDir()
	s := open(dir, noon)
	for at := noon.AddDate(-1, 0, 0); !at.After(noon); at = at.Add(time.Hour) {
		s.now = at
		for i := range 100 {
			s.counters[fmt.Sprintf("spam_from:mx%d.example.org", i)] += 1<<27 + float64(i)
			s.counters[fmt.Sprint("own", i)] += 1<<27 + float64(i)
		}
		s.Take()
	}
	s.stop()
	files, err := filepath.Glob(filepath.Join(dir, "*.counts"))
	if err != nil || len(files) != 13 {
		t.Fatalf("%q (%v)", files, err)
	}
	total := int64(0)
	for _, file := range files {
		info, err := os.Stat(file)
		testenv.Check(t, err)
		total += info.Size()
	}
	t.Logf("%d bytes", total)
	if total >= 5_000_000 {
		t.Errorf("%d bytes, want less than 5 MB", total)
	}
	if got := len(open(dir, noon).Hours(noon, noon.Add(1))[0].Counts); got != 96 {
		t.Errorf("%d counters in an hour, want 96", got)
	}
}

// A holder of the federation key comes under a hundred names, each of which catches a mail before the
// first fault of the month. The fault is counted nevertheless.
func TestSitesLeaveRoomForOwnCounters(t *testing.T) {
	dir := t.TempDir()
	s := open(dir, noon)
	for i := range 100 {
		s.count(noon, fmt.Sprintf("spam_from:a%d", i), 1)
	}
	s.count(noon, "failed", 7)
	got := s.Hours(noon, noon.Add(1))[0].Counts
	if got["failed"] != 7 || len(got) != 1+64 {
		t.Errorf("%d counters, failed %d; want 64 sites and 7", len(got), got["failed"])
	}
	s.stop()
	again := open(dir, noon).Hours(noon, noon.Add(1))[0].Counts
	if !maps.Equal(again, got) {
		t.Errorf("after a restart %v", again)
	}
}

// A file that cannot be read now is not damaged: it stays, and what is counted meanwhile is added
// to it later. The test uses a symbolic link to itself, which no user can read.
func TestUnreadableFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "2026-11.counts")
	s := open(dir, noon)
	s.count(noon, "spam", 7)
	s.stop()
	testenv.Check(t, errors.Join(os.Rename(path, path+".kept"), os.Symlink(path, path)))
	s = open(dir, noon)
	s.count(noon, "spam", 2)
	s.stop()
	if s.Fault() == nil || len(s.Damaged()) > 0 {
		t.Errorf("fault %v, set aside %q", s.Fault(), s.Damaged())
	}
	s.want(t, noon, noon.Add(time.Hour), map[string]uint64{})
	testenv.Check(t, os.Rename(path+".kept", path))
	s.count(noon, "spam", 1)
	s.stop()
	if s.Fault() != nil {
		t.Error(s.Fault())
	}
	open(dir, noon).want(t, noon, noon.Add(time.Hour), map[string]uint64{"spam": 10})
}

// A file of a newer version stays as it is, named as newer, whatever follows its version. The counts
// of its month are kept in memory, and are added once the file is gone.
func TestNewerFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "2026-11.counts")
	newer := []byte("spamhist\x02" + "in a form of its own")
	newer = binary.LittleEndian.AppendUint32(newer, crc32.Checksum(newer, crc32.MakeTable(crc32.Castagnoli)))
	testenv.Check(t, os.WriteFile(path, newer, 0o600))
	s := open(dir, noon)
	s.count(noon, "spam", 2)
	s.stop()
	if s.Fault() == nil || !strings.Contains(s.Fault().Error(), path+": newer format (version 2; this program reads 1)") || len(s.Damaged()) > 0 {
		t.Errorf("fault %v, set aside %q", s.Fault(), s.Damaged())
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
		t.Errorf("the file was changed: %q (%v)", now, err)
	}
	testenv.Check(t, os.Remove(path))
	s.count(noon, "spam", 1)
	s.stop()
	if s.Fault() != nil {
		t.Error(s.Fault())
	}
	open(dir, noon).want(t, noon, noon.Add(time.Hour), map[string]uint64{"spam": 3})
}

// Run reads the counters and writes the file while it runs, so that a crash costs a minute.
func TestRunWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		counters := map[string]float64{"clean": 1}
		h := history.Open(history.Options{Dir: dir, Read: func() (map[string]float64, error) { return counters, nil }})
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { h.Run(ctx); close(ended) }()
		time.Sleep(61 * time.Second)
		synctest.Wait()
		crashed := history.Open(history.Options{Dir: dir, Read: func() (map[string]float64, error) { return nil, nil }})
		if got := history.Sum(crashed.Hours(time.Now().Add(-time.Hour), time.Now())); got["clean"] != 1 {
			t.Errorf("after a minute the file has %v", got)
		}
		end()
		<-ended
	})
}

// No content of a file makes Open fail, and what it accepts stays the same when it is
// written again.
func FuzzFile(f *testing.F) {
	dir := f.TempDir()
	s := open(dir, noon)
	s.count(noon, "spam", 7)
	s.count(noon.Add(time.Hour), "clean", 300)
	s.stop()
	path := filepath.Join(dir, "2026-11.counts")
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole[9 : len(whole)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "2026-11.counts")
		data := append([]byte("spamhist\x01"), body...)
		data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli)))
		testenv.Check(t, os.WriteFile(path, data, 0o600))
		november := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
		first := open(dir, noon)
		before := history.Sum(first.Hours(november, november.AddDate(0, 1, 0)))
		if len(first.Damaged()) > 0 && len(before) > 0 {
			t.Fatalf("a damaged file has counts: %v", before)
		}
		first.count(november, "x", 1) // so that the file is written again
		first.stop()
		after := history.Sum(open(dir, noon).Hours(november, november.AddDate(0, 1, 0)))
		after["x"]--
		if after["x"] == 0 {
			delete(after, "x")
		}
		if len(before) < 95 && !maps.Equal(before, after) && before["x"] < 1<<53 {
			t.Errorf("%v was written again as %v", before, after)
		}
	})
}
