package trap

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/cmd/testenv"
)

func TestMain(m *testing.M) {
	testenv.InMemory()
	goleak.VerifyTestMain(m)
}

// maildir creates a new Maildir.
func maildir(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "trap")
	makeMaildir(t, dir)
	return dir
}

func makeMaildir(t *testing.T, dir string) {
	t.Helper()
	for _, sub := range []string{"tmp", "new", "cur"} {
		testenv.Check(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
}

// list returns the entries of a folder of the Maildir.
func list(t *testing.T, dir, sub string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, sub))
	testenv.Check(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// taker takes everything by default.
type taker struct {
	mu   sync.Mutex
	got  []string
	fail func(raw string) error
	most atomic.Int64 // what is kept of a message
}

func (k *taker) failWith(fail func(raw string) error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fail = fail
}

func (k *taker) take(_ context.Context, raw []byte, most int64, isCut bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fail != nil {
		if err := k.fail(string(raw)); err != nil {
			return err
		}
	}
	text := string(raw)
	if isCut {
		text += "..."
	}
	k.got = append(k.got, text)
	return nil
}

// watched runs a trap in a bubble, whose clock advances only while the trap waits.
func watched(t *testing.T, dir string, k *taker, test func(trap *Trap, log *testenv.Log)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var log testenv.Log
		k.most.Store(100)
		trap := New(Options{Maildir: dir, Take: k.take, MaxMessage: k.most.Load, Log: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); trap.Run(ctx) }()
		synctest.Wait()
		test(trap, &log)
		cancel()
		<-done
	})
}

// New mail is taken at once, and only once, even by the next daemon.
func TestTaken(t *testing.T) {
	dir, k := maildir(t), new(taker)
	put(t, dir+"/new/1", "one")
	put(t, dir+"/new/.hidden", "no")
	put(t, dir+"/cur/2:2,FT", "two")   // moved by a mail program before the trap saw it
	put(t, dir+"/cur/3:2,RS", "three") // taken earlier
	put(t, dir+"/tmp/4", "on its way")
	watched(t, dir, k, func(trap *Trap, _ *testenv.Log) {
		put(t, dir+"/new/5", "five")
		put(t, dir+"/new/6", strings.Repeat("6", 201))
		time.Sleep(pollEvery)
		synctest.Wait()
		k.most.Store(3)
		put(t, dir+"/new/7", "seven!!")
		put(t, dir+"/new/8", "six")
		time.Sleep(pollEvery)
		synctest.Wait()
		if s := trap.Status(); s != (Status{Taken: 6}) {
			t.Errorf("%+v", s)
		}
	})
	watched(t, dir, k, func(trap *Trap, _ *testenv.Log) {
		time.Sleep(3 * pollEvery)
		synctest.Wait()
		if s := trap.Status(); s != (Status{}) {
			t.Errorf("the next daemon: %+v", s)
		}
	})
	slices.Sort(k.got)
	if want := []string{strings.Repeat("6", 200) + "...", "five", "one", "seven!...", "six", "two"}; !slices.Equal(k.got, want) {
		t.Errorf("took %q, want %q", k.got, want)
	}
	if got, want := list(t, dir, "cur"), []string{"1:2,S", "2:2,FST", "3:2,RS", "5:2,S", "6:2,S", "7:2,S", "8:2,S"}; !slices.Equal(got, want) {
		t.Errorf("cur has %q, want %q", got, want)
	}
	if got := list(t, dir, "new"); !slices.Equal(got, []string{".hidden"}) {
		t.Errorf("new has %q", got)
	}
}

