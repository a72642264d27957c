package desk_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/reporting/trust"
)

// Messages are settled while what is settled is undone. At the end all of it is undone, and nothing is
// listed.
func TestSettledWhileUndone(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	root := desk.Author{Name: "root"}
	undo := func(who string) {
		_, err := s.Undo(api.UndoRequest{By: who, Since: desktest.Noon.AddDate(0, 0, -1)}, root)
		if err != nil && !errors.Is(err, desk.ErrNoReporter) {
			t.Error(err)
		}
	}
	const messages = 8
	var wg sync.WaitGroup
	for i := range messages {
		m := desktest.Letter(i, 0)
		for _, as := range []string{desk.SettleSpam, desk.SettleWanted} {
			if _, err := s.Settle(desk.Report{Set: m}, as, root); err != nil {
				t.Error(err)
			}
			wg.Go(func() { undo(ledger.Settler) })
		}
	}
	wg.Wait()
	undo(ledger.Settler)
	testenv.Check(t, s.CarryOutAll())
	for i := range messages {
		s.WantListed("what nobody reports", desktest.Letter(i, 0), false)
	}
}
