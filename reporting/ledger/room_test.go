package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
)

// Four reporters use all room that reports may take. Others can still revoke. When revocations have taken theirs, an
// administrator can still report, revoke and settle.
func TestFullLedgerLeavesRoom(t *testing.T) {
	const most = 160
	l, err := Open(Options{Path: filepath.Join(t.TempDir(), "reports.db"), Model: small, Max: most, NoSync: true})
	testenv.Check(t, err)
	defer l.Close()
	entry := func(n int, who string, stance Stance, trusted bool) Entry {
		e := numbered(n, who, "unix:"+who)
		e.Stance, e.Trusted = stance, trusted
		return e
	}
	fill := func(from int, stance Stance) (n int) {
		for ; ; n++ {
			if _, err := l.Enter(entry(from+n, fmt.Sprint(stance, "user", n%8), stance, false)); errors.Is(err, ErrFull) {
				return n
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := fill(0, Spam); n != most-most/8 {
		t.Errorf("%d reports, want %d", n, most-most/8)
	}
	if s, err := l.Status(); err != nil || !s.Full {
		t.Errorf("reports are refused, and the status is %+v, %v", s, err)
	}
	if n := fill(0, Ham); n != most/16 {
		t.Errorf("then %d revocations, want %d", n, most/16)
	}
	for i, e := range []Entry{entry(100, "admin", Ham, true), entry(500, "admin", Spam, true), entry(101, Settler, Ham, false)} {
		if _, err := l.Enter(e); err != nil {
			t.Errorf("administrator's entry %d: %v", i, err)
		}
	}
}