// An error in one message affects only this one: it is moved, logged once, and the others
// are taken.
func TestRefused(t *testing.T) {
	dir := maildir(t)
	secret := filepath.Join(filepath.Dir(dir), "secret")
	put(t, secret, "of somebody else")
	for i, link := range []string{secret, "../../secret", "/etc/passwd", "nowhere", "7-good"} {
		testenv.Check(t, os.Symlink(link, fmt.Sprintf("%s/new/1-link%d", dir, i)))
	}
	testenv.Check(t, syscall.Mkfifo(dir+"/new/2-pipe", 0o600))
	testenv.Check(t, os.Mkdir(dir+"/new/3-folder", 0o700))
	put(t, dir+"/new/4-short", "short")
	put(t, dir+"/new/7-good", "good")
	k := &taker{fail: func(raw string) error {
		if raw == "short" {
			return fmt.Errorf("%w: too little", ErrRefused)
		}
		return nil
	}}
	watched(t, dir, k, func(trap *Trap, log *testenv.Log) {
		time.Sleep(3 * pollEvery)
		synctest.Wait()
		if s := trap.Status(); s != (Status{Taken: 1, Refused: 7}) {
			t.Errorf("%+v", s)
		}
		if n := strings.Count(log.String(), "not taken"); n != 7*2 { // in the message and in the error
			t.Errorf("logged %d times: %s", n, log)
		}
	})
	if !slices.Equal(k.got, []string{"good"}) {
		t.Errorf("took %q", k.got)
	}
	if got := list(t, dir, "new"); !slices.Equal(got, []string{"3-folder"}) {
		t.Errorf("new has %q", got)
	}
	if raw, err := os.ReadFile(secret); err != nil || string(raw) != "of somebody else" {
		t.Errorf("%q, %v", raw, err)
	}
}

// No name of a file stops a trap, and none replaces a file in cur.
func TestHostileNames(t *testing.T) {
	dir := maildir(t)
	long := strings.Repeat("x", 255)
	names := []string{
		"\x01\x1b[2J\r\nnew", "\xff\xfe", "a\u202eb", " ", "-rf", "%s%n", `\..\..`, "new:2,", "new:2,S", "1:2,\xff", ":2,",
		long, long[:252], long[:251], long[:250] + ":2,FR", "file", "folder", "broken",
	}
	for _, name := range names {
		put(t, dir+"/new/"+name, name)
	}
	testenv.Check(t, errors.Join(
		os.Mkdir(dir+"/new/"+long[:254], 0o700), syscall.Mkfifo(dir+"/new/"+long[:253], 0o600),
		os.Mkdir(dir+"/cur/folder:2,S", 0o700), os.Symlink("nowhere", dir+"/cur/broken:2,S")))
	put(t, dir+"/cur/folder:2,S/inside", "kept")
	put(t, dir+"/cur/file:2,S", "earlier")
	put(t, dir+"/cur/"+long, "of a mail program")
	put(t, dir+"/new/vanishes", "gone")
	k := new(taker)
	k.fail = func(string) error { os.Remove(dir + "/new/vanishes"); return nil } // before or while it is taken
	watched(t, dir, k, func(trap *Trap, log *testenv.Log) {
		time.Sleep(2 * pollEvery)
		synctest.Wait()
		got := trap.Status()
		got.Taken -= int64(len(k.got))
		if got != (Status{Refused: 1}) { // the pipe
			t.Errorf("%+v; log: %s", got, log)
		}
	})
	k.got = slices.DeleteFunc(k.got, func(text string) bool { return text == "gone" })
	want := append([]string{"of a mail program"}, names...)
	for i := range want {
		if len(want[i]) > 200 {
			want[i] = want[i][:200] + "..."
		}
	}
	slices.Sort(want)
	if slices.Sort(k.got); !slices.Equal(k.got, want) {
		t.Errorf("took %q, want %q", k.got, want)
	}
	if got := list(t, dir, "new"); !slices.Equal(got, []string{long[:254]}) {
		t.Errorf("new has %q", got)
	}
	if raw, err := os.ReadFile(dir + "/cur/file:2,S"); err != nil || string(raw) != "earlier" {
		t.Errorf("%q, %v", raw, err)
	}
	for _, name := range list(t, dir, "cur") {
		if !hasSeenFlag(name) {
			t.Errorf("%q is taken again by the next daemon", name)
		}
	}
}

