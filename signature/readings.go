package signature

import (
	"slices"

	"github.com/spambloom/spambloom/signature/guard"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/sketch"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/visible"
	"github.com/spambloom/spambloom/signature/words"
	"github.com/spambloom/spambloom/signature/work"
)

// A page has two readings: what it shows without what is plainly hidden, and all that
// some program could show. A sender who deceives us about what is hidden deceives us in
// one of them only. Both are sketched if they differ by more than a little.
//
// Hidden text may be another sender's, which must not be listed with the spam that brings
// it. So a hidden word is reported as such: it is another word than the same one shown,
// and is found again only where it is hidden too.

// littleHidden is the share, one in so many words, up to which hidden words change
// nothing: near-duplicates are found with as many others.
const littleHidden = 8

// reader reads the texts of a message as words.
type reader struct {
	texts    *visible.Texts
	work     *work.Steps
	shown    words.Tokeniser // the visible text
	all      words.Tokeniser // the visible text with what is hidden
	every    words.Tokeniser // the texts aside; later, all texts
	bodyText int             // bytes of shown, from the beginning, that are of the message's own parts
	changes  int             // of texts before shown was read
	isWhole  bool            // the budget did not end while shown was read
	isCut    bool            // the budget ended in the latest reading of what is visible
	sketcher words.Sketcher
}

// begin prepares r for a message.
func (r *reader) begin(t *visible.Texts, w *work.Steps) {
	r.texts, r.work = t, w
	r.shown.Work, r.all.Work, r.every.Work, r.sketcher.Work = w, w, w, w
}

// reset empties r for the next message.
func (r *reader) reset() {
	r.bodyText, r.changes, r.isWhole, r.isCut = 0, 0, false, false
	r.shown.Reset()
	r.all.Reset()
	r.every.Reset()
	r.sketcher.Reset()
}

// limits returns the limits that were reached.
func (r *reader) limits() work.Limits {
	if r.shown.IsFull || r.all.IsFull || r.every.IsFull {
		return r.sketcher.Limits | work.LimitText
	}
	return r.sketcher.Limits
}

// findings are what reader found out about both readings.
type findings struct {
	needed      words.Amount // what the text needs to sign
	canSignText bool         // what is shown has that much content
	canSignBody bool         // the text without attached messages has it
	isDifferent bool         // the other reading has more than what is shown
	canSignAll  bool         // the other reading has that much content
	isGuarded   bool         // a guard covers each reading that has it

	covers func(text []byte) bool // reports whether a guard covers a message of such text
}

// read reads the visible text, which is left in r.shown, and if it differs, the text with
// what is hidden, in r.all. isGuarded reports whether a guard covers a message of such text.
func (r *reader) read(needed words.Amount, isGuarded func(text []byte) bool) findings {
	text, isEnough := r.widestText(needed)
	r.shown.MarkBoilerplate()
	r.work.Count(4 * len(text)) // of all that is done with it below
	f := findings{needed: needed, covers: isGuarded, isDifferent: r.readAll(), canSignText: isEnough, canSignBody: isEnough}
	if r.bodyText < len(text) {
		f.canSignBody = words.IsEnough(text[:r.bodyText], needed)
	}
	f.canSignAll = f.isDifferent && words.IsEnough(r.all.Text, needed)
	covers := func(signs bool, text []byte) bool { return !signs || isGuarded(text) }
	f.isGuarded = (f.canSignText || f.canSignAll) && covers(f.canSignText, text) && covers(f.canSignAll, r.all.Text)
	return f
}

// signed returns the text of the text signature and how it is carried. The text is what is
// shown, or if that has too little content, all, with marks before hidden words.
func (r *reader) signed(f findings) ([]byte, mail.Carriage) {
	switch {
	case f.isGuarded, r.texts.IsCut:
	case f.canSignText:
		return r.shown.Text, r.shown.Farthest()
	case f.canSignAll:
		return r.all.Marked(), r.all.Farthest()
	}
	return nil, mail.OwnPart
}

