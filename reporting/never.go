package reporting

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/bloomdb/never"
)

// NeverRequest declares a message, or takes the declaration back.
type NeverRequest struct {
	Request
	Note string `json:"note,omitempty"` // to declare: at most 200 bytes of visible characters
	ID   string `json:"id,omitempty"`   // to take back: of an entry, in the place of signatures
}

// NeverEntry is one message on the never-list.
type NeverEntry struct {
	ID   string    `json:"id"` // of its strongest signature
	At   time.Time `json:"at"` // when it was declared
	Note string    `json:"note,omitempty"`
}

// NeverList is the never-list, or what was added to it or removed.
type NeverList struct {
	Entries []NeverEntry `json:"entries"` // the latest first
	Verdict string       `json:"verdict,omitempty"`
}

// Never declares that a message is never spam on this site; errors are those of
// bloomdb.DB.Never. When the error is nil, that is on disk.
func (d *Desk) Never(r Report, note string) (bloomdb.NeverEntry, error) {
	e, err := d.db.Never(r.Set, note)
	if err != nil {
		d.refused.WithLabelValues("never", reason(err)).Inc()
		return e, err
	}
	d.accepted.WithLabelValues("never", r.Class.String()).Inc()
	d.log.Info("never accepted", "reporter", r.Reporter, r.Origin.attr(), "ids", ids(r.Set.Signatures), "note", note)
	return e, nil
}

// Unnever takes declarations back: those of the message, or the one of id where
// that is not empty. None is no error.
func (d *Desk) Unnever(r Report, id string) (removed []bloomdb.NeverEntry, err error) {
	if id != "" {
		removed, err = d.db.UnneverID(id)
	} else {
		removed, err = d.db.Unnever(r.Set)
	}
	if err != nil {
		d.refused.WithLabelValues("unnever", reason(err)).Inc()
		return removed, err
	}
	d.accepted.WithLabelValues("unnever", r.Class.String()).Inc()
	names := make([]string, len(removed))
	for i, e := range removed {
		names[i] = e.ID
	}
	d.log.Info("unnever accepted", "reporter", r.Reporter, r.Origin.attr(), "ids", names)
	return removed, nil
}

// readNever takes a request about the never-list apart.
func readNever(r *http.Request) (Report, NeverRequest, error) {
	var n NeverRequest
	report, err := readAs(r, func(body io.Reader) (report Report, err error) {
		if err = decodeObject(body, &n); err == nil {
			report, err = n.Request.report()
		}
		return report, errors.Join(err, never.CheckNote(n.Note))
	})
	return report, n, err
}

func (h *handler) never(r *http.Request) (any, error) {
	report, n, err := readNever(r)
	if err != nil {
		return nil, err
	}
	if n.ID != "" {
		return nil, newProblem(http.StatusBadRequest, "an id takes back a declaration and makes none")
	}
	e, err := h.desk.Never(report, n.Note)
	if err != nil {
		return nil, err
	}
	list := newNeverList([]bloomdb.NeverEntry{e})
	list.Verdict = h.verdict(h.desk.db.Judge(report.Set), report)
	return list, nil
}

func (h *handler) unnever(r *http.Request) (any, error) {
	report, n, err := readNever(r)
	if err != nil {
		return nil, err
	}
	if n.Note != "" {
		return nil, newProblem(http.StatusBadRequest, "a note goes with a declaration only")
	}
	if n.ID != "" && (len(report.Set.Signatures) > 0 || !never.IsID(n.ID)) {
		return nil, newProblem(http.StatusBadRequest, "id %.40q: want KIND:16 hex digits, and no signatures beside it", n.ID)
	}
	removed, err := h.desk.Unnever(report, n.ID)
	if err != nil {
		return nil, err
	}
	list := newNeverList(removed)
	if n.ID == "" {
		list.Verdict = h.verdict(h.desk.db.Judge(report.Set), report)
	}
	return list, nil
}

func (h *handler) neverList(*http.Request) (any, error) {
	return newNeverList(h.desk.db.NeverList()), nil
}

func newNeverList(entries []bloomdb.NeverEntry) NeverList {
	list := NeverList{Entries: make([]NeverEntry, len(entries))}
	for i, e := range entries {
		list.Entries[i] = NeverEntry{e.ID, e.At.UTC(), e.Note}
	}
	return list
}
