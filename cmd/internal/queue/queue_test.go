package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
)

// entryOf returns an entry identified by its text.
func entryOf(text, reporter string) Entry {
	return Entry{
		At: time.Date(2026, 11, 21, 18, 0, 0, 0, time.UTC), Verb: "report",
		Request: api.Request{Domains: []string{text}, Reporter: reporter, Class: bloomdb.ClassPhish, Signatures: []api.Signature{}},
	}
}

func textOf(e Entry) string { return e.Request.Domains[0] }

// newQueue returns a queue in a folder that does not exist yet.
func newQueue(t *testing.T, o Options) *Queue {
	return New(filepath.Join(t.TempDir(), "state", "queue"), o)
}

func add(t *testing.T, q *Queue, texts ...string) {
	t.Helper()
	for _, text := range texts {
		testenv.Check(t, q.Add(entryOf(text, "anna")))
	}
}

// deliver delivers all entries and returns the texts in the order of send.
func deliver(t *testing.T, q *Queue) []string {
	t.Helper()
	got := []string{}
	testenv.Check(t, q.Deliver(t.Context(), func(_ context.Context, e Entry) Fate { got = append(got, textOf(e)); return Settled }))
	return got
}

func count(t *testing.T, q *Queue) int {
	t.Helper()
	w, err := q.Waiting()
	testenv.Check(t, err)
	return w.Count
}

func TestQueue(t *testing.T) {
	defer goleak.VerifyNone(t)
	q := newQueue(t, Options{})
	if n := count(t, q); n != 0 {
		t.Errorf("%d wait before anything was added", n)
	}
	if got := deliver(t, q); len(got) != 0 {
		t.Errorf("delivered %v of nothing", got)
	}
	if _, err := os.Stat(q.Dir()); err == nil {
		t.Error("reading created the folder")
	}
	add(t, q, "a", "b", "c")
	w, err := q.Waiting()
	if err != nil || w.Count != 3 || !w.Since.Equal(entryOf("", "").At) || w.Bytes == 0 {
		t.Errorf("%+v, %v", w, err)
	}
	for path, mode := range map[string]os.FileMode{q.Dir(): 0o700, filepath.Join(q.Dir(), fileName): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v", path, info.Mode(), err)
		}
	}
	// Another process finds the same.
	got := deliver(t, New(q.Dir(), Options{}))
	if fmt.Sprint(got) != "[a b c]" || count(t, q) != 0 {
		t.Errorf("delivered %v, %d still wait", got, count(t, q))
	}
	if info, err := os.Stat(filepath.Join(q.Dir(), fileName)); err != nil || info.Size() != int64(len(fileHead)) {
		t.Errorf("a queue in which nothing waits: %d bytes, %v", info.Size(), err)
	}
	add(t, q, "d")
	if got := deliver(t, q); fmt.Sprint(got) != "[d]" {
		t.Errorf("after the file was emptied: %v", got)
	}
}

// Delivered entries equal the added ones.
func TestEntryComesBack(t *testing.T) {
	q := newQueue(t, Options{})
	want := entryOf("x", "anna@example.org")
	want.Verb, want.Control = "revoke", "unix:/run/s.sock"
	testenv.Check(t, q.Add(want))
	var got Entry
	testenv.Check(t, q.Deliver(t.Context(), func(_ context.Context, e Entry) Fate { got = e; return Settled }))
	want.Number = got.Number
	if got.Number == 0 || fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
}

// A reporter delayed by the daemon does not delay others, nor an unreachable daemon other
// daemons. The order of each one's entries is kept.
func TestFates(t *testing.T) {
	q := newQueue(t, Options{})
	for i, who := range []string{"anna", "bert", "anna", "carl", "bert"} {
		e := entryOf(fmt.Sprint(who, i), who)
		if who == "carl" {
			e.Control = "unix:/other"
		}
		testenv.Check(t, q.Add(e))
	}
	var got []string
	send := func(fates map[string]Fate) {
		got = nil
		if err := q.Deliver(t.Context(), func(_ context.Context, e Entry) Fate {
			got = append(got, textOf(e))
			return fates[e.Request.Reporter]
		}); err != nil {
			t.Fatal(err)
		}
	}
	send(map[string]Fate{"anna": Away, "carl": Later})
	if fmt.Sprint(got) != "[anna0 carl3]" || count(t, q) != 5 {
		t.Errorf("a daemon is away: %v, %d wait", got, count(t, q))
	}
	send(map[string]Fate{"anna": Later, "carl": Settled})
	if fmt.Sprint(got) != "[anna0 bert1 carl3 bert4]" || count(t, q) != 2 {
		t.Errorf("a reporter is slowed down: %v, %d wait", got, count(t, q))
	}
	for who, want := range map[string]bool{"anna": true, "bert": false} {
		if behind, err := q.Behind("", who); err != nil || behind != want {
			t.Errorf("something of %s waits: %v, %v", who, behind, err)
		}
	}
	if behind, _ := q.Behind("unix:/other", "anna"); behind {
		t.Error("entries for one daemon delay those for another")
	}
	send(nil)
	if fmt.Sprint(got) != "[anna0 anna2]" || count(t, q) != 0 {
		t.Errorf("in the end: %v, %d wait", got, count(t, q))
	}
}

