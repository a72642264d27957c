package ledger

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/signature"
)

// eventful returns the bytes of a ledger after some hundred transactions. Its free pages contain
// older versions of reports and reporters; some of these have been refuted or withdrawn since.
func eventful(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reports.db")
	l, err := Open(Options{Path: path, Model: pair, NoSync: true})
	testenv.Check(t, err)
	v := voice{t: t, l: l, at: begin}
	for i := range 150 {
		v.say(Spam, "anna", message(i, i))
		v.say(Spam, "bob", message(i, i))
		if i%5 == 0 {
			v.say(Ham, "carl", message(i, i))
			v.say(Ham, "dora", message(i, i))
		}
	}
	v.say(Spam, "eve", message(900, 900))
	if _, err := l.Withdraw(Undo{Reporter: "eve"}); err != nil {
		t.Fatal(err)
	}
	v.say(Spam, "bob", wide(901)) // on several pages
	testenv.Check(t, l.Close())
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	return withoutSpace(t, data)
}

// wide returns a message whose report is longer than a page.
func wide(n int) (set signature.Set) {
	for i := range 256 {
		set.Signatures = append(set.Signatures, message(n+i, n+i).Signatures[0])
	}
	return set
}

// recordsOf returns the records of some buckets of a file.
func recordsOf(t *testing.T, path string, names ...string) map[string]string {
	t.Helper()
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	testenv.Check(t, err)
	defer db.Close()
	all := map[string]string{}
	err = db.View(func(tx *bolt.Tx) error {
		for _, name := range names {
			c := tx.Bucket([]byte(name)).Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				all[name+" "+string(k)] = string(v)
			}
		}
		return nil
	})
	testenv.Check(t, err)
	return all
}

// Each branch page is lost in turn, as are the list of free pages and the headers. All records
// in the remaining leaves are rescued, in their latest version.
func TestRescue(t *testing.T) {
	good := eventful(t)
	head := headOf(t, good)
	page := int(head.page)
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: pair, NoSync: true}
	write := func(data []byte) {
		testenv.Check(t, os.WriteFile(path, data, 0o600))
	}
	kept := []string{"reports", "by", "names"}
	write(good)
	want := recordsOf(t, path, kept...)
	reporters := recordsOf(t, path, "reporters")

	branches := map[string][]int{"the list of buckets": {int(head.root)}}
	for id := 2; id < int(head.pages); id++ {
		if isBranch(good, id, page) {
			branches[fmt.Sprintf("branch %d", id)] = []int{id}
		}
	}
	if len(branches) < 3 {
		t.Fatalf("branches: %v", branches)
	}
	for name, lost := range branches {
		for with, more := range map[string][]int{"": nil, " and the list of free pages": {int(head.freelist)}, " and the headers": {0, 1}} {
			write(without(good, page, append(slices.Clone(lost), more...)))
			done, err := Repair(o)
			if err != nil {
				t.Fatalf("%s%s: %v", name, with, err)
			}
			if len(done.Faults) == 0 { // a page of an earlier transaction
				continue
			}
			if got := recordsOf(t, path, kept...); !maps.Equal(got, want) {
				t.Errorf("%s%s: %d records of %d, some may differ: %+v", name, with, len(got), len(want), done)
			}
			// Small buckets are stored in the list of buckets. An earlier version of
			// that list contains them.
			if got := recordsOf(t, path, "reporters"); len(got) != len(reporters) || name != "the list of buckets" && with == "" && !maps.Equal(got, reporters) {
				t.Errorf("%s%s: reporters %q, want %q", name, with, got, reporters)
			}
			if done.Lost != 0 || with == " and the headers" && !done.Unsure {
				t.Errorf("%s%s: %+v", name, with, done)
			}
			l, err := Open(o)
			if err != nil {
				t.Fatalf("%s%s: %v", name, with, err)
			}
			if err := l.Check(); err != nil {
				t.Errorf("%s%s: %v", name, with, err)
			}
			v := voice{t: t, l: l, at: begin}
			v.say(Spam, "carl", message(7, 7))
			l.Close()
		}
	}
}

func isBranch(data []byte, id, page int) bool {
	b := data[id*page:]
	return binary.NativeEndian.Uint64(b) == uint64(id) && binary.NativeEndian.Uint16(b[8:]) == branchPage
}

// without returns a file in which some pages are zeros.
func without(data []byte, page int, lost []int) []byte {
	data = bytes.Clone(data)
	for _, id := range lost {
		clear(data[id*page : (id+1)*page])
	}
	return data
}

