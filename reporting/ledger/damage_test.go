package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/salvage"
)

// filled returns the bytes of a ledger with some reports.
func filled(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "reports.db")
	l, err := Open(Options{Path: path, Model: pair})
	testenv.Check(t, err)
	v := voice{t: t, l: l, at: begin}
	for i := range 100 {
		v.say(Spam, "anna", message(i, i))
		v.say(Spam, "bob", message(i, i))
	}
	testenv.Check(t, l.Close())
	data, err := os.ReadFile(path)
	testenv.Check(t, err)
	return withoutSpace(t, data)
}

func TestOpenRefuses(t *testing.T) {
	good := filled(t)
	edited := func(edit func(tx *bolt.Tx) error) []byte {
		path := filepath.Join(t.TempDir(), "reports.db")
		testenv.Check(t, os.WriteFile(path, good, 0o600))
		db, err := bolt.Open(path, 0o600, nil)
		testenv.Check(t, err)
		testenv.Check(t, db.Update(edit))
		db.Close()
		data, err := os.ReadFile(path)
		testenv.Check(t, err)
		return data
	}
	format := bytes.Clone(good) // the version of bbolt's own format, in both headers
	for _, page := range []int{0, os.Getpagesize()} {
		format[page+16+4] = 9
	}
	for name, test := range map[string]struct {
		data []byte
		text string
	}{
		"a later version": {edited(func(tx *bolt.Tx) error {
			return tx.Bucket(buckets.Meta).Put(buckets.KeyVersion, buckets.VersionValue(2))
		}), "newer format (version 2; this program reads 1), made by another version of spambloom"},
		"a flipped version": {edited(func(tx *bolt.Tx) error {
			return tx.Bucket(buckets.Meta).Put(buckets.KeyVersion, []byte{3, 0xfe})
		}), "damaged, or no ledger: version [3 254]"},
		"another program's file": {edited(func(tx *bolt.Tx) error {
			return tx.DeleteBucket(buckets.Meta)
		}), "damaged, or no ledger: it has a bucket"},
		"a bucket is missing": {edited(func(tx *bolt.Tx) error {
			return tx.DeleteBucket(buckets.Due)
		}), `it has no bucket "due"`},
		"another format of bbolt": {format, "made by another version of bbolt"},
		"text":                    {bytes.Repeat([]byte("no ledger "), 2000), "damaged, or no ledger: invalid database"},
		"cut short":               {good[:8*os.Getpagesize()], "cut short"},
		"cut in its header":       {good[:5000], "reports.db"},
		"one byte":                {good[:1], "reports.db"},
	} {
		path := filepath.Join(t.TempDir(), "reports.db")
		testenv.Check(t, os.WriteFile(path, test.data, 0o600))
		l, err := Open(Options{Path: path, Model: pair})
		if err == nil {
			l.Close()
			t.Errorf("%s: Open succeeded", name)
			continue
		}
		if !strings.Contains(err.Error(), test.text) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %q, want %q and the path", name, err, test.text)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, test.data) {
			t.Errorf("%s: the file has changed: %v", name, err)
		}
	}
}

func TestOpenTwice(t *testing.T) {
	testenv.Servers(t)
	if testenv.RanWithoutRace(t) {
		return
	}
	l := open(t, small)
	if _, err := Open(l.opt); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second Open returned %v", err)
	}
}

