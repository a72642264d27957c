package sketch

import (
	"slices"

	"github.com/spambloom/spambloom/signature"
)

// learnedKeys is the number of keys of a text that are learned: those that reports of texts with at least a
// sixth of its words store.
const learnedKeys = 128

// learnedOfPage is the number of words and paths, or of runs of words, of a page that are learned: the
// smallest, of which reports store the first.
const learnedOfPage = 32

// Features returns the features of a message by which package commonness learns: of a text its
// smallest keys, of an image its anchors, of a page its structure, words and paths, and the link
// domains.
func (sk *Index) Features(set signature.Set) (features []uint64) {
	for _, s := range set.Sketches[:min(len(set.Sketches), Max)] {
		if sip, ok := sk.SipKeys[s.Kind]; ok && s.Kind == signature.KindSketch {
			features = append(features, s.LeastKeys(learnedKeys, sip.Hash)...)
		}
	}
	others := slices.DeleteFunc(slices.Clone(set.Sketches), func(s signature.Sketch) bool { return s.Kind == signature.KindSketch })
	for _, s := range sk.Asked(others) {
		for i, g := range s.Groups {
			if hasWords(g) {
				if i == 0 || !hasWords(s.Groups[i-1]) { // the groups of all outlines have the same
					features = append(features, g.Keys[:min(len(g.Keys), learnedOfPage)]...)
				}
			} else {
				features = append(features, g.Anchor)
			}
		}
	}
	for _, d := range sk.opt.JudgedDomains(set.Domains) {
		features = append(features, sk.Common.Domain(d))
	}
	return features
}

// hasWords reports whether the keys of a page's group are words and paths, not a sender's code.
func hasWords(g signature.Group) bool { return g.By == signature.ByWords }

// Uncommon returns the keys of a group that are evidence at this site. The code of a sender, and
// the keys of an image, are evidence unless what they join is common.
func Uncommon(kind signature.Kind, g signature.Group, isCommon func(uint64) bool) []uint64 {
	if kind == signature.KindSketch || hasWords(g) {
		return slices.DeleteFunc(slices.Clone(g.Keys), isCommon)
	}
	if isCommon(g.Anchor) {
		return nil
	}
	return g.Keys
}

// ToReport returns the groups of a message's sketches that a report stores: without what is common
// at this site.
func (sk *Index) ToReport(sketches []signature.Sketch) []KindGroups {
	list := sk.groupsOf(sketches, func(s signature.Sketch, keyed func(uint64) uint64) []signature.Group {
		return s.ReportedBut(keyed, sk.Common.IsCommon)
	})
	for i, s := range list {
		if s.Kind == signature.KindSketch {
			continue
		}
		list[i].Groups = nil
		for _, g := range s.Groups {
			if g.Keys = Uncommon(s.Kind, g, sk.Common.IsCommon); len(g.Keys) >= Enough(g) || len(g.Keys) > 0 && !hasWords(g) {
				list[i].Groups = append(list[i].Groups, g)
			}
		}
	}
	return slices.DeleteFunc(list, func(s KindGroups) bool { return len(s.Groups) == 0 })
}
