package span

import "slices"

// Author is the author of a stretch of text.
type Author uint8

const (
	ByAuthor  Author = iota // the author of the message
	ByOther                 // the author of another message, which this one quotes
	ByProgram               // a mail program, mailing list or scanner that added the text
	ByMany                  // a phrase on the lists of boilerplate and courtesies, whoever added it
)

// Span is a stretch of a text, in bytes.
type Span struct {
	Start, End int
	By         Author
}

// Merge sorts spans in place, and joins those of one author that touch. If two overlap,
// the earlier one counts.
func Merge(spans []Span) []Span {
	byStart := func(a, b Span) int { return a.Start - b.Start }
	if !slices.IsSortedFunc(spans, byStart) { // most are sorted
		slices.SortStableFunc(spans, byStart)
	}
	out := spans[:0]
	for _, s := range spans {
		if len(out) > 0 {
			last := &out[len(out)-1]
			if s.By == last.By && s.Start <= last.End {
				last.End = max(last.End, s.End)
				continue
			}
			s.Start = max(s.Start, last.End)
		}
		if s.Start < s.End {
			out = append(out, s)
		}
	}
	return out
}

// Without returns text without the hidden stretches, which are in order.
func Without(hidden []Span, text []byte) []byte {
	out := make([]byte, 0, len(text))
	pos := 0
	for _, h := range hidden {
		out = append(out, text[pos:h.Start]...)
		pos = h.End
	}
	return append(out, text[pos:]...)
}

// Shift returns the places of spans, in order, in the text that Without returns.
func Shift(hidden, spans []Span) []Span {
	cut := 0 // hidden bytes before the place
	place := func(at int) int {
		for len(hidden) > 0 && hidden[0].End <= at {
			cut += hidden[0].End - hidden[0].Start
			hidden = hidden[1:]
		}
		if len(hidden) > 0 && hidden[0].Start < at {
			return hidden[0].Start - cut
		}
		return at - cut
	}
	var out []Span
	for _, s := range spans {
		out = append(out, Span{place(s.Start), place(s.End), s.By})
	}
	return out
}