// While mail cannot be taken because the disk is full, it stays in place. That is logged
// once, and the mail is taken when there is space.
func TestWaits(t *testing.T) {
	dir := maildir(t)
	full := errors.New("no space left on device")
	k := &taker{fail: func(string) error { return full }}
	put(t, dir+"/new/1", "one")
	put(t, dir+"/new/2", "two")
	watched(t, dir, k, func(trap *Trap, log *testenv.Log) {
		time.Sleep(10 * retryAfter)
		synctest.Wait()
		if s := trap.Status(); s != (Status{Waiting: 2, Fault: full.Error()}) {
			t.Errorf("%+v", s)
		}
		if got := list(t, dir, "new"); len(got) != 2 || strings.Count(log.String(), "spam trap suspended") != 1 {
			t.Errorf("new has %q; log: %s", got, log)
		}
		k.failWith(nil)
		time.Sleep(retryAfter)
		synctest.Wait()
		if s := trap.Status(); s != (Status{Taken: 2}) || !strings.Contains(log.String(), "spam trap recovered") {
			t.Errorf("%+v; log: %s", s, log)
		}
	})
}

// The trap waits for a missing Maildir, and checks a new one in its place from the start.
func TestVanishes(t *testing.T) {
	dir, k := maildir(t), new(taker)
	watched(t, dir, k, func(trap *Trap, log *testenv.Log) {
		testenv.Check(t, os.Rename(dir, dir+"-away"))
		time.Sleep(2 * retryAfter)
		synctest.Wait()
		if s := trap.Status(); s.Fault == "" || strings.Count(log.String(), "spam trap suspended") != 1 {
			t.Errorf("%+v; log: %s", s, log)
		}
		makeMaildir(t, dir)
		put(t, dir+"/cur/1", "one")
		put(t, dir+"/new/2", "two")
		time.Sleep(retryAfter)
		synctest.Wait()
		if s := trap.Status(); s != (Status{Taken: 2}) {
			t.Errorf("%+v", s)
		}
	})
}

// If the folder new of a Maildir points elsewhere, it is not followed.
func TestLinkedFolder(t *testing.T) {
	dir, k := maildir(t), new(taker)
	away := t.TempDir()
	put(t, away+"/1", "of somebody else")
	testenv.Check(t, errors.Join(os.Remove(dir+"/new"), os.Symlink(away, dir+"/new")))
	watched(t, dir, k, func(trap *Trap, _ *testenv.Log) {
		if s := trap.Status(); s.Fault == "" || len(k.got) > 0 {
			t.Errorf("%+v, took %q", s, k.got)
		}
	})
}

// If a folder of a Maildir points to the other one, its mail is not taken again and again.
func TestFolderLinkedToTheOther(t *testing.T) {
	for _, c := range [][2]string{{"cur", "new"}, {"new", "cur"}} {
		t.Run(c[0], func(t *testing.T) {
			dir, k := maildir(t), new(taker)
			testenv.Check(t, errors.Join(os.Remove(dir+"/"+c[0]), os.Symlink(c[1], dir+"/"+c[0])))
			put(t, dir+"/"+c[1]+"/1", "one")
			watched(t, dir, k, func(trap *Trap, _ *testenv.Log) {
				time.Sleep(5 * retryAfter)
				synctest.Wait()
				if s := trap.Status(); s.Fault == "" || len(k.got) > 1 {
					t.Errorf("%+v, took %q", s, k.got)
				}
			})
		})
	}
}

// A message that was taken but cannot be moved is not taken repeatedly.
func TestCannotMove(t *testing.T) {
	dir, k := maildir(t), new(taker)
	for i := range 3 {
		put(t, fmt.Sprintf("%s/new/%d", dir, i), "mail")
	}
	k.fail = func(string) error { return os.Rename(dir+"/cur", dir+"/gone") } // while the first one is processed
	watched(t, dir, k, func(trap *Trap, _ *testenv.Log) {
		k.failWith(nil)
		time.Sleep(5 * retryAfter)
		synctest.Wait()
		if s := trap.Status(); s.Taken != 1 || s.Waiting != 3 || s.Fault == "" {
			t.Errorf("%+v", s)
		}
		testenv.Check(t, os.Mkdir(dir+"/cur", 0o700))
		time.Sleep(retryAfter)
		synctest.Wait()
		if s := trap.Status(); s != (Status{Taken: 3}) || len(k.got) != 3 {
			t.Errorf("%+v, took %q", s, k.got)
		}
	})
}

