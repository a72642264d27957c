package judging

import (
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/signature"
)

// compareDeclared finds the near matches of a near-duplicate of a declared message that come from its other words,
// those which are not the declared message's. They are not spared: otherwise, a declared text below a reported spam
// would shield it.
func (q *question) compareDeclared(sketches []signature.Sketch) {
	q.never.Apart = make(map[signature.Signature]bool)
	for _, f := range q.sketches {
		s := sketches[f.number]
		if s.Kind != signature.KindSketch || q.plain&(1<<f.number) != 0 {
			continue
		}
		declared := make(map[uint64]bool)
		for feature, is := range q.ks.Never.Declared(s) {
			declared[q.ks.Sketches.SipKeys[s.Kind].Hash(feature)] = is
		}
		for _, m := range f.matches {
			compared, common := 0, 0
			for _, k := range m.keys {
				is, ok := declared[k]
				compared, common = compared+boolOrder(ok), common+boolOrder(is)
			}
			if sketch.AreOthers(compared, common) {
				q.never.Apart[m.Signature] = true
			}
		}
	}
}