// One reporter's entries leave room for those of others, even while the queue's owner fills
// it.
func TestShare(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		what    string
	}{
		"entries": {Options{Entries: 100}, "x"},
		"bytes":   {Options{Bytes: 4 << 20}, strings.Repeat("x", 50_000)},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t, test.options)
			var err error
			n := 0
			for ; err == nil && n < 200; n++ {
				err = q.Add(entryOf(test.what, []string{"mallory", "Mallory", "MALLORY", "mallorY"}[n%4])) // one person to the daemon
			}
			if !errors.Is(err, ErrFull) || !strings.Contains(strings.ToLower(err.Error()), "full for mallory: ") {
				t.Fatalf("after %d entries: %v", n, err)
			}
			for _, who := range []string{"anna", "bert", ""} {
				if err := q.Add(entryOf(test.what, who)); err != nil {
					t.Errorf("%s: %v", who, err)
				}
			}
			if n < 15 || n > 30 {
				t.Errorf("mallory has %d entries, want about a quarter", n)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	q := newQueue(t, Options{Entries: 2})
	add(t, q, "a", "b")
	if err := q.Add(entryOf("c", "anna")); !errors.Is(err, ErrFull) || !strings.Contains(err.Error(), "2 entries wait in "+q.Dir()) {
		t.Errorf("a third of two: %v", err)
	}
	if got := deliver(t, q); fmt.Sprint(got) != "[a b]" {
		t.Errorf("%v", got)
	}
	add(t, q, "c")

	// Settled entries make room although others still wait.
	q = newQueue(t, Options{Bytes: 900})
	add(t, q, "a", "b", "c", "d")
	large := entryOf(strings.Repeat("x", 300), "bert")
	if err := q.Add(large); !errors.Is(err, ErrFull) {
		t.Errorf("over the bytes: %v", err)
	}
	n := 0
	if err := q.Deliver(t.Context(), func(context.Context, Entry) Fate {
		if n++; n > 3 {
			return Away
		}
		return Settled
	}); err != nil {
		t.Fatal(err)
	}
	if err := q.Add(large); err != nil {
		t.Errorf("with room made: %v", err)
	}
	if got := deliver(t, q); len(got) != 2 || got[0] != "d" {
		t.Errorf("%v", got)
	}
	if err := q.Add(entryOf(strings.Repeat("x", maxPayload), "anna")); err == nil {
		t.Error("an entry over the limit is accepted")
	}
}

// The file belongs to this user and has this version. Any other is named in the error, and
// stays unchanged.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		make func(t *testing.T, dir string)
		want string
	}{
		"version":   {func(t *testing.T, dir string) { write(t, dir, "spambloom queue 27\nwhatever") }, "newer format (version 27; this program reads 1), made by a newer version of spambloom"},
		"version 0": {func(t *testing.T, dir string) { write(t, dir, "spambloom queue 0\nwhatever") }, "not a spambloom queue"},
		"foreign":   {func(t *testing.T, dir string) { write(t, dir, "#!/bin/sh\n") }, "not a spambloom queue"},
		"almost":    {func(t *testing.T, dir string) { write(t, dir, "spambloom queue one\n") }, "not a spambloom queue"},
		"link": {func(t *testing.T, dir string) {
			write(t, dir, "")
			must(t, os.Rename(filepath.Join(dir, fileName), filepath.Join(dir, "elsewhere")))
			must(t, os.Symlink("elsewhere", filepath.Join(dir, fileName)))
		}, "it is a symbolic link"},
		"pipe": {func(t *testing.T, dir string) {
			must(t, os.MkdirAll(dir, 0o700))
			must(t, syscall.Mkfifo(filepath.Join(dir, fileName), 0o600))
		}, "not a regular file"},
		"open to a group": {func(t *testing.T, dir string) {
			write(t, dir, "")
			must(t, os.Chmod(filepath.Join(dir, fileName), 0o620))
		}, "others can write it"},
		"folder open to others": {func(t *testing.T, dir string) {
			must(t, os.MkdirAll(dir, 0o700))
			must(t, os.Chmod(dir, 0o702))
		}, "others can write it (mode 0702)"},
		"folder is a link": {func(t *testing.T, dir string) {
			must(t, os.MkdirAll(filepath.Dir(dir), 0o700))
			must(t, os.Symlink(t.TempDir(), dir))
		}, "not a folder, or a symbolic link"},
		"owner": {func(t *testing.T, dir string) {
			testenv.Root(t)
			write(t, dir, "")
			must(t, os.Chown(filepath.Join(dir, fileName), 65534, 65534))
		}, "it belongs to another user"},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQueue(t, Options{})
			c.make(t, q.Dir())
			before := regular(q)
			err := q.Add(entryOf("a", "anna"))
			_, waiting := q.Waiting()
			for what, err := range map[string]error{"add": err, "waiting": waiting,
				"deliver": q.Deliver(t.Context(), func(context.Context, Entry) Fate { t.Error("sent"); return Later })} {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s: %v; want %q", what, err, c.want)
				}
			}
			if after := regular(q); after != before {
				t.Errorf("the file was changed to %q", after)
			}
		})
	}
}

