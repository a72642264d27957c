package desk

import (
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/signature"
)

// maxRetouchedList bounds the signatures in the answer of Retouched.
const maxRetouchedList = 10_000

// Never adds a message to the never-list of this site and returns the entry. Errors are
// those of bloomdb.DB.Never, and signature.ErrNoHeader. When the error is nil, the entry is on disk.
func (d *Desk) Never(r Report, note string) (api.NeverList, error) {
	var e bloomdb.NeverEntry
	err := d.noted(r.author(), "never", note, r.Set, func() (err error) {
		e, err = d.declare(r.Set, note)
		return err
	})
	return d.declared(r, e, note, err)
}

func (d *Desk) declare(set signature.Set, note string) (bloomdb.NeverEntry, error) {
	if set.NoHeader {
		return bloomdb.NeverEntry{}, signature.ErrNoHeader
	}
	return d.db.Never(set, note)
}

// declared counts and logs a declaration.
func (d *Desk) declared(r Report, e bloomdb.NeverEntry, note string, err error) (api.NeverList, error) {
	if err := d.count("never", r, err); err != nil {
		return api.NeverList{}, err
	}
	d.log.Info("never accepted", "reporter", r.Reporter, r.Origin.Attr(), "ids", answer.IDs(r.Set.Signatures), "note", note)
	return answer.NeverList([]bloomdb.NeverEntry{e}), nil
}

// RemoveNever removes the entries of a message from the never-list, or the entry with the
// ID if that is not empty. It returns the removed entries, and no error if there are none.
func (d *Desk) RemoveNever(r Report, id string) (api.NeverList, error) {
	var removed []bloomdb.NeverEntry
	err := d.noted(r.author(), "remove", id, r.Set, func() (err error) {
		if id != "" {
			removed, err = d.db.RemoveNeverID(id)
		} else {
			removed, err = d.db.RemoveNever(r.Set)
		}
		return err
	})
	if err := d.count("remove", r, err); err != nil {
		return api.NeverList{}, err
	}
	names := make([]string, len(removed))
	for i, e := range removed {
		names[i] = e.ID
	}
	d.log.Info("remove accepted", "reporter", r.Reporter, r.Origin.Attr(), "ids", names)
	return answer.NeverList(removed), nil
}

// NeverList returns the never-list of this site.
func (d *Desk) NeverList() api.NeverList { return answer.NeverList(d.db.NeverList()) }

// Learn records a message of an archive of wanted mail, and returns whether it was learned: not if it
// matches a report. The time and the errors are those of
// bloomdb.DB.LearnArchived, and signature.ErrNoHeader. The log has no line for a message: an archive has many.
func (d *Desk) Learn(r Report, from string, at time.Time) (learned bool, err error) {
	err = signature.ErrNoHeader
	if !r.Set.NoHeader {
		learned, err = d.db.LearnArchived(r.Set, from, at)
	}
	return learned, d.count("learn", r, err)
}

// KeepLearned returns when all that was learned is on disk.
func (d *Desk) KeepLearned() error { return d.db.Keep() }

// Retouch hides the listings of a message on this site. Errors are those of
// bloomdb.DB.Retouch. When the error is nil, the change is on disk.
func (d *Desk) Retouch(r Report) (api.Retouching, error) {
	var done bloomdb.Retouching
	err := d.noted(r.author(), "retouch", "", r.Set, func() (err error) {
		done, err = d.db.Retouch(r.Set)
		return err
	})
	if err := d.count("retouch", r, err); err != nil {
		return api.Retouching{}, err
	}
	d.log.Info("retouch accepted", "reporter", r.Reporter, r.Origin.Attr(),
		"ids", answer.IDs(r.Set.Signatures), "listings", len(done.Listings), "loss", done.Loss)
	return answer.Retouching(done), nil
}

// PlanRetouch returns the result that Retouch would have.
func (d *Desk) PlanRetouch(r Report) (api.Retouching, error) {
	plan, err := d.db.PlanRetouch(r.Set)
	return answer.Retouching(plan), err
}

// Retouched returns the signatures that are retouched on this site.
func (d *Desk) Retouched() api.RetouchedList {
	keys := d.db.Retouched()
	list := api.RetouchedList{Total: len(keys), Signatures: make([]api.RetouchedKey, min(len(keys), maxRetouchedList))}
	for i := range list.Signatures {
		k := keys[i]
		list.Signatures[i] = api.RetouchedKey{ID: k.ID, Generation: k.Generation, Start: k.Start.UTC(), At: k.At.UTC()}
	}
	return list
}

// count counts a change as accepted or refused, and returns err.
func (d *Desk) count(action string, r Report, err error) error {
	if err != nil {
		d.refused.WithLabelValues(action, reason(err)).Inc()
	} else {
		d.accepted.WithLabelValues(action, r.Class.String()).Inc()
	}
	return err
}