// Ten thousand messages at once are all taken, with the memory of a few.
func TestBurst(t *testing.T) {
	dir := maildir(t)
	const mails = 10_000
	for i := range mails {
		put(t, fmt.Sprintf("%s/new/%d.M%dP.mx1", dir, i, i), "mail")
	}
	taken, most := 0, uint64(0)
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	trap := New(Options{Maildir: dir, MaxMessage: func() int64 { return 100 }, Take: func(context.Context, []byte, int64, bool) error {
		if taken++; taken%1000 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			most = max(most, now.HeapAlloc)
		}
		return nil
	}})
	for trap.Status().Taken < mails {
		before := taken
		if trap.look(t.Context()); taken == before {
			t.Fatalf("stopped at %d: %+v", taken, trap.Status())
		}
	}
	if taken != mails || len(list(t, dir, "new")) > 0 || len(list(t, dir, "cur")) != mails {
		t.Errorf("%d taken of %d", taken, mails)
	}
	if most > before.HeapAlloc+4<<20 {
		t.Errorf("%d bytes while running, %d before", most, before.HeapAlloc)
	}
}

// TestLargeMailInManyTraps is the attack "a large mail to all traps": those of a daemon hold one message together,
// in a buffer that does not grow.
func TestLargeMailInManyTraps(t *testing.T) {
	const traps, most = 8, 4 << 20
	var reading, held atomic.Int64
	turn, ctx := new(sync.Mutex), t.Context()
	var looks sync.WaitGroup
	for range traps {
		dir := maildir(t)
		put(t, dir+"/new/1", strings.Repeat("1", 3*most))
		trap := New(Options{Maildir: dir, MaxMessage: func() int64 { return most }, Turn: turn, Take: func(_ context.Context, raw []byte, _ int64, isCut bool) error {
			if now := reading.Add(1); now > 1 || len(raw) != 2*most || cap(raw) > 2*most+64<<10 || !isCut {
				t.Errorf("%d messages at once, one of %d bytes in %d, cut: %v", now, len(raw), cap(raw), isCut)
			}
			time.Sleep(10 * time.Millisecond)
			reading.Add(-1)
			held.Add(1)
			return nil
		}})
		looks.Go(func() { trap.look(ctx) })
	}
	if looks.Wait(); held.Load() != traps {
		t.Errorf("%d of %d messages are taken", held.Load(), traps)
	}
}

func TestSeen(t *testing.T) {
	for name, want := range map[string]string{
		"1": "1:2,S", "1:2,": "1:2,S", "1:2,S": "1:2,S", "1:2,DF": "1:2,DFS", "1:2,RT": "1:2,RST", "1:2,FST": "1:2,FST", "1.S:1,S": "1.S:1,S:2,S",
	} {
		if got := withSeen(name); got != want || !hasSeenFlag(got) {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

// A trap whose disk does not answer says so, and so does one that waits for it.
func TestStatusOfHangingDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs, answer := make(chan bool), make(chan bool)
		dir := maildir(t)
		put(t, filepath.Join(dir, "new/1"), "letter")
		trap := New(Options{Maildir: dir, MaxMessage: func() int64 { return 100 }, Take: func(context.Context, []byte, int64, bool) error {
			close(hangs)
			<-answer
			return nil
		}})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { trap.Run(ctx) })
		<-hangs
		time.Sleep(slow / 2)
		if s := trap.Status(); s.Fault != "" {
			t.Errorf("after half of the time: %+v", s)
		}
		time.Sleep(slow)
		if s := trap.Status(); !strings.Contains(s.Fault, "has not answered for 1m30s") {
			t.Errorf("after %v: %+v", slow, s)
		}
		close(answer)
		time.Sleep(2 * pollEvery)
		if s := trap.Status(); s.Fault != "" || s.Taken != 1 {
			t.Errorf("later: %+v", s)
		}
		stop()
		running.Wait()
	})
}