// A lock is a file of the folder, wherever a link of that name points.
func TestLockIsNoLink(t *testing.T) {
	for _, name := range []string{lockName, deliveryName} {
		q := newQueue(t, Options{})
		add(t, q, "a")
		target := filepath.Join(t.TempDir(), "target")
		_ = os.Remove(filepath.Join(q.Dir(), name))
		must(t, os.Symlink(target, filepath.Join(q.Dir(), name)))
		err := q.Deliver(t.Context(), func(context.Context, Entry) Fate { return Settled })
		if _, made := os.Stat(target); made == nil || !errors.Is(err, syscall.ELOOP) {
			t.Errorf("%s: %v, and the link was followed: %v", name, err, made == nil)
		}
	}
}

// An entry added while the last one is being sent is delivered too, even if all have the
// same time.
func TestAddedMeanwhile(t *testing.T) {
	q := newQueue(t, Options{})
	add(t, q, "a")
	got := ""
	must(t, q.Deliver(t.Context(), func(_ context.Context, e Entry) Fate {
		if got += textOf(e); len(got) < 3 {
			add(t, New(q.Dir(), Options{}), string(got[len(got)-1]+1))
		}
		return Settled
	}))
	if got != "abc" {
		t.Errorf("delivered %q", got)
	}
}

// regular returns the content of the queue's file; reading a pipe would block.
func regular(q *Queue) string {
	path := filepath.Join(q.Dir(), fileName)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	data, _ := os.ReadFile(path)
	return string(data)
}

func write(t *testing.T, dir, content string) {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o700))
	must(t, os.WriteFile(filepath.Join(dir, fileName), []byte(content), 0o600))
}

func must(t *testing.T, err error) {
	t.Helper()
	testenv.Check(t, err)
}

// Many processes add and deliver at once. Each entry is sent, once unless a process dies.
// Entries added while another process delivers are included.
func TestManyProcesses(t *testing.T) {
	defer goleak.VerifyNone(t)
	dir := newQueue(t, Options{}).Dir()
	var mu sync.Mutex
	sent := map[string]int{}
	send := func(_ context.Context, e Entry) Fate {
		mu.Lock()
		defer mu.Unlock()
		sent[textOf(e)]++
		return Settled
	}
	const processes, each = 8, 10
	var all sync.WaitGroup
	for p := range processes {
		all.Go(func() {
			q := New(dir, Options{}) // with its own lock, like another process
			for i := range each {
				if err := q.Add(entryOf(fmt.Sprint(p, "-", i), "anna")); err != nil {
					t.Error(err)
				}
				if err := q.Deliver(t.Context(), send); err != nil && !errors.Is(err, ErrBusy) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if len(sent) != processes*each {
		t.Errorf("%d of %d entries were sent", len(sent), processes*each)
	}
	for text, n := range sent {
		if n != 1 {
			t.Errorf("%s was sent %d times", text, n)
		}
	}
	if n := count(t, New(dir, Options{})); n != 0 {
		t.Errorf("%d still wait", n)
	}
}

// When the time is over, the other entries keep waiting, in order.
func TestDeliverEnds(t *testing.T) {
	q := newQueue(t, Options{})
	add(t, q, "a", "b", "c")
	ctx, cancel := context.WithCancel(t.Context())
	testenv.Check(t, q.Deliver(ctx, func(context.Context, Entry) Fate { cancel(); return Settled }))
	if got := deliver(t, q); fmt.Sprint(got) != "[b c]" {
		t.Errorf("the rest is %v", got)
	}
}

// An unreadable entry, such as one of a later version, keeps waiting, is reported, and does
// not delay others.
func TestUnreadableEntry(t *testing.T) {
	q := newQueue(t, Options{})
	add(t, q, "a")
	must(t, q.change(func(f *file) error {
		return f.append(record{kind: kindEntry, number: f.last + 1, payload: []byte(`{"at":7}`)})
	}))
	add(t, q, "b")
	var got []string
	err := q.Deliver(t.Context(), func(_ context.Context, e Entry) Fate { got = append(got, textOf(e)); return Settled })
	if err == nil || !strings.Contains(err.Error(), "read entry ") || fmt.Sprint(got) != "[a b]" || count(t, q) != 1 {
		t.Errorf("delivered %v, %d wait, %v", got, count(t, q), err)
	}
}
