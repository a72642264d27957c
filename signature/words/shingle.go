package words

import (
	"unicode/utf8"

	"github.com/spambloom/spambloom/signature/digest"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/work"
)

// shortWord is the length, in bytes, of the words that anchors leave out: "of the" stands
// everywhere.
const shortWord = 3

// Token is a word of the visible text, or a character if the script puts no blanks
// between words.
type Token struct {
	start, end uint32 // in the folded text
	by         span.Author
	isHidden   bool // plainly hidden
	Carried    mail.Carriage
}

// Sketcher makes sketches of words. Its buffers are used again for the next sketch.
type Sketcher struct {
	Own    []byte      // text of the latest words that WordsBy returned
	Limits work.Limits // reached so far
	Work   *work.Steps

	tokens         []Token
	shingled, long []sketch.Word
}

// Reset empties s for the next message.
func (s *Sketcher) Reset() { s.Own, s.Limits = work.Keep(s.Own), 0 }

func (s *Sketcher) addOwn(words []byte) {
	if len(words) > 0 {
		s.Own = append(append(s.Own, words...), ' ')
	}
}

// WordsBy returns the tokens by the author, and by others up to last. Tokens by others are
// carried, at least as quoted words. They and their text in s.Own are valid until the next
// call.
func (s *Sketcher) WordsBy(of *Tokeniser, last span.Author) []Token {
	own := s.tokens[:0]
	s.Own = s.Own[:0]
	from, to := uint32(0), uint32(0) // words of of.Text with single blanks between them
	for _, t := range of.Tokens {
		if t.by > last {
			continue
		}
		if len(own) == sketch.MaxWords {
			s.Limits |= work.LimitWords
			break
		}
		if t.by == span.ByOther && t.Carried == mail.OwnPart {
			t.Carried = mail.QuotedWords
		}
		own = append(own, t)
		if t.start != to+1 || of.Text[to] != ' ' {
			s.addOwn(of.Text[from:to])
			from = t.start
		}
		to = t.end
	}
	s.addOwn(of.Text[from:to])
	s.tokens = own
	return own
}

// measure returns how much a token counts in a shingle. Three words count as much as four
// Han characters, six Kana, or nine letters of the scripts of South-East Asia.
func (t Token) measure(text []byte) int {
	if text[t.start] < utf8.RuneSelf {
		return sketch.WordMeasure
	}
	r, _ := utf8.DecodeRune(text[t.start:t.end])
	switch {
	case !isDense(r):
		return sketch.WordMeasure
	case 0x3040 <= r && r <= 0x312F, 0x31A0 <= r && r <= 0x31BF, 0x31F0 <= r && r <= 0x31FF:
		return sketch.WordMeasure / 2
	case r >= 0x3005:
		return sketch.WordMeasure * 3 / 4
	}
	return sketch.WordMeasure / 3
}

// Sketch returns the sketch of words of a text. If isMarked, a hidden or carried word is
// another word than the same one shown in a body.
func (s *Sketcher) Sketch(of *Tokeniser, tokens []Token, isMarked bool) sketch.Sketch {
	s.Work.Count(work.PerToken * len(tokens))
	words, long := s.shingled[:0], s.long[:0]
	for i, t := range tokens {
		w := sketch.Word{Hash: t.hash(of.Text, isMarked), Pos: uint32(i), Measure: int32(t.measure(of.Text))}
		words = append(words, w)
		if w.Measure < sketch.WordMeasure || t.end-t.start > shortWord {
			long = append(long, w)
		}
	}
	s.shingled, s.long = words, long
	return sketch.OfText(words, long)
}

// hash returns the hash of the word. If isMarked, the mark of what carries it is hashed
// before it, and a hidden word has another hash.
func (t Token) hash(text []byte, isMarked bool) uint64 {
	if !isMarked {
		return hashWord(nil, text[t.start:t.end])
	}
	h := hashWord(t.Carried.Mark(), text[t.start:t.end])
	if t.isHidden {
		h = digest.Mix(h + 1)
	}
	return h
}

// LongWords appends the hashes of the author's longer words. Hashes differ by from, which
// is 0 for the visible text.
func (t *Tokeniser) LongWords(hashes []uint64, from uint64) []uint64 {
	t.Work.Count(work.PerToken * len(t.Tokens))
	for _, one := range t.Tokens {
		if one.by == span.ByAuthor && one.end-one.start > shortWord {
			hashes = append(hashes, digest.Mix(hashWord(nil, t.Text[one.start:one.end])+from))
		}
	}
	return hashes
}

// Hash returns the hash of a text that is no word.
func Hash(text []byte) uint64 { return hashWord(nil, text) }

// hashWord returns FNV-1a of 64 bits, of the mark and the word.
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
