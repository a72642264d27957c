package queue

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// written returns a file with three entries, of which the second is settled, and the end of
// each record.
func written(t *testing.T) (data []byte, ends []int) {
	t.Helper()
	q := newQueue(t, Options{})
	n := 0
	add(t, q, "a", "b")
	must(t, q.Deliver(t.Context(), func(context.Context, Entry) Fate {
		if n++; n == 1 {
			return Later // anna is delayed
		}
		return Settled
	}))
	must(t, q.Add(entryOf("c", "bert")))
	must(t, q.Deliver(t.Context(), func(_ context.Context, e Entry) Fate {
		if textOf(e) == "c" {
			return Settled
		}
		return Later
	}))
	add(t, q, "d")
	data, err := os.ReadFile(filepath.Join(q.Dir(), fileName))
	must(t, err)
	for at := len(fileHead); at < len(data); {
		r, ok := readRecord(data[at:])
		if !ok {
			t.Fatalf("no record at %d of %d", at, len(data))
		}
		at += int(r.size())
		ends = append(ends, at)
	}
	if len(ends) != 5 { // a, b, c, c is settled, d
		t.Fatalf("%d records", len(ends))
	}
	return data, ends
}

// wantOf returns the waiting entries if the first n records are complete.
func wantOf(n int) []string {
	return [][]string{{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b"}, {"a", "b", "d"}}[n]
}

// A file truncated at any byte lacks only the record being written. Later entries are
// complete.
func TestTornAnywhere(t *testing.T) {
	data, ends := written(t)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	for _, rest := range []string{"", "\x00\x00\x00\x00\x00\x00\x00\x00", "\xffSBQ"} { // as some file systems leave it
		for cut := range len(data) + 1 {
			if rest != "" && (cut < len(fileHead) || cut%9 > 0) {
				continue // not a valid file; each one is synced, which takes time
			}
			must(t, os.WriteFile(filepath.Join(dir, fileName), append(slices.Clone(data[:cut]), rest...), 0o600))
			whole := 0
			for whole < len(ends) && ends[whole] <= cut {
				whole++
			}
			q := New(dir, Options{})
			if n := count(t, q); n != len(wantOf(whole)) {
				t.Fatalf("cut at %d: %d wait, want %v", cut, n, wantOf(whole))
			}
			must(t, q.Add(entryOf("new", "carl")))
			if got, want := deliver(t, New(dir, Options{})), append(wantOf(whole), "new"); !slices.Equal(got, want) {
				t.Fatalf("cut at %d, then %q: delivered %v, want %v", cut, rest, got, want)
			}
		}
	}
}

// A byte changed on disk destroys only its record; a settled entry may be sent again.
func TestDamagedAnywhere(t *testing.T) {
	data, ends := written(t)
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	for at := len(fileHead); at < len(data); at++ {
		bad := slices.Clone(data)
		bad[at] ^= 0x40
		must(t, os.WriteFile(filepath.Join(dir, fileName), bad, 0o600))
		want := [][]string{{"b", "d"}, {"a", "d"}, {"a", "b", "d"}, {"a", "b", "c", "d"}, {"a", "b"}}[slices.IndexFunc(ends, func(end int) bool { return at < end })]
		w, err := New(dir, Options{}).Waiting()
		must(t, err)
		if at < ends[3] && w.Lost == 0 {
			t.Fatalf("byte %d: the damage is not reported", at)
		}
		add(t, New(dir, Options{}), "new")
		if got := deliver(t, New(dir, Options{})); !slices.Equal(got, append(want, "new")) {
			t.Fatalf("byte %d: delivered %v, want %v and new", at, got, want)
		}
	}
}

// The queue compared with a list, with additions, deliveries that end anywhere, writers
// killed in the middle of a record, and other processes.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "queue")
		testenv.Check(t, err)
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, fileName)
		q := New(dir, Options{Entries: 6, Bytes: 3000})
		var model []string
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				text := fmt.Sprint(next)
				next++
				switch err := q.Add(entryOf(text, "anna")); {
				case err == nil:
					model = append(model, text)
				case len(model) < 6:
					t.Fatalf("%v with %d waiting", err, len(model))
				}
			},
			"killed": func(t *rapid.T) {
				before, _ := os.ReadFile(path)
				if q.Add(entryOf("killed", "anna")) != nil {
					return
				}
				after, _ := os.ReadFile(path)
				if len(after) <= len(before) { // the file was rewritten: the entry is complete
					model = append(model, "killed")
					return
				}
				cut := rapid.IntRange(len(before), len(after)-1).Draw(t, "cut")
				testenv.Check(t, os.Truncate(path, int64(cut)))
			},
			"other process": func(*rapid.T) { q = New(dir, q.Options) },
			"deliver": func(t *rapid.T) {
				settle := rapid.IntRange(0, 8).Draw(t, "settle")
				fate := rapid.SampledFrom([]Fate{Later, Away}).Draw(t, "fate")
				var sent []string
				err := q.Deliver(context.Background(), func(_ context.Context, e Entry) Fate {
					sent = append(sent, textOf(e))
					if len(sent) > settle {
						return fate
					}
					return Settled
				})
				testenv.Check(t, err)
				if want := model[:min(len(model), settle+1)]; !slices.Equal(sent, want) {
					t.Fatalf("sent %v, want %v", sent, want)
				}
				model = model[min(len(model), settle):]
			},
			"": func(t *rapid.T) {
				w, err := q.Waiting()
				if err != nil || w.Count != len(model) {
					t.Fatalf("%d wait, want %v; %v", w.Count, model, err)
				}
				if info, err := os.Stat(path); err == nil && info.Size() > q.maxFile() {
					t.Fatalf("the file has %d bytes", info.Size())
				}
			},
		})
	})
}

// FuzzRead: for any content of a file, records lie within it, and reading the valid part
// again gives the same result.
func FuzzRead(f *testing.F) {
	data := slices.Clone(fileHead)
	data = record{kind: kindEntry, number: 7, payload: []byte(`{"verb":"report","request":{"signatures":[]}}`)}.appendTo(data)
	data = record{kind: kindSettled, number: 7}.appendTo(data)
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte("spambloom queue 2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := read(data)
		if err != nil {
			return
		}
		if c.end > int64(len(data)) || c.lost < 0 || c.live > c.end {
			t.Fatalf("%+v of %d bytes", c, len(data))
		}
		for _, r := range c.waiting {
			_, _ = r.entry()
		}
		again, err := read(data[:c.end])
		if err != nil || again.end != c.end || len(again.waiting) != len(c.waiting) || again.lost != c.lost {
			t.Fatalf("%+v is %+v when read again, %v", c, again, err)
		}
	})
}
