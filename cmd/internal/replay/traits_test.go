package replay

import (
	"hash/fnv"
	"net/mail"
	"slices"
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/links"
	messages "github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/words"
)

// trait is something that two messages can have in common.
type trait uint16

const (
	sameStructure trait = 1 << iota // all tags of the page
	sameOutline                     // an outline of the page
	samePath                        // a path of a link or of a remote picture
	sameDomain                      // a link domain that is not well known
	sameSubject
	sameLongSubject
	sameSender // the address in From
)

// traits are what a message can have in common with another one.
type traits struct {
	values map[trait][]uint64
	runs   []uint64 // of three words, different ones
	words  []uint64 // of four letters or more, different ones
}

// leastSubject is the length of a folded subject, in bytes, that is compared, and longSubject that
// of one that is long.
const leastSubject, longSubject = 8, 24

// traitsOf reads a message. Its set is that of signature.Compute.
func traitsOf(m signature.Message, set signature.Set) traits {
	t := traits{values: make(map[trait][]uint64)}
	add := func(kind trait, h uint64) { t.values[kind] = append(t.values[kind], h) }
	for _, s := range set.Sketches {
		switch s.Kind {
		case signature.KindSketch:
			t.runs = append(t.runs, hashes(s)...)
		case signature.KindShape:
			for _, a := range s.Anchors {
				add([]trait{sameStructure, 0, sameOutline, sameOutline}[a.Pos], a.Hash)
			}
		}
	}
	for _, d := range set.ToReport().Domains {
		if !signature.WellKnown(d) {
			add(sameDomain, hashOf(d))
		}
	}
	text, paths := shown(m)
	for _, p := range paths {
		add(samePath, hashOf(p))
	}
	for _, w := range split(text) {
		if len(w) >= 4 || isUnspaced([]rune(w)[0]) {
			t.words = append(t.words, hashOf(w))
		}
	}
	if s := folded(messages.Subject(m.Header)); len(s) >= leastSubject {
		add(sameSubject, hashOf(s))
		if len(s) >= longSubject {
			add(sameLongSubject, hashOf(s))
		}
	}
	if from, err := mail.ParseAddress(messages.Value(m.Header, "From")); err == nil {
		add(sameSender, hashOf(strings.ToLower(from.Address)))
	}
	delete(t.values, 0)
	for _, list := range t.values {
		slices.Sort(list)
	}
	t.runs, t.words = different(t.runs), different(t.words)
	return t
}

// shown returns the folded text that a message shows, and the paths of its links and pictures.
func shown(m signature.Message) (text string, paths []string) {
	var texts visible.Texts
	texts.Begin(m.Header, 0, nil)
	messages.Walk(m, nil, func(l messages.Leaf) {
		texts.Note(l)
		if visible.IsText(l) && !l.IsCut {
			texts.Add(l, l.Content(nil))
		}
	})
	var all words.Tokeniser
	for i := range texts.Parts {
		p := &texts.Parts[i]
		if p.IsAside || texts.IsReplaced(p) {
			continue
		}
		v := texts.Show(p)
		all.Add(v.Shown.Text, nil, nil)
		of := links.PathsOf(v.References, nil)
		paths = append(append(paths, of.Pictures...), of.Links...)
	}
	return string(all.Text), paths
}

func folded(text string) string {
	var t words.Tokeniser
	t.Add([]byte(text), nil, nil)
	return string(t.Text)
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(text)) // never fails
	return h.Sum64()
}

func different(list []uint64) []uint64 {
	slices.Sort(list)
	return slices.Compact(list)
}

// pair is what a message has in common with an earlier spam.
type pair struct {
	same        trait
	runs, words int     // in common
	rare        int     // words in common that little ham has
	ofRuns      float64 // share of the earlier one's runs that the message has
	ofWords     float64 // share of the words of both that both have
}

// index finds the reported messages that have anything in common with another one.
type index struct {
	list   []*traits
	values map[trait]map[uint64][]int32
	runs   map[uint64][]int32
	words  map[uint64][]int32
	isRare func(word uint64) bool

	met  []int32 // numbers of those with anything in common
	same []trait
	n    [][3]int32 // runs, words, and rare words in common
}