// TestDamagedValues: whatever the values contain, no call panics. Each call returns an error or
// continues.
func TestDamagedValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(testenv.Seed(t), 0))
	good := filled(t)
	for range testenv.Rounds(90) {
		path := filepath.Join(t.TempDir(), "reports.db")
		testenv.Check(t, os.WriteFile(path, good, 0o600))
		l, err := Open(Options{Path: path, Model: pair, NoSync: true})
		testenv.Check(t, err)
		name := [][]byte{buckets.Reports, buckets.Tallies, buckets.Reporters, buckets.Due}[rng.IntN(4)]
		testenv.Check(t, l.file.Commit(func(tx *bolt.Tx) (refused, err error) { return nil, spoil(tx.Bucket(name), rng) }))
		_, _ = l.Enter(Entry{Reporter: "carl", At: begin, Period: begin, Set: message(rng.IntN(100), 1)})
		_, _ = l.Enter(Entry{Reporter: "anna", Stance: Ham, At: begin, Period: begin, Set: message(rng.IntN(100), 1)})
		_, _, _ = l.Reports(Query{Limit: 1000})
		_, _ = l.Due(0, 1000)
		_, _ = l.Withdraw(Undo{Reporter: "anna"})
		_, _ = l.Expire(begin.Add(100 * week))
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

// spoil changes a byte of each third value of a bucket.
func spoil(b *bolt.Bucket, rng *rand.Rand) error {
	changed := map[string][]byte{}
	c := b.Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		if rng.IntN(3) == 0 && len(v) > 0 {
			v = bytes.Clone(v)
			v[rng.IntN(min(len(v), 20))] ^= 1 << rng.IntN(8)
			changed[string(k)] = v
		}
	}
	for k, v := range changed {
		if err := b.Put([]byte(k), v); err != nil {
			return err
		}
	}
	return nil
}

func TestCheck(t *testing.T) {
	l := open(t, pair)
	v := voice{t: t, l: l, at: begin}
	for i := range 50 {
		v.say(Spam, "anna", message(i, i))
	}
	if err := l.Check(); err != nil {
		t.Error(err)
	}
	key := buckets.NewNumber(7)
	if err := l.file.Commit(func(tx *bolt.Tx) (refused, err error) {
		return nil, tx.Bucket(buckets.Reports).Put(key[:], []byte("garbage"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := l.Check(); err == nil || !strings.Contains(err.Error(), "report 0000000000000007: damaged") {
		t.Errorf("a damaged report: %v", err)
	}
}

// A file of a newer version is rejected as newer, whatever its records contain. Repair rejects
// it, too. A flipped version is repaired.
func TestNewerLedger(t *testing.T) {
	good := filled(t)
	write := func(t *testing.T, edit func(tx *bolt.Tx) error) (path string, data []byte) {
		path = filepath.Join(t.TempDir(), "reports.db")
		must(t, os.WriteFile(path, good, 0o600))
		db, err := bolt.Open(path, 0o600, nil)
		must(t, err)
		must(t, errors.Join(db.Update(edit), db.Close()))
		data, err = os.ReadFile(path)
		must(t, err)
		return path, data
	}
	newer := func(tx *bolt.Tx) error {
		return tx.Bucket(buckets.Meta).Put(buckets.KeyVersion, buckets.VersionValue(2))
	}
	for name, edit := range map[string]func(tx *bolt.Tx) error{
		"alike": newer,
		"with other records": func(tx *bolt.Tx) error { // more of them before the version than faults are listed
			var err error
			for i := range 3 * salvage.MaxFaults {
				err = errors.Join(err, tx.Bucket(buckets.Due).Put(fmt.Appendf(nil, "decision %d", i), []byte("other")))
			}
			_, e := tx.CreateBucket([]byte("another bucket"))
			return errors.Join(err, e, newer(tx))
		},
	} {
		path, data := write(t, edit)
		for what, try := range map[string]func(Options) error{
			"open":   func(o Options) error { _, err := Open(o); return err },
			"repair": func(o Options) error { _, err := Repair(o); return err },
		} {
			err := try(Options{Path: path, Model: pair})
			if !errors.Is(err, ErrVersion) || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) ||
				!strings.Contains(err.Error(), "newer format (version 2; this program reads 1)") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, data) {
			t.Errorf("%s: the file has changed: %v", name, err)
		}
	}
	path, _ := write(t, func(tx *bolt.Tx) error { return tx.Bucket(buckets.Meta).Put(buckets.KeyVersion, []byte{3, 0xfe}) })
	if done, err := Repair(Options{Path: path, Model: pair}); err != nil || len(done.Faults) != 1 || done.Lost != 0 {
		t.Errorf("a flipped version: %+v, %v", done, err)
	}
	l, err := Open(Options{Path: path, Model: pair})
	must(t, err)
	must(t, l.Close())
}

func must(t *testing.T, err error) {
	t.Helper()
	testenv.Check(t, err)
}
