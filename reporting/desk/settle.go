package desk

import (
	"fmt"

	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// What a message may be settled as.
const (
	SettleSpam   = "spam"
	SettleWanted = "wanted"
	SettleNever  = "never"
)

// maxSettled bounds the messages that are settled at one time.
const maxSettled = 10_000

// Settle settles what a message is at this site: spam, wanted or never (api.SettleRequest).
// Words of users here and of other sites do not change it while the ledger keeps reports; never
// does not expire. Other sites get a report or a revocation, like any other. When the error is
// nil, that is on disk.
func (d *Desk) Settle(r Report, as string, by Author) (o Outcome, err error) {
	r.Reporter, r.Origin, r.Trusted, r.settles = ledger.Settler, by.Origin, true, true
	err = d.noted(by, "settle", as, r.Set, func() error {
		o, err = d.settle(r, as)
		return err
	})
	if err != nil {
		return o, err
	}
	d.log.Info("message settled", "as", as, "by", by.Name, by.Origin.Attr(), "ids", o.IDs)
	return o, nil
}

func (d *Desk) settle(r Report, as string) (Outcome, error) {
	if as == SettleNever {
		e, err := d.declare(r.Set, "")
		if _, err := d.declared(r, e, "", err); err != nil {
			return Outcome{}, err
		}
	}
	action, stance := "revoke", ledger.Ham
	if as == SettleSpam {
		action, stance = "report", ledger.Spam
	}
	return d.accept(action, stance, r)
}

// SetOf returns the message of a report that is kept, as the ledger has it. ErrNoReport if it
// has expired.
func (d *Desk) SetOf(id uint64) (signature.Set, error) {
	r, err := d.ledger.Report(id)
	if err == nil && r.ID == 0 {
		err = fmt.Errorf("%w %d", ErrNoReport, id)
	}
	// The ledger does not keep by which signatures a message is counted: the first ones are asked.
	r.Set.Counting = r.Set.Signatures[:min(2, len(r.Set.Signatures))]
	return r.Set, err
}

// loadSettled brings what is settled to the database, which goes by it before all filters. One list at
// a time: otherwise an older one could replace that of a message that was settled meanwhile.
func (d *Desk) loadSettled() {
	d.settling.Lock()
	defer d.settling.Unlock()
	list, _, err := d.ledger.Reports(ledger.Query{Reporter: ledger.Settler, Limit: maxSettled})
	if err != nil {
		d.log.Error("settled messages are not known", "error", err)
		return
	}
	settled := map[signature.Signature]bool{}
	for _, r := range list {
		for _, s := range r.Set.Signatures {
			if _, ok := settled[s]; !ok && r.State == ledger.Counts && s.Kind.IsOfMessage() { // the newest comes first
				settled[s] = r.Stance == ledger.Spam
			}
		}
	}
	d.db.Settle(settled)
}
