package desk

import (
	"slices"

	"github.com/spambloom/spambloom/reporting/judged"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// hits counts the mail of the last day at this site that those parts of a report would hit which nobody else has
// reported. Exact copies are counted by the filters, which survive a restart, unless the part is listed: they count
// listed mail, too. Near-duplicates, senders and mail of known senders are counted by the memory of unlisted mail.
func (d *Desk) hits(e ledger.Entry) (found judged.Likeness, err error) {
	rest, alone, err := d.ledger.Alone(e.Set, e.Anchors, e.Reporter)
	if err != nil {
		return found, err
	}
	g := judged.Group{Signatures: rest.Signatures, Domains: e.Set.Domains}
	for i, a := range alone {
		g.Anchors = append(g.Anchors, slices.DeleteFunc(slices.Clone(a.Hashes), d.db.IsCommon))
		g.Need, g.Kinds = append(g.Need, a.Need), append(g.Kinds, rest.Sketches[i].Kind)
	}
	found = d.opt.Unlisted.Like(g, e.At)
	for part := range slices.Chunk(rest.Signatures, 1) {
		if evidence := d.db.Judge(signature.Set{Signatures: part, Counting: signature.Counting(part)}); !evidence.Listed {
			found.Mails = max(found.Mails, evidence.OwnCount)
		}
	}
	return found, nil
}

// hold lets a report wait for a second reporter if it hits much mail. It returns how much that is, if nobody has
// reported the message before.
func (d *Desk) hold(r Report, e *ledger.Entry) (hits ledger.Likeness, err error) {
	if e.Stance == ledger.Ham {
		return hits, nil
	}
	reported, err := d.ledger.Reported(e.Set, e.Anchors)
	if err != nil {
		return hits, err
	}
	found, err := d.hits(*e)
	if err != nil {
		return hits, err
	}
	if hits = (ledger.Likeness{Mails: found.Mails, Senders: found.Senders}); d.isMuch(r, found) {
		e.Held = hits
	}
	if reported {
		return ledger.Likeness{}, nil
	}
	return hits, nil
}

// isMuch reports whether a report of so many hits is held: for a trap, of those of known senders, as anybody can
// send it a copy of a newsletter. An archive in the name of a trap is an administrator's.
func (d *Desk) isMuch(r Report, hits judged.Likeness) bool {
	if r.Trap {
		hits.Mails = hits.Known
	}
	return d.opt.HoldFrom > 0 && hits.Mails >= d.opt.HoldFrom && r.Trap == IsTrap(r.Reporter) && !r.Administers && !r.settles
}
