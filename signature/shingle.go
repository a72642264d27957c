package signature

import "unicode/utf8"

// A shingle is a run of words: a key says about as much as three words of an
// alphabet, an anchor as two. What a word says is its measure.
const (
	wordMeasure   = 12
	keyMeasure    = 3 * wordMeasure
	anchorMeasure = 2 * wordMeasure
	// shortWord is the length, in bytes, of the words that anchors leave out: "of
	// the" stands everywhere.
	shortWord = 3
)

// token is a word of the visible text, or a character where a script puts no
// blanks between words.
type token struct {
	start, end uint32 // in the folded text
	by         author
	hidden     bool // plainly
	carried    carriage
}

const (
	// maxSketched bounds the words that are sketched.
	maxSketched = 16 << 10
)

// ownWords are the tokens of the text that are sketched: its author's
// own. Where these are too few and the message answers no other, those that he quotes
// as well: a quotation mark before each line is no place to hide. It leaves their text
// in c.own, and tells whether that has the content of a text that signs.
func (c *computer) ownWords(of *tokeniser) (own []token, areEnough bool) {
	own = c.wordsBy(of, byAuthor)
	areEnough = isEnough(c.own, brief, boilerplate())
	if c.origin.answer == noAnswer && !areEnough {
		own = c.wordsBy(of, byOther)
		areEnough = isEnough(c.own, brief, boilerplate())
	}
	return own, areEnough
}

// sketchOfAll is what is asked, and never reported, of a new message whose author
// shows too few words of his own: of all words, those too that are hidden, quoted or
// boilerplate, and those of every alternative. Who shows his text where we take it for
// hidden, or all of it below the mark of a signature, is found by it. Mail of lists,
// which add words that spam on the list has too, is left out.
func (c *computer) sketchOfAll() (s Sketch, ok bool) {
	if c.origin.answer != noAnswer || c.origin.list {
		return s, false
	}
	all := &c.every
	all.restart()
	for i := range c.texts {
		if t := &c.texts[i]; !t.aside && !c.work.isOver() {
			all.add(c.show(t).all.text, nil, nil)
		}
	}
	if !hasContent(all.text, brief) {
		return s, false
	}
	s = c.wordsOf(all, c.wordsBy(all, byProgram), false)
	s.AskOnly = true
	return s, true
}

// wordsBy are the tokens by the author, and by others up to last, until the next call.
func (c *computer) wordsBy(of *tokeniser, last author) []token {
	own := c.ownTokens[:0]
	c.own = c.own[:0]
	for _, t := range of.tokens {
		if t.by > last {
			continue
		}
		if len(own) == maxSketched {
			c.limits |= LimitWords
			break
		}
		own = append(own, t)
		c.own = append(append(c.own, of.text[t.start:t.end]...), ' ')
	}
	c.ownTokens = own
	return own
}

// measure is what a token says. Four Han characters say as much as three words,
// so do six Kana, and nine letters of the scripts of South-East Asia.
func (t token) measure(text []byte) int {
	r, _ := utf8.DecodeRune(text[t.start:t.end])
	switch {
	case !isDense(r):
		return wordMeasure
	case 0x3040 <= r && r <= 0x312F, 0x31A0 <= r && r <= 0x31BF, 0x31F0 <= r && r <= 0x31FF:
		return wordMeasure / 2
	case r >= 0x3005:
		return wordMeasure * 3 / 4
	}
	return wordMeasure / 3
}

// wordsOf is the sketch of words of a text. Where isMarked, those that are hidden or
// carried are others than the same words shown in a body.
func (c *computer) wordsOf(of *tokeniser, tokens []token, isMarked bool) Sketch {
	text := of.text
	s := Sketch{Kind: KindSketch}
	c.work.count(stepsOfToken * len(tokens))
	words, long := c.shingled[:0], c.long[:0]
	for i, t := range tokens {
		w := word{t.hash(text, isMarked), uint32(i), int32(t.measure(text))}
		words = append(words, w)
		if w.measure < wordMeasure || t.end-t.start > shortWord {
			long = append(long, w)
		}
	}
	c.shingled, c.long = words, long
	s.Keys = shingles(words, keyMeasure)
	s.Anchors = shingles(long, anchorMeasure)
	return s
}

// word is what a token is to its shingles.
type word struct {
	hash    uint64
	pos     uint32
	measure int32
}

// shingles are the runs of words that come to a measure, one from each word on
// from which there are enough.
func shingles(words []word, measure int32) []Feature {
	features := make([]Feature, 0, len(words))
	for i := range words {
		h, sum := uint64(measure), int32(0)
		for j := i; j < len(words) && sum < measure; j++ {
			h = scramble(h ^ words[j].hash)
			sum += words[j].measure
		}
		if sum >= measure {
			features = append(features, Feature{h, words[i].pos})
		}
	}
	return features
}

// hash is the hash of the word, which its marks change: what carries it is hashed
// before it, and what hides it changes the result.
func (t token) hash(text []byte, isMarked bool) uint64 {
	if !isMarked {
		return hashWord(nil, text[t.start:t.end])
	}
	h := hashWord(t.carried.mark(), text[t.start:t.end])
	if t.hidden {
		h = scramble(h + 1)
	}
	return h
}

// hashWord is FNV-1a of 64 bits, of the mark and the word.
func hashWord(mark, w []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range mark {
		h = (h ^ uint64(c)) * 1099511628211
	}
	for _, c := range w {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
