package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/ledger/buckets"
	"github.com/spambloom/spambloom/reporting/ledger/record"
)

// act returns an action with a number.
func act(n int) record.Act {
	return record.Act{At: begin.Add(time.Duration(n) * time.Second), What: "retouch", By: "root", Origin: "unix:0", Of: fmt.Sprint(n), IDs: []string{"text:6f1ed002ab559585"}}
}

// Actions are kept with user, time and message, over a restart; they are no reports, so nothing is
// listed because of them.
func TestActs(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: small, NoSync: true}
	l, err := Open(o)
	testenv.Check(t, err)
	for n := range 3 {
		id, err := l.Note(act(n))
		testenv.Check(t, err)
		if n == 1 {
			testenv.Check(t, l.Strike(id))
		}
	}
	if _, err := l.Note(record.Act{What: "never"}); err == nil {
		t.Error("an action of nobody is entered")
	}
	testenv.Check(t, l.Close())
	l, err = Open(o)
	testenv.Check(t, err)
	defer l.Close()
	testenv.Check(t, l.Check())
	list, next, err := l.Acts(0, 10)
	if err != nil || next != 0 || len(list) != 2 || fmt.Sprint(list[0].Act) != fmt.Sprint(act(2)) || fmt.Sprint(list[1].Act) != fmt.Sprint(act(0)) {
		t.Errorf("%+v, next %d, %v", list, next, err)
	}
	if list, next, err = l.Acts(0, 1); err != nil || len(list) != 1 || next != list[0].ID {
		t.Errorf("the first page: %+v, next %d, %v", list, next, err)
	} else if list, next, err = l.Acts(next, 1); err != nil || len(list) != 1 || next != 0 || list[0].Of != "0" {
		t.Errorf("the last page: %+v, next %d, %v", list, next, err)
	}
	s, err := l.Status()
	if reports, _, e := l.Reports(Query{}); err != nil || e != nil || s.Reports != 0 || s.Reporters != 0 || s.Due != 0 || len(reports) != 0 {
		t.Errorf("actions are taken for reports: %+v, %+v, %v, %v", s, reports, err, e)
	}
	if err := l.Standing(func(s Standing) error { return fmt.Errorf("%+v", s) }); err != nil {
		t.Errorf("a new federation key would list %v", err)
	}
}

// The latest actions are kept, however many there are. A text of any length is cut.
func TestActsAreBounded(t *testing.T) {
	l := open(t, small)
	testenv.Check(t, l.commit(func(tx *txn) (refused, err error) {
		for n := range maxActs {
			if err := put(tx, uint64(n+1), act(n)); err != nil {
				return nil, err
			}
		}
		return nil, tx.Acts.SetSequence(maxActs)
	}))
	long := act(maxActs)
	long.By, long.IDs = strings.Repeat("ä", 300), make([]string, 100)
	for range 3 {
		if _, err := l.Note(act(maxActs)); err != nil {
			t.Fatal(err)
		}
	}
	list, _, err := l.Acts(0, 2*maxActs)
	if err != nil || len(list) != maxActs || list[0].ID != maxActs+3 || list[maxActs-1].ID != 4 {
		t.Errorf("%d actions are kept, from %d to %d (%v)", len(list), list[len(list)-1].ID, list[0].ID, err)
	}
	cut, err := record.DecodeAct(long.Encode())
	if err != nil || cut.By != strings.Repeat("ä", 127) || len(cut.IDs) != 8 {
		t.Errorf("%d bytes of the name and %d ids (%v)", len(cut.By), len(cut.IDs), err)
	}
}

func put(tx *txn, n uint64, a record.Act) error {
	key := buckets.NewNumber(n)
	return tx.Acts.Put(key[:], a.Encode())
}

// A repair keeps the actions beside a damaged one, and the numbers go on.
func TestRepairKeepsActs(t *testing.T) {
	o := Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: small, NoSync: true}
	l, err := Open(o)
	testenv.Check(t, err)
	for n := range 3 {
		_, err := l.Note(act(n))
		testenv.Check(t, err)
	}
	voice{t: t, l: l, at: begin}.say(Spam, "anna", message(1, 1))
	testenv.Check(t, l.file.Commit(func(tx *bolt.Tx) (refused, err error) {
		key := buckets.NewNumber(2)
		return nil, tx.Bucket(buckets.Acts).Put(key[:], []byte{1, 200, 'x'})
	}))
	if err := l.Check(); err == nil || !strings.Contains(err.Error(), "action 0000000000000002") {
		t.Errorf("the check finds %v", err)
	}
	if _, _, err := l.Acts(0, 10); err == nil {
		t.Error("a damaged action is shown")
	}
	testenv.Check(t, l.Close())
	if l, err := Open(o); err == nil {
		l.Close()
		t.Error("a damaged action is not seen at the start")
	}
	done, err := Repair(o)
	if err != nil || len(done.Faults) == 0 || done.Reports != 1 || done.Lost != 0 {
		t.Fatalf("%+v, %v", done, err)
	}
	l, err = Open(o)
	testenv.Check(t, err)
	defer l.Close()
	id, err := l.Note(act(3))
	list, _, e := l.Acts(0, 10)
	if err != nil || e != nil || len(list) != 3 || id != 4 || list[1].Of != "2" || list[2].Of != "0" {
		t.Errorf("after the repair action %d, and %+v (%v, %v)", id, list, err, e)
	}
	if _, err := os.Stat(o.Path + damagedSuffix); err != nil {
		t.Error(err)
	}
}
