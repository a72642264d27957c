package sketch

import "github.com/spambloom/spambloom/signature/digest"

// A shingle is a run of words: a key has about the content of three words of an alphabet,
// an anchor that of two.
const (
	// WordMeasure is the measure of a word of an alphabet.
	WordMeasure   = 12
	keyMeasure    = 3 * WordMeasure
	anchorMeasure = 2 * WordMeasure
)

// OfText returns the sketch of a text of words, by position. The anchors are of long ones
// only. There are at most MaxWords of each.
func OfText(words, long []Word) Sketch {
	return Sketch{Kind: digest.KindSketch, Keys: shingles(words, keyMeasure), Anchors: shingles(long, anchorMeasure)}
}

// Word is a word of a text, or a character if the script puts no blanks between words.
type Word struct {
	Hash    uint64
	Pos     uint32
	Measure int32
}

// shingles returns the runs of words whose measures add up to a measure: one from each
// word on, if enough words follow.
func shingles(words []Word, measure int32) []Feature {
	features := make([]Feature, 0, len(words))
	for i := range words {
		h, sum := uint64(measure), int32(0)
		for j := i; j < len(words) && sum < measure; j++ {
			h = digest.Mix(h ^ words[j].Hash)
			sum += words[j].Measure
		}
		if sum >= measure {
			features = append(features, Feature{h, words[i].Pos})
		}
	}
	return features
}
