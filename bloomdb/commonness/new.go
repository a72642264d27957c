package commonness

// everything is the feature of all mail that is learned. No report takes it back.
const everything = 0xd1b54a32d192ed03

// IsNew reports whether the absence of commonness says nothing yet: not even what all mail has is
// common. That takes proven mail of two to three weeks, or an archive of wanted mail. It is a lookup
// of one feature, to be made for matches only.
func (t *Table) IsNew() bool {
	return t != nil && !t.opt.Reports.NoCommonness && !t.IsCommon(everything)
}

// Doubts reports whether near matches say little of mail of a proven From domain: the site is new, and no
// mail of the domain was reported here. "" is none.
func (t *Table) Doubts(from string) bool {
	return from != "" && t.IsNew() && !t.WasReported(from)
}

// WasReported reports whether mail of a proven From domain was reported here, in a period that is
// kept.
func (t *Table) WasReported(from string) bool {
	return t.IsLearning() && t.count(t.hash(from), ofReport, reportDays, 1) > 0
}

// Note records which proven domain sent a message that is not learned, because a report lists it: a
// report of it is then held against the domain.
func (t *Table) Note(message uint64, from string) {
	if t != nil && !t.opt.Reports.NoCommonness && from != "" {
		t.recent.note(message, t.hash(from), t.knows)
	}
}
