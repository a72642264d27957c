package signature

import "slices"

// A page has two readings: what it shows without what is plainly hidden, and all that
// some program could show. A sender who deceives us about what is hidden deceives us in
// one of them only. Both are sketched where they differ by more than a little.
//
// What is hidden may be another sender's text, which must not be listed with the
// spam that brings it. So a hidden word is reported as such: it is another one than the
// same word shown, and found again only where it is hidden too.

// littleHidden is the share, one in so many words, up to which hidden words change
// nothing: near-duplicates are found with as many others.
const littleHidden = 8

// readings is what is found out about both.
type readings struct {
	needed    amount
	signsText bool // what is shown has the content needed
	bodySigns bool // of that, the text without attached messages
	differs   bool // all is more than that
	signsAll  bool // and has the content
	guarded   bool // what has it is what guards know
}

// readings reads the visible text, which is left in c.words, and where it differs, with
// what is hidden, in c.all.
func (c *computer) readings(m Message) readings {
	text := c.visibleText()
	c.words.markBoilerplate()
	c.work.count(4 * len(text)) // of all that is done with it below
	r := readings{needed: c.needed(m), differs: c.readAll()}
	r.signsText = isEnough(text, r.needed, boilerplate())
	r.bodySigns = r.signsText
	if c.bodyText < len(text) {
		r.bodySigns = isEnough(text[:c.bodyText], r.needed, boilerplate())
	}
	r.signsAll = r.differs && isEnough(c.all.text, r.needed, boilerplate())
	isGuarded := func(signs bool, text []byte) bool { return !signs || c.guardOf(m, text) != guardNone }
	r.guarded = (r.signsText || r.signsAll) && isGuarded(r.signsText, text) && isGuarded(r.signsAll, c.all.text)
	return r
}

// signed is the text of the text signature: what is shown, or where that has too
// little content, all, with what is hidden marked; and how it is carried.
func (c *computer) signed(r readings) ([]byte, carriage) {
	switch {
	case r.guarded:
	case r.signsText:
		return c.words.text, c.words.farthest()
	case r.signsAll:
		return c.all.marked(), c.all.farthest()
	}
	return nil, ownPart
}

// readAll reads the visible text with what is hidden in it, and tells whether that is
// more than a little.
func (c *computer) readAll() (differs bool) {
	c.all.restart()
	hidden, size := 0, 0
	for i := range c.texts {
		if t := &c.texts[i]; !t.aside && t.view != nil && !c.isReplaced(t) {
			size += len(t.view.all.text)
			hidden += len(t.view.all.text) - len(t.view.text)
		}
	}
	if 2*littleHidden*hidden < size || hidden == 0 { // markup between has blanks
		return false
	}
	for _, attached := range []bool{false, true} {
		for i := range c.texts {
			if t := &c.texts[i]; !t.aside && t.view != nil && !c.isReplaced(t) && (t.carried == attachedPart) == attached {
				c.all.carried = c.carriageOf(t)
				c.all.add(t.view.all.text, t.view.all.quotes, t.view.hidden)
			}
		}
	}
	c.work.count(4 * len(c.all.text))
	hidden = 0
	for _, t := range c.all.tokens {
		if t.hidden {
			hidden++
		}
	}
	c.all.markBoilerplate()
	return littleHidden*hidden > len(c.all.tokens)
}

// marked is the text with a sign before each hidden word, which no word has.
func (t *tokeniser) marked() []byte {
	var out []byte
	for _, one := range t.tokens {
		if one.hidden {
			out = append(out, '<')
		}
		out = append(append(out, t.text[one.start:one.end]...), ' ')
	}
	return out
}

// farthest is how the text is carried: the greatest of its words'.
func (t *tokeniser) farthest() (farthest carriage) {
	for _, one := range t.tokens {
		farthest = max(farthest, one.carried)
	}
	return farthest
}

// textSketches are those of the visible text, three at most. What is reported marks the
// words that are carried and those that are hidden. Where there are such words, the
// second sketch is one without marks, which is only asked: somebody may have reported a
// copy that hides and carries nothing. Where the readings differ, it is that of all, and
// the last one is that of all with marks. Of what only some program shows, nothing is
// reported as though all did.
func (c *computer) textSketches(r readings) (sketches []Sketch) {
	add := func(of *tokeniser, own []token, isMarked, askOnly bool) {
		s := c.wordsOf(of, own, isMarked)
		s.AskOnly = askOnly
		sketches = append(sketches, s)
	}
	isAsked := func() bool {
		return r.guarded || r.needed != brief && !isEnough(c.own, r.needed, boilerplate())
	}
	own, areEnough := c.ownWords(&c.words)
	isCarried := slices.ContainsFunc(own, func(t token) bool { return t.carried != ownPart })
	if areEnough {
		add(&c.words, own, true, isAsked())
	} else if s, ok := c.sketchOfAll(); ok {
		sketches = append(sketches, s)
	}
	fullest, differs := &c.words, false
	if r.differs {
		if own, differs = c.ownWords(&c.all); differs {
			fullest = &c.all
		} else {
			own, _ = c.ownWords(&c.words)
		}
	}
	if areEnough && (differs || isCarried) {
		add(fullest, own, false, true)
	}
	if differs {
		add(fullest, own, true, isAsked())
	}
	return sketches
}