// A file is empty, half lost, or contains nothing of ours. It is repaired, and the missing data
// is reported as lost.
func TestRepairOfLittle(t *testing.T) {
	good := eventful(t)
	head := headOf(t, good)
	good = good[:head.pages*head.page] // the rest of the file is unused
	half := int(head.pages / 2 * head.page)
	for name, c := range map[string]struct {
		data []byte
		some bool
	}{
		"empty":                     {nil, false},
		"one byte":                  {good[:1], false},
		"text":                      {bytes.Repeat([]byte("no ledger "), 2000), false},
		"zeros":                     {make([]byte, len(good)), false},
		"cut in half":               {good[:half], true},
		"its first quarter is gone": {append(make([]byte, half/2), good[half/2:]...), true},
	} {
		path := filepath.Join(t.TempDir(), "reports.db")
		o := Options{Path: path, Model: pair, NoSync: true}
		testenv.Check(t, os.WriteFile(path, c.data, 0o600))
		done, err := Repair(o)
		if err != nil || len(done.Faults) == 0 || done.Lost == 0 && !done.Unsure {
			t.Errorf("%s: %+v, %v", name, done, err)
			continue
		}
		if c.some != (done.Reports > 0) {
			t.Errorf("%s: %+v", name, done)
		}
		if kept, err := os.ReadFile(done.Damaged); err != nil || !bytes.Equal(kept, c.data) {
			t.Errorf("%s: the damaged file is not kept: %v", name, err)
		}
		l, err := Open(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := l.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		l.Close()
	}
}

// A repair does not touch a file of a later bbolt format.
func TestRepairOfAnotherFormat(t *testing.T) {
	data := eventful(t)
	page := os.Getpagesize()
	for _, at := range []int{0, page} {
		d := data[at+headBytes:]
		binary.NativeEndian.PutUint32(d[4:], 9)
		binary.NativeEndian.PutUint64(d[56:], checksum(d[:metaBytes-8]))
	}
	path := filepath.Join(t.TempDir(), "reports.db")
	testenv.Check(t, os.WriteFile(path, data, 0o600))
	if _, err := Repair(Options{Path: path, Model: pair}); err == nil || !strings.Contains(err.Error(), ErrVersion.Error()) {
		t.Errorf("Repair accepted it: %v", err)
	}
	if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, data) {
		t.Errorf("the file has changed: %v", err)
	}
}

// FuzzRescue reads hostile pages. Whatever numbers they contain, a repair ends, and the result
// opens.
func FuzzRescue(f *testing.F) {
	f.Add(uint16(2), uint16(8), []byte{2, 0, 255, 255, 255, 255, 255, 255})
	f.Add(uint16(3), uint16(16), bytes.Repeat([]byte{255}, 64))
	var good []byte
	f.Fuzz(func(t *testing.T, id, at uint16, b []byte) {
		if good == nil {
			good = filled(t)
		}
		data := bytes.Clone(good)
		clear(data[:2*os.Getpagesize()]) // both headers: every page is looked at
		copy(data[min(int(id)*os.Getpagesize()+int(at), len(data)):], b)
		path := filepath.Join(t.TempDir(), "reports.db")
		testenv.Check(t, os.WriteFile(path, data, 0o600))
		o := Options{Path: path, Model: pair, NoSync: true}
		if _, err := Repair(o); err != nil {
			t.Fatal(err)
		}
		l, err := Open(o)
		testenv.Check(t, err)
		if err := l.Check(); err != nil {
			t.Error(err)
		}
		l.Close()
	})
}

// An unreadable file, or something other than a file, is damage: Open rejects it, and a repair
// starts a new file.
func TestIllegible(t *testing.T) {
	for name, put := range map[string]func(path string) error{
		"a folder":   func(path string) error { return os.Mkdir(path, 0o700) },
		"a pipe":     func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"unreadable": func(path string) error { return os.Symlink("/proc/self/mem", path) }, // EIO at address 0
	} {
		path := filepath.Join(t.TempDir(), "reports.db")
		o := Options{Path: path, Model: pair, NoSync: true}
		testenv.Check(t, put(path))
		if l, err := Open(o); !errors.Is(err, ErrDamaged) {
			if err == nil {
				l.Close()
			}
			t.Errorf("%s: %v", name, err)
			continue
		}
		done, err := Repair(o)
		if err != nil || len(done.Faults) == 0 || !done.Unsure {
			t.Errorf("%s: %+v, %v", name, done, err)
			continue
		}
		l, err := Open(o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		l.Close()
	}
}

// A branch whose key is greater than the first key of its leaf hides that record from the
// library, although each page is valid by itself. Open rejects such a file, and a repair finds
// all records.
func TestBranchKeys(t *testing.T) {
	if testenv.RanWithoutRace(t) {
		return
	}
	good := eventful(t)
	head := headOf(t, good)
	page := int(head.page)
	path := filepath.Join(t.TempDir(), "reports.db")
	o := Options{Path: path, Model: pair, NoSync: true}
	kept := []string{"reports", "by", "names", "tallies"}
	must(t, os.WriteFile(path, good, 0o600))
	want := recordsOf(t, path, kept...)
	refused := 0
	for id := 2; id < int(head.pages); id++ {
		if !isBranch(good, id, page) {
			continue
		}
		for i := range binary.NativeEndian.Uint16(good[id*page+10:]) {
			bad := bytes.Clone(good)
			at := id*page + headBytes + int(i)*elementBytes
			e := bad[at:]
			last := at + int(binary.NativeEndian.Uint32(e)) + int(binary.NativeEndian.Uint32(e[4:])) - 1
			if bad[last] == 0xff {
				continue
			}
			bad[last]++
			must(t, os.WriteFile(path, bad, 0o600))
			l, err := Open(o)
			if err == nil { // an unused page of an earlier transaction
				must(t, l.Close())
				continue
			}
			if !errors.Is(err, ErrDamaged) {
				t.Fatalf("page %d, element %d: %v", id, i, err)
			}
			refused++
			done, err := Repair(o)
			if err != nil || done.Lost != 0 {
				t.Fatalf("page %d, element %d: repair: %+v, %v", id, i, done, err)
			}
			if got := recordsOf(t, path, kept...); !maps.Equal(got, want) {
				t.Errorf("page %d, element %d: %d records of %d", id, i, len(got), len(want))
			}
		}
	}
	t.Logf("%d keys", refused)
	if refused == 0 {
		t.Error("no branch is in use")
	}
}
