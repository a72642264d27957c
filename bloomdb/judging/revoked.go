package judging

import (
	"cmp"
	"slices"

	"github.com/spambloom/spambloom/bloomdb/layout"
	"github.com/spambloom/spambloom/bloomdb/never"
	"github.com/spambloom/spambloom/bloomdb/sketch"
	"github.com/spambloom/spambloom/bloomdb/store"
	"github.com/spambloom/spambloom/signature"
)

// sketchWords returns the words about near-duplicates, down to the newest revocation of each
// sketch whose revocation counts. The groups of a revoked message may differ from those that listed
// it, because these come from another message. Generations older than a revocation of the message
// itself are not looked up.
func (q *question) sketchWords(s sketch.KindGroups) (list words) {
	q.askMessage()
	for i, of := range q.standingFor(s) {
		for _, g := range q.view.Reports {
			if g.Num <= max(q.message.words.revoked(), list.revoked()) {
				break
			}
			if top := sketch.Top(g, of, q.ks.Settings.Site); top > 0 {
				list = append(list, wordAbout{i, layout.NewWord(g.Num, top)})
			}
		}
		list = list.sorted()
	}
	return list
}

// apart returns the overlaps of a list, or of other groups, that are apart from all near-duplicates
// which were revoked in their generation or later; if there are none, the list.
func (q *question) apart(query *sketch.Query, s sketch.KindGroups, g *store.ReportGeneration, list []sketch.Overlap) ([]sketch.Overlap, bool) {
	if s.Kind == signature.KindSketch && g.Num > q.message.words.revoked() {
		if apart := query.Apart(g, q.ks.Settings.Site, q.revokedKeys(query, s, g.Num)); len(apart) > 0 {
			return apart, true
		}
	}
	return list, false
}

// revokedKeys returns the keys of near-duplicates of a sketch that were revoked in a generation or later.
// There is an empty list among them if the message was revoked as one that carries these words: the keys
// of what it carries cannot be compared.
func (q *question) revokedKeys(query *sketch.Query, s sketch.KindGroups, since int64) (revoked [][]uint64) {
	for i, of := range q.standingFor(s) {
		for _, g := range q.view.Reports {
			if g.Num < since {
				break
			}
			keys := query.RevokedKeys(g, of, q.ks.Settings.Site)
			if i > 0 {
				clear(keys)
			}
			revoked = append(revoked, keys...)
		}
	}
	return revoked
}

// standingFor returns the sketches whose revocation takes back a match by s: s itself, and if
// that is plain, the one that stands for the message. A revocation stores only the latter.
func (q *question) standingFor(s sketch.KindGroups) []sketch.KindGroups {
	list := []sketch.KindGroups{s}
	if q.plain&(1<<s.Number) == 0 {
		return list
	}
	for _, of := range q.groups {
		if of.Number == s.Number-1 {
			list = append(list, of)
		}
	}
	return list
}

// plainOf returns a bit for each sketch that does not stand for its message.
func plainOf(sketches []signature.Sketch) (bits uint64) {
	for i := range sketches[:min(len(sketches), sketch.Max)] {
		if never.IsPlain(sketches, i) {
			bits |= 1 << i
		}
	}
	return bits
}

// messageOf returns the facts against a listing of the message, from all keyspaces.
func messageOf(asked []question) messageFacts {
	var m messageFacts
	for i := range asked {
		asked[i].askMessage()
		m = m.unite(asked[i].message)
	}
	return m
}

// askMessage gathers the facts against a listing of the message itself, once.
func (q *question) askMessage() {
	if q.isMessageKnown {
		return
	}
	q.isMessageKnown = true
	for _, g := range q.view.Reports {
		isRetouched := false
		for i, s := range q.exact {
			if !s.Kind.IsOfMessage() {
				continue
			}
			h := q.hashes()[i]
			if g.Revoked.Has(h) {
				q.message.words = append(q.message.words, wordAbout{i, layout.NewWord(g.Num, g.Top(h))})
			}
			isRetouched = isRetouched || g.Mask.Retouched(h)
		}
		if isRetouched {
			q.message.retouched = append(q.message.retouched, g.Num)
		}
	}
}

func (m messageFacts) unite(o messageFacts) messageFacts {
	return messageFacts{m.words.unite(o.words), slices.Concat(m.retouched, o.retouched)}
}

// words are the newest words in generations that have a revocation, newest generation first.
type words []wordAbout

// wordAbout is the newest word about one thing in one generation.
type wordAbout struct {
	number int // of the signature in its set, or of the sketch among those whose revocation counts
	word   layout.Word
}

// revoked returns the newest generation in which a revocation is the newest word;
// neverRevoked.
func (ws words) revoked() int64 {
	for _, w := range ws {
		if layout.IsRevocation(w.word.Rung()) {
			return w.word.Gen()
		}
	}
	return neverRevoked
}

// unite keeps the newest word about each thing in each generation.
func (ws words) unite(os words) words {
	ws = Merged(ws, os,
		func(w, o wordAbout) bool { return w.number == o.number && w.word.Gen() == o.word.Gen() },
		func(w *wordAbout, o wordAbout) { w.word = max(w.word, o.word) })
	return ws.sorted()
}

// sorted sorts words, the newest generation first.
func (ws words) sorted() words {
	slices.SortStableFunc(ws, func(w, o wordAbout) int { return cmp.Compare(o.word.Gen(), w.word.Gen()) })
	return ws
}
