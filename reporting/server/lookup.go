package server

import (
	"errors"

	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/signature"
)

// maxQueueID bounds a queue id, in bytes.
const maxQueueID = 256

// readLookup checks a request and returns the message in it, if it has one.
func readLookup(q api.LookupRequest) (signature.Set, error) {
	set, err := read(q.Request)
	if err != nil {
		return set, err
	}
	named := 0
	for _, is := range []bool{len(set.Signatures) > 0, q.ID != "", q.QueueID != ""} {
		if is {
			named++
		}
	}
	switch {
	case named != 1:
		return set, badRequest(errors.New("to look a message up takes one of its signatures, an id and a queue id"))
	case len(q.QueueID) > maxQueueID:
		return set, badRequest(errors.New("the queue id is too long"))
	case q.ID != "":
		if _, _, err := signature.ParseID(q.ID); err != nil {
			return set, badRequest(err)
		}
	}
	return set, nil
}

// lookup answers v1.Lookup. A caller that does not administrate may ask for a message only,
// and sees no names of other reporters and no queue ids.
func (h *handler) lookup(c caller, q api.LookupRequest) (api.Lookup, error) {
	set, err := readLookup(q)
	if err != nil {
		return api.Lookup{}, err
	}
	if problem := c.needs(adminRight); problem != nil && len(set.Signatures) == 0 {
		return api.Lookup{}, problem
	}
	known, evidence, signed, err := h.desk.Lookup(q, set)
	if err != nil {
		return known, err
	}
	if known.Explanation != nil {
		known.Explanation.Verdict, known.Explanation.Unheard = h.Decide(evidence, signed), h.unheard()
	}
	c.hideOthers(known.Reports)
	for i := range known.Judged {
		if !c.may(adminRight) {
			known.Judged[i].QueueID = ""
		}
	}
	return known, nil
}

// hideOthers removes the names of other reporters, unless the caller administrates.
func (c caller) hideOthers(reports []api.Reported) {
	for i, r := range reports {
		if !c.may(adminRight) && !c.isReporter(r.Reporter) {
			reports[i].Reporter, reports[i].Origin = "", ""
		}
	}
}

// revokeID answers v1.RevokeID.
func (h *handler) revokeID(c caller, q api.LookupRequest) (api.Receipt, error) {
	set, err := readLookup(q)
	if err != nil {
		return api.Receipt{}, err
	}
	if len(set.Signatures) > 0 {
		return api.Receipt{}, badRequest(errors.New("to revoke by id takes no signatures"))
	}
	if set, err = h.desk.Find(q); err != nil {
		return api.Receipt{}, err
	}
	report, err := c.reportOf(set, q.Request)
	if err != nil {
		return api.Receipt{}, err
	}
	return h.enterReport(report, h.desk.Revoke)
}
