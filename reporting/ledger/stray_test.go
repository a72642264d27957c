package ledger

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// pointer is a page number in another page or in the list of buckets.
type pointer struct {
	at    int    // offset in the file
	named string // the page or bucket that contains it
}

// pointers returns the pointers that are in use.
func pointers(t *testing.T, data []byte) (list []pointer, pages int) {
	t.Helper()
	head := headOf(t, data)
	u16 := func(at int) int { return int(binary.NativeEndian.Uint16(data[at:])) }
	u32 := func(at int) int { return int(binary.NativeEndian.Uint32(data[at:])) }
	u64 := func(at int) int { return int(binary.NativeEndian.Uint64(data[at:])) }
	var walk func(id int, named string)
	walk = func(id int, named string) {
		from := id * int(head.page)
		for i := range u16(from + 10) {
			e := from + headBytes + i*elementBytes
			switch {
			case u16(from+8) == branchPage:
				list = append(list, pointer{e + 8, named})
				walk(u64(e+8), named)
			case u32(e) == bucketEntry:
				key := e + u32(e+4)
				value := key + u32(e+8)
				if u64(value) != 0 {
					name := string(data[key:value])
					list = append(list, pointer{value, "bucket " + name})
					walk(u64(value), "a branch of "+name)
				}
			}
		}
	}
	walk(int(head.root), "the list of buckets")
	return list, int(head.pages)
}

// A wrong page number refers to a page of another bucket, to an older page, or beyond the end of
// the file. No report is lost: neither in the page it referred to before, nor in the one it
// refers to now.
func TestStrayPointers(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	rng := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	good := eventful(t)
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: pair, NoSync: true}
	kept := []string{"reports", "by", "names"}
	testenv.Check(t, os.WriteFile(path, good, 0o600))
	want := recordsOf(t, path, kept...)
	list, pages := pointers(t, good)
	for _, p := range list {
		was := binary.NativeEndian.Uint64(good[p.at:])
		for range testenv.Rounds(12) {
			to := rng.Uint64N(uint64(pages) + 2)
			if to == was {
				continue
			}
			bad := bytes.Clone(good)
			binary.NativeEndian.PutUint64(bad[p.at:], to)
			testenv.Check(t, os.WriteFile(path, bad, 0o600))
			done, err := Repair(o)
			if err != nil || len(done.Faults) == 0 {
				t.Fatalf("%s leads to page %d, not %d: %+v, %v", p.named, to, was, done, err)
			}
			if got := recordsOf(t, path, kept...); !maps.Equal(got, want) {
				t.Errorf("%s leads to page %d, not %d: %d records of %d, some may differ: %+v", p.named, to, was, len(got), len(want), done)
			}
			l, err := Open(o)
			if err != nil {
				t.Fatalf("%s leads to page %d, not %d: %v", p.named, to, was, err)
			}
			if err := l.Check(); err != nil {
				t.Errorf("%s leads to page %d, not %d: %v", p.named, to, was, err)
			}
			l.Close()
		}
	}
	t.Logf("%d numbers of pages", len(list))
}

// A bucket with an unknown name loses nothing: its records are assigned to the bucket that they
// fit.
func TestUnknownBucketName(t *testing.T) {
	good := eventful(t)
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: pair, NoSync: true}
	kept := []string{"reports", "by", "names", "reporters", "tallies", "shares"}
	testenv.Check(t, os.WriteFile(path, good, 0o600))
	want := recordsOf(t, path, kept...)
	head := headOf(t, good)
	list := good[head.root*head.page:][:head.page]
	for _, name := range []string{"reports", "reporters", "tallies", "by", "due"} {
		bad := bytes.Clone(good)
		at := int(head.root*head.page) + bytes.Index(list, []byte(name))
		bad[at]++
		bad[at+1]++
		testenv.Check(t, os.WriteFile(path, bad, 0o600))
		done, err := Repair(o)
		if err != nil || len(done.Faults) == 0 {
			t.Errorf("%s: %+v, %v", name, done, err)
			continue
		}
		if got := recordsOf(t, path, kept...); !maps.Equal(got, want) {
			t.Errorf("%s: %d records of %d, some may differ: %+v", name, len(got), len(want), done)
		}
	}
}
