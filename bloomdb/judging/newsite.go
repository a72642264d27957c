package judging

// askNear asks whether the near matches of a message are doubted in any keyspace.
func (f *facts) askNear(asked []question) {
	for i := range asked {
		if len(f.sketches) > 0 && asked[i].ks.Common.Doubts(asked[i].sender) {
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
