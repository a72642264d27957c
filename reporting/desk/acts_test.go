package desk_test

import (
	"testing"
	"time"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk"
	"github.com/spambloom/spambloom/reporting/desk/desktest"
	"github.com/spambloom/spambloom/signature"
)

// Each action that is no report is in the ledger under its user's name, and one that failed is not.
func TestActionsAreInTheLedger(t *testing.T) {
	d := desktest.New(t, desktest.TwoNeeded, 0)
	set, root := desktest.Letter(1, 0), desk.Author{Name: "root", Origin: desk.Origin{Known: true}}
	by := desk.Report{Set: set, Reporter: root.Name, Origin: root.Origin}
	zero := 0.0
	d.MustReport("anna", set)
	headless := by
	headless.Set.NoHeader = true
	if _, err := d.Never(headless, ""); err == nil {
		t.Error("a message without a header is declared never spam")
	}
	if _, err := d.Retouch(desk.Report{Set: signature.Set{}, Reporter: "root"}); err == nil {
		t.Error("nothing is retouched")
	}
	if err := d.Mute("mx1", false, root); err == nil {
		t.Error("this site is muted")
	}
	for _, c := range []struct {
		what string
		do   func() error
	}{
		{"settle", func() error { _, err := d.Settle(desk.Report{Set: set}, "spam", root); return err }},
		{"retouch", func() error { _, err := d.Retouch(by); return err }},
		{"never", func() error { _, err := d.Never(by, "ours"); return err }},
		{"remove", func() error { _, err := d.RemoveNever(by, ""); return err }},
		{"undo", func() error {
			_, err := d.Undo(api.UndoRequest{By: "anna", Since: desktest.Noon.Add(-time.Hour)}, root)
			return err
		}},
		{"weight", func() error { _, err := d.SetWeight(api.WeightRequest{Name: "anna", Weight: &zero}, root); return err }},
		{"mute", func() error { return d.Mute("mx2", false, root) }},
		{"unmute", func() error { return d.Mute("mx2", true, root) }},
		{"drop", func() error { return d.Drop("mx2", root) }},
	} {
		what := c.what
		before, err := d.Actions(api.ActionsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		now, err := d.Actions(api.ActionsRequest{})
		if err != nil || len(now.Actions) != len(before.Actions)+1 {
			t.Fatalf("%s: %d actions, then %d (%v)", what, len(before.Actions), len(now.Actions), err)
		}
		a := now.Actions[0]
		ofMessage := what == "never" || what == "remove" || what == "retouch" || what == "settle"
		if a.Action != what || a.By != "root" || a.Origin != "unix:0" || !a.At.Equal(desktest.Noon) || (len(a.IDs) > 0) != ofMessage || ofMessage && a.IDs[0] != set.Signatures[0].ID() {
			t.Errorf("%s is entered as %+v", what, a)
		}
	}
	if trail, err := d.Trail(api.TrailRequest{}, signature.Set{}); err != nil || len(trail.Reports) != 2 {
		t.Errorf("beside the report and the settlement: %+v (%v)", trail.Reports, err)
	}
	list, err := d.Actions(api.ActionsRequest{Limit: 2})
	if err != nil || len(list.Actions) != 2 || list.Next == 0 {
		t.Errorf("a page of two: %+v (%v)", list, err)
	}
	if dry, err := d.Undo(api.UndoRequest{By: "anna", Since: desktest.Noon, DryRun: true}, root); err != nil {
		t.Error(dry, err)
	}
	if all, err := d.Actions(api.ActionsRequest{}); err != nil || len(all.Actions) != 9 {
		t.Errorf("%d actions (%v); a dry run is none", len(all.Actions), err)
	}
}
