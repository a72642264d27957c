package visible

import (
	"slices"

	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/page"
	"github.com/spambloom/spambloom/signature/skeleton"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/work"
)

// View is the text of one part in two readings: without what is plainly hidden, and all
// that a program could show. In plain text both are the same. Quoted references of an answer
// count as hidden: they are not what its author wants a reader to follow.
type View struct {
	Shown      Reading     // without hidden text
	All        Reading     // with hidden text
	Hidden     []span.Span // the hidden stretches of All
	References []page.Reference
	Skeleton   skeleton.Skeleton
	Labels     []byte // of pictures and buttons
	IsPage     bool
}

// Reading is a text. Its quotes, in order, are the stretches that its author did not
// write.
type Reading struct {
	Text   []byte
	Quotes []span.Span
}

// Show reads one part, once, or twice: the charset that one of the first shown parts declares may give no
// sense: most of its letters are then accented or signs, as no language is written. Such a part is
// read again in the charset that its bytes have, before any part behind it, which could use up the
// budget.
func (t *Texts) Show(p *Part) *View {
	if p.View == nil {
		p.View = t.view(p)
	}
	if p.mayDoubt && !p.IsAside && !t.IsReplaced(p) {
		if p.mayDoubt = false; isGarbled(p.View.All.Text) && t.detect(p) {
			p.View = t.view(p)
		}
	}
	return p.View
}

// view reads a part in the charset that is known for it.
func (t *Texts) view(p *Part) *View {
	source := t.SourceOf(p)
	text := p.text(source)
	t.work.Spend(work.PerText + len(source)/2)
	if !isSame(text, source) {
		t.work.Spend(2 * len(text))
	}
	v := &View{}
	if v.IsPage = p.IsHTML || page.Is(text); !v.IsPage {
		v.All = t.reading(text, nil, p.Carried == mail.AttachedPart)
		v.Shown = v.All
		return v
	}
	seen := t.page.Read(text)
	t.Limits |= seen.Limits
	v.References, v.Skeleton, v.Labels, v.Hidden = seen.References, seen.Skeleton, seen.Labels, seen.Hidden
	var quotes []span.Span
	if t.Origin.Answer == mail.ByThread { // readers do not see these marks
		quotes = span.Merge(slices.Clone(seen.Quotes))
		for i := range v.References {
			v.References[i].IsHidden = v.References[i].IsHidden || v.References[i].IsQuoted
		}
	}
	if v.All = t.reading(seen.Text, slices.Clone(quotes), p.Carried == mail.AttachedPart); len(v.Hidden) == 0 {
		v.Shown = v.All
		return v
	}
	t.work.Spend(len(seen.Text) / 2)
	v.Shown = t.reading(span.Without(v.Hidden, seen.Text), span.Shift(v.Hidden, quotes), p.Carried == mail.AttachedPart)
	return v
}

// reading puts text into the order in which it is read, and finds quotes.
func (t *Texts) reading(text []byte, quotes []span.Span, isAttached bool) Reading {
	if ordered := page.InShownOrder(text); !isSame(ordered, text) {
		t.work.Spend(4 * len(ordered))
		text = ordered
	}
	if isAttached {
		return Reading{text, []span.Span{{Start: 0, End: len(text), By: span.ByOther}}}
	}
	quotes = span.Merge(appendQuoted(quotes, text, t.Origin, t.work))
	t.work.Spend(work.PerLine * len(quotes))
	return Reading{text, quotes}
}

// text returns the part in UTF-8.
func (p *Part) text(source []byte) []byte {
	if p.utf8 == nil {
		p.utf8 = mail.ToUTF8(source, p.charset, p.IsHTML)
	}
	return p.utf8
}

// isSame reports whether a and b are one slice.
func isSame(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