// widestText returns the visible text, and whether it has the content needed. If it has too little, all parts
// are read in the charset that their bytes have. If it still has too little, the text that stands beside a page
// is added.
func (r *reader) widestText(needed words.Amount) (text []byte, isEnough bool) {
	read := func() {
		text = r.visibleText()
		isEnough = words.IsEnough(text, needed)
	}
	read()
	if !isEnough && r.texts.DoubtCharsets() {
		read()
	}
	if !isEnough && r.hasTextBeside() {
		read()
	}
	return text, isEnough
}

// hasTextBeside reports whether the texts that a page replaces have content of their own,
// and shows them then. Less of it is a notice that the message is a page, which programs
// write.
func (r *reader) hasTextBeside() bool {
	beside := &r.every
	beside.Restart()
	r.work.Renew()
	for i := range r.texts.Parts {
		if p := &r.texts.Parts[i]; !p.IsAside && r.texts.IsReplaced(p) && !r.work.IsOver() {
			beside.Add(r.texts.Show(p).Shown.Text, nil, nil)
		}
	}
	return words.IsEnough(beside.Text, words.Ample) && r.texts.ShowAll()
}

// says reports whether some parts, read apart, have the content of a text that signs.
func (r *reader) says(isPart func(*visible.Part) bool) bool {
	r.addTexts(&r.every, func(p *visible.Part) bool { return !p.IsAside && isPart(p) })
	return words.IsEnough(r.every.Text, words.Brief)
}

// visibleText returns the normalised text that a reader sees; it is left in r.shown. It is read again
// if what is visible has changed. Where the budget ends before that reading is as long as an earlier one, or the
// earlier one was whole and says something, the earlier one stays.
//
// Attached messages come last: what the message itself shows is the beginning.
func (r *reader) visibleText() []byte {
	if r.changes == r.texts.Changes() {
		return r.shown.Text
	}
	if r.changes > 0 {
		r.work.Renew()
	}
	r.changes = r.texts.Changes()
	bodyText := r.addTexts(&r.every, func(p *visible.Part) bool { return !p.IsAside })
	r.isCut = r.work.IsOver()
	if r.isCut && (len(r.every.Text) < len(r.shown.Text) || r.isWhole && words.IsEnough(r.shown.Text, words.Brief)) {
		return r.shown.Text
	}
	r.isWhole = !r.isCut
	r.shown, r.every, r.bodyText = r.every, r.shown, bodyText
	return r.shown.Text
}

// hasTextAside reports whether the other texts are enough to sign the body. These are the
// texts in a multipart/report, as a mail system's notice is the same for everyone and the
// message that it returns is not this one, and those too far behind the header.
func (r *reader) hasTextAside() bool { return words.HasContent(r.textAside(), words.Few) }

// textAside returns those texts.
func (r *reader) textAside() []byte {
	r.work.Renew()
	r.addTexts(&r.every, func(p *visible.Part) bool { return p.IsAside })
	return r.every.Text
}

// addTexts adds the visible text of some parts: first the message's own ones, of which it returns the bytes, and then
// those of attached messages.
func (r *reader) addTexts(into *words.Tokeniser, isPart func(*visible.Part) bool) (own int) {
	into.Restart()
	for _, isAttached := range []bool{false, true} {
		if isAttached {
			own = len(into.Text)
		}
		for i := range r.texts.Parts {
			p := &r.texts.Parts[i]
			if (p.Carried == mail.AttachedPart) != isAttached || !isPart(p) || r.texts.IsReplaced(p) {
				continue
			}
			if r.work.IsOver() {
				break
			}
			seen := r.texts.Show(p)
			into.Carried = r.texts.CarriageOf(p)
			into.Add(seen.Shown.Text, seen.Shown.Quotes, nil)
		}
	}
	return own
}

