package replay

import (
	"github.com/spambloom/spambloom/bloomdb"
	"github.com/spambloom/spambloom/signature"
)

// reported records the reported messages, which filters do not. It traces a match to its
// report, and recognises a match without one, which is a false positive of a filter.
type reported struct {
	exact    map[signature.Signature]*Message // the first of equal ones
	messages []*Message
}

func newReported() *reported {
	return &reported{exact: make(map[signature.Signature]*Message)}
}

func (r *reported) add(m *Message) {
	r.messages = append(r.messages, m)
	for _, s := range m.Set.Signatures {
		if r.exact[s] == nil {
			r.exact[s] = m
		}
	}
}

// Reason is why a message was listed.
type Reason struct {
	Kind     string  `json:"kind"`
	ID       string  `json:"id"`
	Reported string  `json:"reported,omitempty"` // the earlier message that it matches; empty: a false positive of a filter
	Found    int     `json:"found,omitempty"`    // for a sketch: keys of one group found in the filters
	Need     int     `json:"need,omitempty"`     // for a sketch: needed for a match
	Likeness float64 `json:"likeness,omitempty"` // for a sketch: the share of the reported features that the message contains
	Domains  int     `json:"domains,omitempty"`  // for a link: reported messages with a common domain
}

// reasons traces the matches that list a message.
func (r *reported) reasons(set signature.Set, e bloomdb.Evidence) []Reason {
	var reasons []Reason
	for _, m := range e.Matches {
		if m.Revoked {
			continue
		}
		reason := Reason{Kind: m.Signature.Kind.String(), ID: m.Signature.ID(), Found: m.Found, Need: m.Need}
		switch m.Signature.Kind {
		case signature.KindSketch, signature.KindImage, signature.KindShape:
			r.traceSketch(&reason, set, m.Signature.Kind)
		case signature.KindDomain:
			r.traceDomain(&reason, set)
		default:
			if m := r.exact[m.Signature]; m != nil {
				reason.Reported = m.Name
			}
		}
		reasons = append(reasons, reason)
	}
	return reasons
}

// traceSketch finds the message whose sketch has most in common with the listed one. Which
// of its groups are stored is the database's secret.
func (r *reported) traceSketch(reason *Reason, set signature.Set, kind signature.Kind) {
	for _, listed := range set.Sketches {
		if listed.Kind != kind {
			continue
		}
		for _, m := range r.messages {
			for _, s := range m.Set.Sketches {
				if s.Kind != kind {
					continue
				}
				if l := contained(s, listed); l > reason.Likeness {
					reason.Likeness, reason.Reported = l, m.Name
				}
			}
		}
	}
}

// traceDomain finds the first message with a common domain.
func (r *reported) traceDomain(reason *Reason, set signature.Set) {
	for _, m := range r.messages {
		if len(commonDomains(m.Set, set)) == 0 {
			continue
		}
		reason.Domains++
		if reason.Reported == "" {
			reason.Reported = m.Name
		}
	}
}
