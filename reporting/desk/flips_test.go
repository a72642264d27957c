package desk_test

import (
	"errors"
	"testing"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/reporting/trust"
)

// A reporter whose word decides nothing cannot repeat it until the ledger has forgotten the words of
// others: undo lists again what another one revoked.
func TestFlipsAreBounded(t *testing.T) {
	s := desktest.New(t, trust.Default(), 0)
	spam, by, half := desktest.Letter(1, 0), desk.Author{Name: "root"}, 0.5
	if _, err := s.SetWeight(api.WeightRequest{Name: "accomplice", Weight: &half}, by); err != nil {
		t.Fatal(err)
	}
	s.MustReport("anna", spam)
	s.MustRevoke("mallory", spam)
	for i := range 12 {
		s.MustReport("accomplice", spam)
		_, err := s.Revoke(desk.Report{Set: spam, Reporter: "accomplice"})
		if want := i >= 4; want != errors.Is(err, desk.ErrRevokedOften) {
			t.Errorf("revocation %d: %v", i, err)
		}
	}
	s.MustRevoke("mallory", spam) // known before
	for _, who := range []string{"accomplice", "mallory"} {
		if _, err := s.Undo(api.UndoRequest{By: who, Since: desktest.Noon.AddDate(0, 0, -1)}, by); err != nil {
			t.Fatal(err)
		}
	}
	s.WantListed("what mallory revoked, after undo", spam, true)
}