// readAll reads the visible text with what is hidden in it. It reports whether more than a
// little is hidden.
func (r *reader) readAll() (differs bool) {
	r.all.Restart()
	hidden, size := 0, 0
	for i := range r.texts.Parts {
		if p := &r.texts.Parts[i]; !p.IsAside && p.View != nil && !r.texts.IsReplaced(p) {
			size += len(p.View.All.Text)
			hidden += len(p.View.All.Text) - len(p.View.Shown.Text)
		}
	}
	if 2*littleHidden*hidden < size || hidden == 0 { // blanks between tags count as hidden here
		return false
	}
	r.work.Renew()
	for _, isAttached := range []bool{false, true} {
		for i := range r.texts.Parts {
			if p := &r.texts.Parts[i]; !p.IsAside && p.View != nil && !r.texts.IsReplaced(p) && (p.Carried == mail.AttachedPart) == isAttached {
				r.all.Carried = r.texts.CarriageOf(p)
				r.all.Add(p.View.All.Text, p.View.All.Quotes, p.View.Hidden)
			}
		}
	}
	r.work.Count(4 * len(r.all.Text))
	hidden = r.all.CountHidden()
	r.all.MarkBoilerplate()
	return littleHidden*hidden > len(r.all.Tokens)
}

// textSketches returns the sketches of the visible text, at most MaxTexts.
//
// What is reported marks the words that are carried and those that are hidden. If there
// are such words, the second sketch has no marks and is only asked: a reported copy may
// hide and carry nothing. Words in parts that most programs do not show have two such
// sketches of their own. If the readings differ, the second sketch is of all, and a further
// one is of all with marks. Text that only some programs show is not reported as though all did.
func (r *reader) textSketches(f findings) (sketches []sketch.Sketch) {
	sketchOf := func(of *words.Tokeniser, own []words.Token, isMarked, askOnly bool) sketch.Sketch {
		s := r.sketcher.Sketch(of, own, isMarked)
		s.AskOnly = askOnly
		return s
	}
	isAsked := func() bool {
		return f.isGuarded || f.needed != words.Brief && !words.IsEnough(r.sketcher.Own, f.needed)
	}
	unshown, seen := r.apartSketches(f)
	own, areEnough := r.ownWords(&r.shown)
	isCarried := areCarried(own)
	switch {
	case len(unshown) > 0:
		sketches = unshown[:1]
	case areEnough:
		sketches = append(sketches, sketchOf(&r.shown, own, true, isAsked()))
	default:
		sketches = r.otherSketches(f, isAsked)
	}
	fullest, differs := &r.shown, false
	if f.isDifferent {
		if own, differs = r.ownWords(&r.all); differs {
			fullest = &r.all
		} else {
			own, _ = r.ownWords(&r.shown)
		}
	}
	if len(unshown) > 0 && !differs {
		sketches = unshown
	} else if areEnough && (differs || isCarried) {
		sketches = append(sketches, sketchOf(fullest, own, false, true))
	}
	if differs {
		sketches = append(sketches, sketchOf(fullest, own, true, isAsked()))
	}
	sketches = append(sketches, seen[:min(len(seen), MaxTexts-len(sketches))]...)
	if len(sketches) < 3 {
		if s, ok := r.farSketch(); ok {
			sketches = append(sketches, s)
		}
	}
	return sketches
}

// otherSketches returns the sketches of a text of which too little is its author's own.
func (r *reader) otherSketches(f findings, isAsked func() bool) (sketches []sketch.Sketch) {
	if s, ok := r.sketchOfAll(); ok {
		sketches = append(sketches, s)
	}
	if s, ok := r.quotedSketch(); ok && !f.isDifferent {
		s.AskOnly = isAsked()
		sketches = append(sketches, s)
	}
	return sketches
}

