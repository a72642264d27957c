package page

import (
	"bytes"
	"slices"

	"github.com/spambloom/spambloom/signature/page/css"
	"github.com/spambloom/spambloom/signature/work"
)

// maxFrames bounds the different frames of a page's animations.
const maxFrames = 256

// frame is what a frame of an animation declares.
type frame struct {
	style style
	isEnd bool // the animation ends with it
}

// readFrames reads the block of an animation. What enlarges, turns or moves an element, and leaves it in sight, does
// not count.
func (s *sheet) readFrames(block []byte) {
	_, block, _ = bytes.Cut(block, []byte("{"))
	for len(block) > 0 && !s.work.IsOver() {
		var at, body []byte
		at, block, _ = bytes.Cut(block, []byte("{"))
		body, block, _ = bytes.Cut(block, []byte("}"))
		s.work.Spend(work.PerTag + len(at) + 2*len(body))
		var f frame
		for one := range bytes.SplitSeq(body, []byte(";")) {
			if _, value, isTransform := bytes.Cut(one, []byte("transform:")); !isTransform || !css.IsPulse(value) {
				f.style.read(one)
			}
		}
		for place := range bytes.SplitSeq(at, []byte(",")) {
			place = bytes.TrimSpace(place)
			n, unit, ok := css.Measure(string(place))
			f.isEnd = f.isEnd || string(place) == "to" || ok && unit == "%" && n >= 100
		}
		switch {
		case !f.style.isSignificant || slices.Contains(s.frames, f):
		case len(s.frames) == maxFrames:
			s.limits |= work.LimitStyleSheets
			return
		default:
			s.work.Spend(work.PerSelector + len(s.frames))
			s.frames = append(s.frames, f)
		}
	}
}

// animate returns the box of an element whose style is declared, inside outer, if an animation may hide it, else its
// box b without any. All animations of the page count. The colours of one that does not end count only as it would end.
func (s *sheet) animate(outer, b box, declared *style) box {
	s.work.Spend(work.PerTag * len(s.frames))
	for i := range s.frames {
		f := &s.frames[i]
		isShown := f.isEnd || declared.isHeld
		if !isShown && !declared.isEndless {
			continue
		}
		both := *declared
		both.add(&f.style)
		moved := outer.inside(&both)
		if moved.look&hides != 0 {
			b.look |= masked
			return b
		}
		if isShown && moved.isHidden() || moved.look&tiny != 0 {
			return moved
		}
	}
	return b
}
