package judging

import (
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// siteDoubt is the answer of a keyspace whether near matches of a message need more, because the site is new.
type siteDoubt int

const (
	doubtUnknown siteDoubt = iota
	doubtNone
	doubtNear
)

// doubtsNear reports whether near matches of the message need more in this keyspace: the site is new,
// so that nothing can be common yet, and the sender is proven, and no mail of it was reported here.
// It asks once, and only if there is a near match.
func (q *question) doubtsNear() bool {
	if q.doubt == doubtUnknown {
		q.doubt = doubtNone
		if c := q.ks.Common; q.sender != "" && c.IsNew() && !c.WasReported(q.sender) {
			q.doubt = doubtNear
		}
	}
	return q.doubt == doubtNear
}

// bar is the sketch.Bar of the message.
func (q *question) bar(kind signature.Kind, g signature.Group) int {
	if q.doubtsNear() {
		return sketch.NearlyAll(kind, g)
	}
	return sketch.Enough(g)
}

// askNear asks whether the near matches of a message are doubted in any keyspace.
func (f *facts) askNear(asked []question) {
	for i := range asked {
		if len(f.sketches) > 0 && asked[i].doubtsNear() {
			f.doubted = asked[i].sender
		}
	}
}

// hold moves to Spared what would list the message if the site were not new: near matches with less
// than nearly all of what was reported, and weak ones beside a link domain. Mail of a known sender is
// spared for that.
func (f *facts) hold(e *Evidence, p Policy) {
	if f.doubted == "" || len(e.Matches) == 1 { // a domain that lists alone has evidence of its own
		return
	}
	held := e.Matches
	for i := 0; i < len(f.sketches) && len(held) == 0; i++ {
		if m, ok := f.sketches[i].match(f.message); ok && m.isHeld && !f.never.Spares(m.Signature) {
			held = append(held, m.Match)
		}
	}
	if len(held) > 0 {
		e.Spared, e.Matches, e.Sender, e.IsNewSite = append(e.Spared, held...), nil, f.doubted, p.Sender == ""
	}
	e.Weak = nil
}
