package desk

import (
	"bytes"
	"errors"
	"slices"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/desk/identity"
	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// ErrUnknown is the error for a message that was neither reported here nor judged lately.
var ErrUnknown = errors.New("no message with this id is known here")

// ErrAmbiguous is the error for an id with which reporters named messages that cannot be the same, or a queue
// id of different mail. A revocation by it could take back another message, which somebody put beside it.
var ErrAmbiguous = errors.New("reports or mail with this id do not agree about the rest of the message; give the message itself, or undo the reporter who is wrong (spambloom reports)")

// maxLookup bounds each list of a lookup.
const maxLookup = 100

// finding is what was found of a message without having it.
type finding struct {
	asked   signature.Set    // the message of the request, if it has one
	judged  []judged.Message // the latest first
	reports []ledger.Report  // the latest first
}

// Lookup returns what is known of a message that is named by an ID, by a queue id, or by
// set, its signatures. The explanation has no verdict; evidence is about the part of the
// message that it explains, which is signed unless nothing was found.
func (d *Desk) Lookup(ask api.LookupRequest, set signature.Set) (known api.Lookup, evidence bloomdb.Evidence, signed bool, err error) {
	f, err := d.find(ask, set, func(*judged.Message) bool { return true })
	if err != nil {
		return known, evidence, false, err
	}
	since := d.opt.Judged.Since().UTC()
	known = api.Lookup{Since: since, Reports: []api.Reported{}, Judged: []api.Judged{}, Unknown: []string{}}
	for _, r := range f.reports {
		known.Reports = append(known.Reports, answer.Reported(r))
	}
	for _, m := range f.judged {
		known.Judged = append(known.Judged, api.Judged{At: m.At.UTC(), QueueID: m.QueueID, Verdict: m.Verdict, Spared: m.Spared, IDs: answer.IDs(m.Set.Signatures)})
	}
	part, isWhole := f.toExplain()
	if signed = len(part.Signatures) > 0; signed {
		x, e := d.Explain(part, "")
		known.Explanation, evidence = &x, e
	}
	known.Unknown = append(known.Unknown, answer.Unknown(ask, signed, isWhole, since)...)
	return known, evidence, signed, nil
}

// find looks into the ledger and the messages that were judged lately, of which it holds those that keep wants.
func (d *Desk) find(ask api.LookupRequest, set signature.Set, keep func(*judged.Message) bool) (f finding, err error) {
	switch {
	case ask.QueueID != "":
		f.judged = d.opt.Judged.Find(maxLookup, func(m *judged.Message) bool { return m.QueueID == ask.QueueID && keep(m) })
	case ask.ID != "":
		kind, digest, err := signature.ParseID(ask.ID)
		if err != nil {
			return f, err
		}
		has := func(s signature.Signature) bool { return s.Kind == kind && bytes.HasPrefix(s.Digest[:], digest[:]) }
		f.judged = d.opt.Judged.Find(maxLookup, func(m *judged.Message) bool {
			return (slices.ContainsFunc(m.Set.Signatures, has) || slices.ContainsFunc(m.Shown, has)) && keep(m)
		})
		if f.reports, err = d.ledger.Lookup(kind, digest, maxLookup); err != nil || len(f.reports) > 0 {
			return f, err
		}
	default:
		f.asked = set
		f.judged = d.opt.Judged.Find(maxLookup, func(m *judged.Message) bool { return identity.IsSame(m.Set, set) && keep(m) })
	}
	of := f.asked
	if len(of.Signatures) == 0 && len(f.judged) > 0 {
		of = f.judged[0].Set
	}
	if len(of.Signatures) > 0 {
		of = d.db.Essence(of)
		f.reports, _, err = d.ledger.Reports(ledger.Query{Set: of, Anchors: d.anchors(of.Sketches), Limit: maxLookup})
	}
	return f, err
}

// toExplain returns the part of the message that can be judged. isWhole is false if
// sketches and domains are missing.
func (f finding) toExplain() (set signature.Set, isWhole bool) {
	switch {
	case len(f.asked.Signatures) > 0:
		return f.asked, true
	case len(f.judged) > 0:
		set = f.judged[0].Set
		return set, len(set.Sketches)+len(set.Domains) > 0
	case len(f.reports) > 0:
		set = f.reports[0].Set
		set.Sketches, set.Counting = nil, signature.Counting(set.Signatures) // the ledger's sketches cannot be judged
	}
	return set, false
}

// toRevoke returns the largest part of the message that is known: the ledger keeps what a
// revocation stores of a sketch. It returns ErrAmbiguous if that would be the word of one reporter against
// another's, or if different mail has the queue id or picture. Reports that were taken back count only if there are no others.
func (f finding) toRevoke(judged identity.Joint) (set signature.Set, err error) {
	isBack := func(r ledger.Report) bool { return r.State == ledger.Withdrawn }
	if standing := slices.DeleteFunc(slices.Clone(f.reports), isBack); len(standing) > 0 {
		f.reports = standing
	}
	switch {
	case judged.IsAmbiguous:
		return set, ErrAmbiguous
	case len(f.judged) > 0:
		set = judged.Set
		same := slices.IndexFunc(f.reports, func(r ledger.Report) bool { return identity.IsSame(r.Set, set) })
		if !f.judged[0].IsShort || same < 0 {
			return set, nil
		}
		set = f.reports[same].Set
	case len(f.reports) > 0:
		set = f.reports[0].Set
	default:
		return set, ErrUnknown
	}
	if slices.ContainsFunc(f.reports, func(r ledger.Report) bool { return identity.IsSame(r.Set, set) && !identity.CanBeSame(r.Set, set) }) {
		return signature.Set{}, ErrAmbiguous
	}
	return set, nil
}

// Find returns the latest message that was reported or judged under an ID or a queue id, as
// far as it is known, to be revoked. ErrUnknown if there is none; ErrAmbiguous.
func (d *Desk) Find(ask api.LookupRequest) (signature.Set, error) {
	of, _, _ := signature.ParseID(ask.ID) // find returns the error
	joint := identity.Joint{Of: of, IsQueueID: ask.QueueID != ""}
	f, err := d.find(ask, signature.Set{}, func(m *judged.Message) bool { return joint.Add(m.Set) })
	if err != nil {
		return signature.Set{}, err
	}
	return f.toRevoke(joint)
}
