package reserve_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/reserve"
	"github.com/spambloom/spambloom/reporting/ledger"
)

// A step reads no more reports than there is room for, unless most of them take none: then an undo of many is
// not as many steps.
func TestLimit(t *testing.T) {
	for name, c := range map[string]struct {
		taken           float64
		wanted, delists int
		want            int
		isRefused       bool
	}{
		"an empty period":            {0, 100, 100, 100, false},
		"without a limit":            {0, 0, 130, 200, false},
		"half used":                  {0.5, 100, 100, 43, false},
		"half used, few delisted":    {0.5, 100, 40, 100, false},
		"hardly room":                {0.7499, 100, 100, 1, false},
		"hardly room, none delisted": {0.7499, 100, 0, 100, false},
		"used up":                    {0.75, 100, 1, 0, true},
		"used up, none delisted":     {0.9, 100, 0, 100, false},
	} {
		s := bloomdb.Status{Revocable: 100_000}
		s.Filters = slices.Grow(s.Filters, 2)[:2]
		s.Filters[0].Kind, s.Filters[0].Taken = "spam", 1
		s.Filters[1].Kind, s.Filters[1].Taken = "revoked", c.taken
		plan := func(ask api.UndoRequest) (ledger.Undone, error) {
			if !ask.DryRun {
				t.Errorf("%s: the plan withdraws", name)
			}
			return ledger.Undone{Delisted: c.delists}, nil
		}
		got, err := reserve.Limit(s, api.UndoRequest{Limit: c.wanted}, plan)
		if got != c.want || errors.Is(err, ledger.ErrPeriodShare) != c.isRefused {
			t.Errorf("%s: %d, %v; want %d", name, got, err, c.want)
		}
	}
}