func newIndex(isRare func(word uint64) bool) *index {
	return &index{values: make(map[trait]map[uint64][]int32), runs: make(map[uint64][]int32), words: make(map[uint64][]int32), isRare: isRare}
}

func (x *index) add(t *traits) {
	number := int32(len(x.list))
	x.list, x.same, x.n = append(x.list, t), append(x.same, 0), append(x.n, [3]int32{})
	for kind, list := range t.values {
		if x.values[kind] == nil {
			x.values[kind] = make(map[uint64][]int32)
		}
		for _, v := range slices.Compact(slices.Clone(list)) {
			x.values[kind][v] = append(x.values[kind][v], number)
		}
	}
	for _, r := range t.runs {
		x.runs[r] = append(x.runs[r], number)
	}
	for _, w := range t.words {
		x.words[w] = append(x.words[w], number)
	}
}

// each passes on what a message has in common with each reported one with which it has anything.
func (x *index) each(t *traits, visit func(number int, p pair)) {
	meet := func(i int32) {
		if x.same[i] == 0 && x.n[i] == [3]int32{} {
			x.met = append(x.met, i)
		}
	}
	for kind, list := range t.values {
		for _, v := range list {
			for _, i := range x.values[kind][v] {
				meet(i)
				x.same[i] |= kind
			}
		}
	}
	count := func(of map[uint64][]int32, features []uint64, column int) {
		for _, f := range features {
			isRare := column == 1 && x.isRare(f)
			for _, i := range of[f] {
				meet(i)
				x.n[i][column]++
				if isRare {
					x.n[i][2]++
				}
			}
		}
	}
	count(x.runs, t.runs, 0)
	count(x.words, t.words, 1)
	for _, i := range x.met {
		n, other := x.n[i], x.list[i]
		p := pair{same: x.same[i], runs: int(n[0]), words: int(n[1]), rare: int(n[2])}
		p.ofRuns = float64(p.runs) / float64(max(1, len(other.runs)))
		p.ofWords = float64(p.words) / float64(max(1, len(other.words)+len(t.words)-p.words))
		visit(int(i), p)
		x.same[i], x.n[i] = 0, [3]int32{}
	}
	x.met = x.met[:0]
}

func TestTraits(t *testing.T) {
	read := func(raw string) *traits {
		m := signature.Parse([]byte(raw))
		of := traitsOf(m, signature.Compute(m))
		return &of
	}
	const head = "From: Prize <win@%.example>\nSubject: You have won 1000\nContent-Type: text/html\n\n"
	const page = `<table width="9"><tr><td><img src="http://%.example/summer-prizes/winner.jpg"></td><td><a href="http://%.example/claim-your-prize?u=7">claim</a><br><p>wonderful</p></td></tr></table>`
	x := newIndex(func(uint64) bool { return false })
	x.add(read(strings.ReplaceAll(head+page, "%", "one")))
	x.add(read("From: a@b.example\n\nnothing of that kind\n"))
	for name, c := range map[string]struct {
		raw  string
		want trait
	}{
		"other hosts":     {strings.ReplaceAll(head+page, "%", "two"), sameStructure | sameOutline | samePath | sameSubject},
		"the sender only": {"From: <WIN@one.example>\n\nhello\n", sameSender},
		"a link":          {"From: c@d.example\n\nhttp://one.example/elsewhere\n", sameDomain},
		"nothing":         {"From: c@d.example\n\nhello\n", 0},
	} {
		got := trait(0)
		x.each(read(c.raw), func(number int, p pair) {
			if number == 0 {
				got = p.same
			}
		})
		if got != c.want {
			t.Errorf("%s: %b in common, want %b", name, got, c.want)
		}
	}
}

func TestWordsInCommon(t *testing.T) {
	x := newIndex(func(w uint64) bool { return w == 4 })
	x.add(&traits{runs: []uint64{1, 2, 3, 4}, words: []uint64{4, 5, 6}})
	for range 2 { // nothing is left of the first time
		x.each(&traits{runs: []uint64{3, 4, 9}, words: []uint64{4, 6, 7}}, func(_ int, p pair) {
			if want := (pair{0, 2, 2, 1, 0.5, 0.5}); p != want {
				t.Errorf("in common: %+v, want %+v", p, want)
			}
		})
	}
}
