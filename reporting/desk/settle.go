package desk

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/spambloom/spambloom/reporting/api"
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

// SetOf returns the message of a report that is kept, as Find does by its text or body: what else one reporter
// names may be another message, of which nobody spoke. ErrNoReport if the report has expired; ErrAmbiguous.
func (d *Desk) SetOf(id uint64) (signature.Set, error) {
	r, err := d.ledger.Report(id)
	if err != nil || len(r.Set.Signatures) == 0 {
		return r.Set, cmp.Or(err, fmt.Errorf("%w %d", ErrNoReport, id))
	}
	first := slices.IndexFunc(r.Set.Signatures, func(s signature.Signature) bool { return s.Kind.IsOfMessage() })
	set, err := d.Find(api.LookupRequest{ID: r.Set.Signatures[max(first, 0)].ID()})
	set.Counting = signature.Counting(set.Signatures)
	return set, err
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
