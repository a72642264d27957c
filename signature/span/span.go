package span

import "slices"

// author tells whose words a stretch of text has.
type Author uint8

const (
	ByAuthor  Author = iota // the message's own
	ByOther                 // of another message, which it quotes
	ByProgram               // that mail programs, mailing lists and scanners add
)

// span is a stretch of a text, in bytes.
type Span struct {
	Start, End int
	By         Author
}

// merge puts spans in order, and joins those of one author that touch. Of two that
// overlap, the earlier one counts.
func Merge(spans []Span) []Span {
	byStart := func(a, b Span) int { return a.Start - b.Start }
	if !slices.IsSortedFunc(spans, byStart) { // as many are
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

// without is text without the hidden stretches.
func Without(hidden []Span, text []byte) []byte {
	out := make([]byte, 0, len(text))
	pos := 0
	for _, h := range hidden {
		out = append(out, text[pos:h.Start]...)
		pos = h.End
	}
	return append(out, text[pos:]...)
}

// moved are spans, in order, where they stand in the text without the hidden stretches.
func Shift(hidden, spans []Span) []Span {
	cut := 0 // hidden bytes before at
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
