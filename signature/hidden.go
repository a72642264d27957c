package signature

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
	r.signsAll = r.differs && isEnough(c.all.text, r.needed, boilerplate())
	isGuarded := func(signs bool, text []byte) bool { return !signs || c.guardOf(m, text) != guardNone }
	r.guarded = (r.signsText || r.signsAll) && isGuarded(r.signsText, text) && isGuarded(r.signsAll, c.all.text)
	return r
}

// signed is the text of the text signature: what is shown, or where that has too
// little content, all, with what is hidden marked.
func (c *computer) signed(r readings) []byte {
	switch {
	case r.guarded:
	case r.signsText:
		return c.words.text
	case r.signsAll:
		return c.all.marked()
	}
	return nil
}

// readAll reads the visible text with what is hidden in it, and tells whether that is
// more than a little.
func (c *computer) readAll() (differs bool) {
	c.all.restart()
	hidden, size := 0, 0
	for i := range c.texts {
		if t := &c.texts[i]; !t.aside && t.view != nil && c.isSeen(t) {
			size += len(t.view.all.text)
			hidden += len(t.view.all.text) - len(t.view.text)
		}
	}
	if 2*littleHidden*hidden < size || hidden == 0 { // markup between has blanks
		return false
	}
	for i := range c.texts {
		if t := &c.texts[i]; !t.aside && t.view != nil && c.isSeen(t) {
			c.all.add(t.view.all.text, t.view.all.quotes, t.view.hidden)
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

// textSketches are those of the visible text. Where its readings differ, that with what
// is hidden is reported with its hidden words marked, and asked for without marks too:
// somebody may have reported a copy that hides nothing. Of what only some program
// shows, nothing is reported as though all did.
func (c *computer) textSketches(r readings) (sketches []Sketch) {
	sketch := func(of *tokeniser, own []token, isMarked bool) Sketch {
		s := c.wordsOf(of, own, isMarked)
		s.AskOnly = r.guarded || r.needed != brief && !isEnough(c.own, r.needed, boilerplate())
		return s
	}
	own, areEnough := c.ownWords(&c.words)
	if areEnough {
		sketches = append(sketches, sketch(&c.words, own, false))
	} else if s, ok := c.sketchOfAll(); ok {
		sketches = append(sketches, s)
	}
	if !r.differs {
		return sketches
	}
	if own, isMore := c.ownWords(&c.all); isMore {
		if areEnough {
			s := c.wordsOf(&c.all, own, false)
			s.AskOnly = true
			sketches = append(sketches, s)
		}
		sketches = append(sketches, sketch(&c.all, own, true))
	}
	return sketches
}
