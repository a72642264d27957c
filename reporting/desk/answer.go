package desk

import (
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/reporting/api"
	"github.com/spambloom/spambloom/reporting/desk/answer"
	"github.com/spambloom/spambloom/signature"
)

// Judge returns the evidence on a message.
func (d *Desk) Judge(set signature.Set) bloomdb.Evidence { return d.db.Judge(set) }

// Check returns the evidence on a message, and an answer without a verdict.
func (d *Desk) Check(set signature.Set) (api.Answer, bloomdb.Evidence) {
	e := d.db.Judge(set)
	return answer.New(set, e), e
}

// Explain returns the evidence on a message, and an explanation without a verdict.
// From is the domain that the message claims to be from; it is taken as proven only for Spared.
func (d *Desk) Explain(set signature.Set, from string) (api.Explanation, bloomdb.Evidence) {
	a, e := d.Check(set)
	return api.Explanation{
		Answer:     a,
		Spared:     d.db.JudgeFrom(set, bloomdb.Sender{From: from}).Sender,
		Signatures: answer.Traces(set, e, d.db.Explain(set)),
		Sketches:   answer.SketchTraces(d.db.ExplainSketches(set)),
		Domains:    answer.DomainTraces(d.db.ExplainDomains(set)),
	}, e
}