// apartSketches returns the sketches of the words in parts that most programs do not show, with marks and without, if they
// are brief: some program may show them, without the others. The second one is only asked. It returns that of the other
// words, too, if the unshown ones have sketches, or are half as many, or left no room: each copy may have others, which
// would keep it from being found.
func (r *reader) apartSketches(f findings) (unshown, seen []sketch.Sketch) {
	if !slices.ContainsFunc(r.texts.Parts, func(p visible.Part) bool { return r.isUnshown(&p) }) {
		return nil, nil
	}
	sketchOf := func(words []words.Token, isMarked, isAsked bool) sketch.Sketch {
		s := r.sketcher.Sketch(&r.every, words, isMarked)
		s.AskOnly = isAsked
		return s
	}
	both, _ := r.ownWords(&r.shown)
	all := len(both)
	isWhole := !r.isCut && !r.shown.IsFull && all < sketch.MaxWords
	if others, areEnough := r.readApart(r.isUnshown); areEnough {
		isWhole, unshown = false, []sketch.Sketch{sketchOf(others, true, r.isOnlyAsked(f)), sketchOf(others, false, true)}
	}
	shown, areEnough := r.readApart(func(p *visible.Part) bool { return !p.IsAside && !r.texts.IsUnshown(p) })
	if areEnough && !(isWhole && 2*(all-len(shown)) < len(shown)) {
		if seen = append(seen, sketchOf(shown, true, r.isOnlyAsked(f))); areCarried(shown) {
			seen = append(seen, sketchOf(shown, false, true))
		}
	}
	return unshown, seen
}

// areCarried reports whether some words have a mark.
func areCarried(own []words.Token) bool {
	return slices.ContainsFunc(own, func(t words.Token) bool { return t.Carried != mail.OwnPart })
}

// isUnshown reports whether a part is visible text that most programs do not show.
func (r *reader) isUnshown(p *visible.Part) bool {
	return !p.IsAside && r.texts.IsUnshown(p) && !r.texts.IsReplaced(p)
}

// readApart reads some of the visible parts into r.every, and returns their own words.
func (r *reader) readApart(isPart func(*visible.Part) bool) (own []words.Token, areEnough bool) {
	r.work.Renew()
	r.addTexts(&r.every, isPart)
	r.every.MarkBoilerplate()
	return r.ownWords(&r.every)
}

// isOnlyAsked reports whether the latest own words, read apart, say too little to list a message.
func (r *reader) isOnlyAsked(f findings) bool {
	return f.isGuarded || !words.IsEnough(r.sketcher.Own, f.needed) || f.covers(r.sketcher.Own)
}

// ownWords returns the tokens of a text that are sketched: its author's own. If these are
// too few and the message answers no other, the quoted ones are sketched as well, so that a
// quotation mark before each line is no place to hide. It leaves their text in the
// sketcher, and reports whether that has the content of a text that signs.
func (r *reader) ownWords(of *words.Tokeniser) (own []words.Token, areEnough bool) {
	own = r.sketcher.WordsBy(of, span.ByAuthor)
	areEnough = words.IsEnough(r.sketcher.Own, words.Brief)
	if r.texts.Origin.Answer == mail.NoAnswer && !areEnough {
		own = r.sketcher.WordsBy(of, span.ByOther)
		areEnough = words.IsEnough(r.sketcher.Own, words.Brief)
	}
	return own, areEnough
}

// quotedMark is hashed with the features of text that is wholly quoted.
const quotedMark = 3

// quotedSketch returns the sketch of a text that stands in quotes, or below a signature's
// mark, with at most maxGreeting bytes of its author's. It has features of its own, so that
// only copies that quote all, too, are found: never the message that was quoted. It has no boilerplate, as
// short answers of many have the same. Footers are all that some mail of lists shows, so it has none.
func (r *reader) quotedSketch() (s sketch.Sketch, ok bool) {
	if r.sketcher.WordsBy(&r.shown, span.ByAuthor); len(r.sketcher.Own) > maxGreeting || r.texts.Origin.IsList {
		return s, false
	}
	if !words.IsEnough(r.shown.Text, words.Brief) {
		return s, false
	}
	s = r.sketcher.Sketch(&r.shown, r.sketcher.WordsBy(&r.shown, span.ByProgram), true)
	return s.WithMark(quotedMark), true
}

const (
	// maxNew bounds what is compared, in bytes.
	maxNew = 64 << 10
	// manyNew is how many runs of three words a calendar object may have that the text beside it has not, such as
	// how to find the place.
	manyNew = 40
)

