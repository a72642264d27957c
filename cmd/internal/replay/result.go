package replay

import (
	"slices"
	"time"

	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/milter/policy"
	"github.com/spambloom/spambloom/signature"
)

// Result is the result of an archive. Caught means the verdict spam; bulk is a separate
// verdict.
type Result struct {
	Messages int `json:"messages"`
	Spam     int `json:"spam"`
	Ham      int `json:"ham"`

	Caught      int     `json:"caught"`       // spam with the verdict spam
	CaughtShare float64 `json:"caught_share"` // of all spam
	Missed      int     `json:"missed"`       // the rest of the spam
	HamHit      int     `json:"ham_hit"`      // ham with the verdict spam

	BulkSpam     int `json:"bulk_spam"`     // of the missed: judged bulk
	BulkHam      int `json:"bulk_ham"`      // ham judged bulk
	UnsignedSpam int `json:"unsigned_spam"` // of the missed: too little content to sign
	UnsignedHam  int `json:"unsigned_ham"`

	Reported     int `json:"reported"`     // spam reported before the last message
	Unreportable int `json:"unreportable"` // too little content to report

	Kinds []KindResult `json:"kinds"` // in the order of the kinds' numbers

	FalsePositives []FalsePositive `json:"false_positives"` // in order, followed by those of further keys
	MissedFiles    []Miss          `json:"missed_files,omitempty"`

	From         time.Time `json:"from,omitzero"`
	To           time.Time `json:"to,omitzero"`
	JudgeSeconds float64   `json:"judge_seconds"` // for judging, counting, reporting and exchanging

	Keys []KeyResult `json:"keys,omitempty"` // of RunKeys

	outcomes []outcome // in order, for the plot
}

// KindResult is the result of one kind of signature. Several kinds may list a message.
type KindResult struct {
	Kind   string `json:"kind"`
	Caught int    `json:"caught"` // spam listed by it
	Alone  int    `json:"alone"`  // spam listed by no other kind
	HamHit int    `json:"ham_hit"`
}

// FalsePositive is ham with the verdict spam.
type FalsePositive struct {
	File    string    `json:"file"`
	Time    time.Time `json:"time,omitzero"`
	Keys    int       `json:"keys"` // number of keys with this false positive
	Reasons []Reason  `json:"reasons"`
}

// Miss is spam that was not caught.
type Miss struct {
	File    string `json:"file"`
	Verdict string `json:"verdict"` // clean, bulk or skipped
}

// outcome is one point of the plot.
type outcome struct {
	time         time.Time
	spam, caught bool
}

// kinds are the kinds counted in a result, in its order.
var kinds = []signature.Kind{signature.KindBody, signature.KindText, signature.KindAttachment, signature.KindSketch,
	signature.KindImage, signature.KindDomain, signature.KindContent, signature.KindShape, signature.KindPhrase}

func newResult() *Result {
	r := &Result{FalsePositives: []FalsePositive{}}
	for _, k := range kinds {
		r.Kinds = append(r.Kinds, KindResult{Kind: k.String()})
	}
	return r
}

// add counts one message.
func (r *Result) add(m *Message, d policy.Decision, e bloomdb.Evidence, reasons []Reason) {
	listed := d.Verdict == policy.Spam
	r.outcomes = append(r.outcomes, outcome{m.Time, m.Spam, listed})
	r.Messages++
	if m.Spam {
		r.addSpam(m, d)
	} else {
		r.addHam(m, d, reasons)
	}
	if listed {
		r.addKinds(m.Spam, e)
	}
}

func (r *Result) addSpam(m *Message, d policy.Decision) {
	r.Spam++
	switch d.Verdict {
	case policy.Spam:
		r.Caught++
		return
	case policy.Bulk:
		r.BulkSpam++
	case policy.Skipped:
		r.UnsignedSpam++
	}
	r.Missed++
	r.MissedFiles = append(r.MissedFiles, Miss{File: m.Name, Verdict: string(d.Verdict)})
}

func (r *Result) addHam(m *Message, d policy.Decision, reasons []Reason) {
	r.Ham++
	switch d.Verdict {
	case policy.Spam:
		r.HamHit++
		r.FalsePositives = append(r.FalsePositives, FalsePositive{File: m.Name, Time: m.Time, Reasons: reasons})
	case policy.Bulk:
		r.BulkHam++
	case policy.Skipped:
		r.UnsignedHam++
	}
}

// addKinds counts the distinct kinds that list a message.
func (r *Result) addKinds(spam bool, e bloomdb.Evidence) {
	var found []*KindResult
	seen := make(map[signature.Kind]bool)
	for _, m := range e.Matches {
		k := m.Signature.Kind
		i := slices.Index(kinds, k)
		if m.Revoked || seen[k] || i < 0 {
			continue
		}
		seen[k] = true
		found = append(found, &r.Kinds[i])
	}
	for _, k := range found {
		switch {
		case !spam:
			k.HamHit++
		default:
			k.Caught++
			if len(found) == 1 {
				k.Alone++
			}
		}
	}
}

func (r *Result) finish(messages []Message, judging time.Duration) {
	if r.Spam > 0 {
		r.CaughtShare = float64(r.Caught) / float64(r.Spam)
	}
	if len(messages) > 0 {
		r.From, r.To = messages[0].Time, messages[len(messages)-1].Time
	}
	r.JudgeSeconds = judging.Seconds()
}
