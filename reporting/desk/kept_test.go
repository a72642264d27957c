package desk_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/spambloom/spambloom/cmd/testenv"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// A message stays listed without its own report as long as a near-duplicate is reported. When that is
// undone or revoked too, nobody reports the message any longer, and it is taken back as well.
func TestTakenBackWithItsNearDuplicate(t *testing.T) {
	undo := func(t *testing.T, s *desktest.Stage, who string) {
		_, err := s.Undo(api.UndoRequest{By: who, Since: time.Unix(s.Clock.Load(), 0).Add(-time.Hour)}, desk.Author{})
		testenv.Check(t, err)
	}
	for name, c := range map[string]struct {
		model trust.Model
		end   func(*testing.T, *desktest.Stage)
	}{
		"undone":             {trust.Default(), func(t *testing.T, s *desktest.Stage) { undo(t, s, "eve") }},
		"revoked by another": {trust.Default(), func(_ *testing.T, s *desktest.Stage) { s.MustRevoke("bob", desktest.Letter(3, 1)) }},
		"revoked by its reporter": {desktest.TwoNeeded, func(_ *testing.T, s *desktest.Stage) {
			s.MustRevoke("eve", desktest.Letter(3, 1))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := desktest.New(t, c.model, 0)
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { s.Run(ctx); close(ended) }()
			defer func() { stop(); <-ended }()
			reporters := []string{"mallory", "eve"}
			if c.model == desktest.TwoNeeded {
				reporters = []string{"mallory", "mary", "eve", "emil"}
			}
			for i, who := range reporters {
				if 2*i >= len(reporters) {
					s.MustReport(who, desktest.Letter(3, 1))
					continue
				}
				for _, copy := range []int{6, 7, 0} { // most anchors have the last one's report only
					s.MustReport(who, desktest.Letter(3, copy))
				}
			}
			undo(t, s, "mallory")
			for _, copy := range []int{0, 6, 7} {
				s.WantListed("while a near-duplicate is reported", desktest.Letter(3, copy), true)
			}
			if c.model == desktest.TwoNeeded {
				undo(t, s, "mary")
			}
			c.end(t, s)
			for _, copy := range []int{0, 1, 6, 7} {
				testenv.Eventually(t, fmt.Sprintf("letter %d is taken back", copy), func() bool { return !s.DB.Judge(desktest.Letter(3, copy)).Listed })
			}
		})
	}
}
