package span_test

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature/span"
)

const textLength = 60

// anySpans draws spans of a text, in any order.
func anySpans(t *rapid.T, name string) []span.Span {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) span.Span {
		start := rapid.IntRange(0, textLength).Draw(t, "start")
		end := rapid.IntRange(start, textLength).Draw(t, "end")
		return span.Span{Start: start, End: end, By: rapid.SampledFrom([]span.Author{span.ByAuthor, span.ByOther, span.ByProgram}).Draw(t, "by")}
	}), 0, 8).Draw(t, name)
}

// covered returns which bytes are in one of the spans.
func covered(spans []span.Span) (in [textLength]bool) {
	for _, s := range spans {
		for i := s.Start; i < s.End; i++ {
			in[i] = true
		}
	}
	return in
}

// Merged spans are in order, do not overlap, and cover the same bytes.
func TestMerge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		spans := anySpans(t, "spans")
		merged := span.Merge(slices.Clone(spans))
		for i, s := range merged {
			if s.Start >= s.End || i > 0 && s.Start < merged[i-1].End {
				t.Fatalf("%v becomes %v", spans, merged)
			}
			if i > 0 && s.Start == merged[i-1].End && s.By == merged[i-1].By {
				t.Fatalf("%v becomes %v, where two of one author touch", spans, merged)
			}
		}
		if covered(merged) != covered(spans) {
			t.Fatalf("%v becomes %v", spans, merged)
		}
	})
}

// Of two that overlap, the earlier one counts.
func TestMergeOfTwoAuthors(t *testing.T) {
	got := span.Merge([]span.Span{{Start: 5, End: 9, By: span.ByProgram}, {Start: 0, End: 6, By: span.ByOther}})
	want := []span.Span{{Start: 0, End: 6, By: span.ByOther}, {Start: 6, End: 9, By: span.ByProgram}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A shifted span has the same bytes in the text without what is hidden.
func TestShift(t *testing.T) {
	text := make([]byte, textLength)
	for i := range text {
		text[i] = byte('!' + i)
	}
	rapid.Check(t, func(t *rapid.T) {
		hidden, spans := span.Merge(anySpans(t, "hidden")), span.Merge(anySpans(t, "spans"))
		rest := span.Without(hidden, text)
		isHidden := covered(hidden)
		for i, moved := range span.Shift(hidden, spans) {
			var want []byte
			for at := spans[i].Start; at < spans[i].End; at++ {
				if !isHidden[at] {
					want = append(want, text[at])
				}
			}
			if got := rest[moved.Start:moved.End]; !bytes.Equal(got, want) || moved.By != spans[i].By {
				t.Fatalf("%v without %v is %v, %q; want %q", spans[i], hidden, moved, got, want)
			}
		}
	})
}
