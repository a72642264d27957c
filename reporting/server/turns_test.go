package server

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/spambloom/spambloom/reporting/api"
)

// A user's requests beyond the bound wait, those of others and of root do not; one that
// waits too long is told to come later.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		anna, bert, root := caller{name: "anna", right: reportRight}, caller{name: "bert", right: reportRight}, caller{name: "root", right: adminRight}
		var leave []func()
		for range maxAtOnce {
			l, problem := all.take(t.Context(), anna)
			if problem != nil {
				t.Fatal(problem)
			}
			leave = append(leave, l)
		}
		for _, c := range []caller{bert, root} {
			l, problem := all.take(t.Context(), c)
			if problem != nil {
				t.Errorf("%s: %v", c.name, problem)
			}
			l()
		}
		if _, problem := all.take(t.Context(), anna); problem == nil || problem.Status != http.StatusTooManyRequests {
			t.Errorf("one more of anna's: %v", problem)
		}
		waits := make(chan *api.Problem)
		go func() {
			l, problem := all.take(t.Context(), anna)
			if problem == nil {
				l()
			}
			waits <- problem
		}()
		synctest.Wait()
		leave[0]()
		if problem := <-waits; problem != nil {
			t.Errorf("when a turn has ended: %v", problem)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, l := range leave[1:] {
			l()
		}
		if l, problem := all.take(ctx, anna); problem == nil {
			l()
		}
		if len(all.of) != 0 {
			t.Errorf("%d users are remembered", len(all.of))
		}
	})
}
