package desk

import (
	"cmp"
	"errors"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// noted enters an action in the ledger under its user's name, and carries it out. The ledger
// comes first, so that no action is missing there. One that fails is removed again.
func (d *Desk) noted(by Author, what, of string, set signature.Set, carryOut func() error) error {
	n, err := d.ledger.Note(ledger.Act{
		At: d.db.Now(), What: what, By: api.FoldReporter(cmp.Or(by.Name, Anonymous)), Origin: by.Origin.String(),
		Of: of, IDs: answer.IDs(set.Signatures),
	})
	if err != nil {
		return err
	}
	if err := carryOut(); err != nil {
		if left := d.ledger.Strike(n); left != nil {
			return errors.Join(err, left)
		}
		return err
	}
	return nil
}

// author returns who makes a report.
func (r Report) author() Author { return Author{Name: r.Reporter, Origin: r.Origin} }

// Actions returns a page of the actions of users that are no reports, the newest first.
func (d *Desk) Actions(ask api.ActionsRequest) (api.Actions, error) {
	list, next, err := d.ledger.Acts(ask.Before, page(ask.Limit))
	if err != nil {
		return api.Actions{}, err
	}
	actions := api.Actions{Actions: make([]api.Action, len(list)), Next: next}
	for i, a := range list {
		actions.Actions[i] = answer.Act(a)
	}
	return actions, nil
}
