package desk

import (
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/reporting/ledger"
	"github.com/spambloom/spambloom/signature"
)

// Judge returns the evidence on a message.
func (d *Desk) Judge(set signature.Set) bloomdb.Evidence { return d.db.Judge(set) }

// IsNewSite reports whether nothing can be common at this site yet.
func (d *Desk) IsNewSite() bool { return d.db.IsNewSite() }

// Check returns the evidence on a message, and an answer without a verdict.
func (d *Desk) Check(set signature.Set) (api.Answer, bloomdb.Evidence) {
	e := d.db.Judge(set)
	return answer.New(set, e), e
}

// Explain returns the evidence on a message, and an explanation without a verdict.
// From is the domain that the message claims to be from; it is taken as proven only for Spared.
func (d *Desk) Explain(set signature.Set, from string) (api.Explanation, bloomdb.Evidence) {
	a, e := d.Check(set)
	proven := d.db.JudgeFrom(set, bloomdb.Sender{From: from})
	return api.Explanation{
		Answer:     a,
		Backing:    d.backing(set),
		Spared:     proven.Sender,
		NewSite:    proven.IsNewSite,
		Signatures: answer.Traces(set, e, d.db.Explain(set)),
		Sketches:   answer.SketchTraces(d.db.ExplainSketches(set)),
		Domains:    answer.DomainTraces(d.db.ExplainDomains(set)),
	}, e
}

// backing returns the weight behind a message at this site; nil: nobody here reported or revoked
// it. A fault of the ledger is shown elsewhere.
func (d *Desk) backing(set signature.Set) *api.Backing {
	set = d.db.Essence(set)
	b, err := d.ledger.Backing(set, d.anchors(set.Sketches), d.period(d.db.Now()))
	if err != nil || b.Sums == [2]ledger.Weight{} {
		return nil
	}
	return answer.Backing(b)
}