// isNew reports whether a brief text of a calendar object is mostly or by many words another one than the visible
// text. That of a meeting is not, as how to join is the same in many.
func (r *reader) isNew(text []byte) bool {
	r.every.Restart()
	r.every.Add(text[:min(len(text), maxNew)], nil, nil)
	if !words.IsEnough(r.every.Text, words.Brief) || guard.IsMeeting(r.every.Text) {
		return false
	}
	shown := make(map[uint64]bool)
	for _, k := range r.sketcher.Sketch(&r.shown, r.sketcher.WordsBy(&r.shown, span.ByMany), false).Keys {
		shown[k.Hash] = true
	}
	unknown, keys := 0, r.sketcher.Sketch(&r.every, r.sketcher.WordsBy(&r.every, span.ByProgram), false).Keys
	for _, k := range keys {
		if !shown[k.Hash] {
			unknown++
		}
	}
	return unknown > manyNew || 2*unknown > len(keys)
}

// fewWords returns the hashes of the longer words of the author in the visible text, of
// labels and of the subject, each of the three another word.
func (r *reader) fewWords(labels []byte, subject string) []uint64 {
	hashes := r.shown.LongWords(nil, 0)
	for i, text := range [][]byte{labels, []byte(subject)} {
		r.every.Restart()
		r.every.Add(text, nil, nil)
		hashes = r.every.LongWords(hashes, uint64(i)+1)
	}
	return hashes
}

// ownText returns the author's words of the visible text.
func (r *reader) ownText() []byte {
	r.sketcher.WordsBy(&r.shown, span.ByAuthor)
	return r.sketcher.Own
}

// readEvery reads all texts that are not aside, with what is hidden in them, into r.every, and returns their words without
// a program's and boilerplate: either those that a page replaces, or the others, as an alternative has the same words twice.
func (r *reader) readEvery(replaced bool) (own []byte) {
	r.every.Restart()
	r.work.Renew()
	for i := range r.texts.Parts {
		if p := &r.texts.Parts[i]; !p.IsAside && r.texts.IsReplaced(p) == replaced && !r.work.IsOver() {
			v := r.texts.Show(p)
			r.every.Add(v.All.Text, v.All.Quotes, v.Hidden)
		}
	}
	r.every.MarkBoilerplate()
	r.sketcher.WordsBy(&r.every, span.ByOther)
	return r.sketcher.Own
}

// sketchOfAll returns a sketch that is only asked, of a new message whose author shows too
// few words of his own. It is of all words, including hidden, quoted and boilerplate ones
// and those of every alternative. It finds a text that is shown although it looks hidden,
// or that stands below the mark of a signature. Mail of lists is skipped: lists add words
// that spam on the list has too.
func (r *reader) sketchOfAll() (s sketch.Sketch, ok bool) {
	isPart := func(p *visible.Part) bool { return !p.IsAside }
	return r.askedSketch(isPart, func(v *visible.View) []byte { return v.All.Text }, words.HasContent)
}

// farSketch returns a sketch like that of all, but of the shown texts that are far behind the header. Mail
// programs show them, so a large file before a reported text does not hide it.
func (r *reader) farSketch() (s sketch.Sketch, ok bool) {
	isPart := func(p *visible.Part) bool { return p.IsFar && !r.texts.IsReplaced(p) }
	return r.askedSketch(isPart, func(v *visible.View) []byte { return v.Shown.Text }, words.IsEnough)
}

// askedSketch returns a sketch that is only asked, of all words of some parts of a new message.
func (r *reader) askedSketch(isPart func(*visible.Part) bool, textOf func(*visible.View) []byte, isEnough func([]byte, words.Amount) bool) (s sketch.Sketch, ok bool) {
	if r.texts.Origin.Answer != mail.NoAnswer || r.texts.Origin.IsList {
		return s, false
	}
	all := &r.every
	all.Restart()
	r.work.Renew()
	for i := range r.texts.Parts {
		if p := &r.texts.Parts[i]; isPart(p) && !r.work.IsOver() {
			all.Add(textOf(r.texts.Show(p)), nil, nil)
		}
	}
	if !isEnough(all.Text, words.Brief) {
		return s, false
	}
	s = r.sketcher.Sketch(all, r.sketcher.WordsBy(all, span.ByProgram), false)
	s.AskOnly = true
	return s, true
}
