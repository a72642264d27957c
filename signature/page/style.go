package page

import (
	"bytes"
	"strconv"
	"strings"
)

// look is the inherited part of what hides an element's text.
type look uint8

const (
	gone      look = 1 << iota // display:none and the like: nothing inside undoes it
	invisible                  // visibility:hidden
	tiny                       // a font too small to be read
	unshown                    // no program shows it, whatever its style
)

// box decides whether the text of an element is hidden.
type box struct {
	look       look
	ink, paper int32 // colours of the text, and of its background
}

// style is what attributes and style sheets declare for an element. It contains what
// plainly hides; anything else is shown, and nothing undoes what hides. It may differ
// from a browser's result: text that counts as hidden is signed too, in the other
// reading.
type style struct {
	isGone             bool
	hidden, shown      look // of invisible and tiny, where the last declaration counts
	ink, paper         int32
	hasInk, hasPaper   bool
	isClipped, isSmall bool // text beyond it is not shown; it has no width or height
	isPlaced, isAway   bool // it has a position of its own; that is outside the window
	isOpen             bool // of the element details
	isRightToLeft      bool // direction:rtl
	isOverride         bool // its letters are written in that direction, whatever they are
	breaks             breaking
	isSignificant      bool // something above is set
}

// breaking is whether an element begins and ends a line.
type breaking uint8

const (
	asNamed breaking = iota
	inLine
	inLines
)

func (s *style) setInk(c int32)   { s.ink, s.hasInk, s.isSignificant = c, true, true }
func (s *style) setPaper(c int32) { s.paper, s.hasPaper, s.isSignificant = c, true, true }

// setLook records whether the style hides by bit, or shows again.
func (s *style) setLook(bit look, isHidden bool) {
	s.hidden, s.shown, s.isSignificant = s.hidden&^bit, s.shown|bit, true
	if isHidden {
		s.hidden, s.shown = s.hidden|bit, s.shown&^bit
	}
}

// add adds the declarations of other, which override those of s.
func (s *style) add(other *style) {
	s.hidden, s.shown = s.hidden&^other.shown|other.hidden, s.shown&^other.hidden|other.shown
	if other.hasInk {
		s.setInk(other.ink)
	}
	if other.hasPaper {
		s.setPaper(other.paper)
	}
	if other.breaks != asNamed {
		s.breaks = other.breaks
	}
	s.isGone, s.isClipped, s.isSmall = s.isGone || other.isGone, s.isClipped || other.isClipped, s.isSmall || other.isSmall
	s.isPlaced, s.isAway = s.isPlaced || other.isPlaced, s.isAway || other.isAway
	s.isRightToLeft, s.isOverride = s.isRightToLeft || other.isRightToLeft, s.isOverride || other.isOverride
}

// inside returns the box of an element of style s in b.
func (b box) inside(s *style) box {
	if s.isGone || s.isClipped && s.isSmall || s.isPlaced && s.isAway {
		b.look |= gone
	}
	b.look = b.look&^s.shown | s.hidden
	if s.hasInk && s.ink != inheritedColour {
		b.ink = s.ink
	}
	if s.hasPaper && s.paper != transparent && s.paper != inheritedColour {
		b.paper = s.paper
	}
	return b
}

// isHidden reports whether text in b is hidden: by its look, or by the colour of its
// background.
func (b box) isHidden() bool {
	return b.look != 0 || b.ink == transparent || b.ink >= 0 && b.paper >= 0 && nearlyEqual(b.ink, b.paper)
}

// read reads declarations, in lower case.
func (s *style) read(list []byte) {
	for len(list) > 0 {
		var one []byte
		one, list, _ = bytes.Cut(list, []byte(";"))
		name, value, ok := bytes.Cut(one, []byte(":"))
		if !ok {
			continue
		}
		value, _, _ = bytes.Cut(value, []byte("!"))
		s.declare(bytes.TrimSpace(name), bytes.TrimSpace(value))
	}
}

// declare reads one declaration. Only those that can hide count.
func (s *style) declare(name, value []byte) {
	v := string(value)
	switch string(name) {
	case "display":
		s.display(v)
	case "visibility":
		s.setLook(invisible, v == "hidden" || v == "collapse" || isComputed(v))
	case "font-size":
		s.fontSize(v)
	case "font": // the size is the first measure
		for field := range strings.FieldsSeq(v) {
			field, _, _ = strings.Cut(field, "/")
			if _, unit, ok := measure(field); ok && (unit != "" || field == "0") {
				s.fontSize(field)
				return
			}
		}
	case "color", "-webkit-text-fill-color":
		s.setInk(inkOf(value))
	case "background-color":
		s.setPaper(colourOf(value))
	case "background", "background-image":
		s.background(value)
	case "opacity":
		n, unit, ok := measure(v)
		s.hide(ok && (n <= 0.05 || unit == "%" && n <= 5) || isComputed(v))
	case "overflow", "overflow-x", "overflow-y", "overflow-block", "overflow-inline":
		s.isClipped, s.isSignificant = s.isClipped || v != "visible", true
	case "height", "max-height", "width", "max-width", "block-size", "max-block-size", "inline-size", "max-inline-size":
		if n, unit, ok := measure(v); ok && (n <= 0 || n <= 2 && (unit == "px" || unit == "")) {
			s.isSmall, s.isSignificant = true, true
		}
	case "contain":
		s.isSmall, s.isSignificant = s.isSmall || strings.Contains(v, "size") || v == "strict", true
	case "text-indent", "margin-left", "margin-top", "margin-right", "margin", "margin-inline", "margin-inline-start", "margin-block", "margin-block-start":
		s.hide(isFar(v))
	case "left", "top", "bottom", "inset", "inset-inline", "inset-inline-start", "inset-block", "inset-block-start":
		s.isAway, s.isSignificant = s.isAway || isFar(v), true
	case "right", "inset-inline-end": // to the left by as much
		s.isAway, s.isSignificant = s.isAway || isFar(v) || isFar("-"+v), true
	case "position":
		s.isPlaced, s.isSignificant = s.isPlaced || v != "static", true
	case "clip":
		s.hide(strings.HasPrefix(v, "rect("))
	case "clip-path", "mask", "mask-image", "-webkit-mask", "-webkit-mask-image":
		s.hide(v != "none" && v != "")
	case "transform":
		s.hide(strings.Contains(v, "("))
	case "translate", "scale", "rotate":
		s.hide(v != "none")
	case "filter":
		s.hide(strings.Contains(v, "opacity"))
	case "content-visibility":
		s.hide(v == "hidden")
	case "mso-hide":
		s.hide(v == "all")
	case "direction":
		s.isRightToLeft, s.isSignificant = v == "rtl", true
	case "unicode-bidi":
		s.isOverride, s.isSignificant = strings.HasSuffix(v, "override"), true
	}
}

// isComputed reports whether a value is known only to a program that computes it.
func isComputed(v string) bool { return strings.Contains(v, "(") }

// hide records that a declaration hides an element. Others do not show it again.
func (s *style) hide(hides bool) {
	if hides {
		s.isGone, s.isSignificant = true, true
	}
}

func (s *style) display(v string) {
	s.isSignificant = true
	switch {
	case v == "none", isComputed(v):
		s.isGone = true
	case strings.HasPrefix(v, "inline"), v == "contents":
		s.breaks = inLine
	case v == "block", v == "flex", v == "grid", v == "list-item", strings.HasPrefix(v, "table"):
		s.breaks = inLines
	}
}

func (s *style) background(v []byte) {
	c := colourOf(v)
	if _, stops, ok := bytes.Cut(v, []byte("gradient(")); ok {
		c = colourOfGradient(stops)
	}
	if c == unknownColour && bytes.IndexByte(v, '(') < 0 { // asked once, as there may be very many fields
		c = firstColour(v)
	}
	if string(v) != "none" {
		s.setPaper(c)
	}
}

// firstColour returns the first colour that a field of a value names.
func firstColour(v []byte) int32 {
	for field := range bytes.FieldsSeq(v) {
		if c := colourOf(field); c != unknownColour {
			return c
		}
	}
	return unknownColour
}

// fontSize records whether a font is too small to be read: up to 2 pixels. A share of the
// size outside does not change that, except for a share near zero.
func (s *style) fontSize(v string) {
	n, unit, ok := measure(v)
	switch {
	case !ok:
		if isComputed(v) {
			s.setLook(tiny, true)
		} else if v != "inherit" && v != "smaller" && v != "larger" {
			s.setLook(tiny, false)
		}
	case n == 0, unit == "%" && n <= 10, unit == "em" && n <= 0.1, unit == "ex" && n <= 0.1:
		s.setLook(tiny, true)
	case unit == "rem":
		s.setLook(tiny, n <= 0.1)
	case unit == "pt":
		s.setLook(tiny, n <= 1.5)
	case unit == "px", unit == "":
		s.setLook(tiny, n <= 2)
	}
}

// measure splits a CSS measure into number and unit. The number may have an exponent.
func measure(v string) (number float64, unit string, ok bool) {
	end := strings.IndexFunc(v, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '+' && r != '-' })
	if end < 0 {
		end = len(v)
	}
	if exponent, ok := strings.CutPrefix(v[end:], "e"); ok {
		if n := len(exponent) - len(strings.TrimLeft(exponent, "+-0123456789")); n > 0 {
			end += 1 + n
		}
	}
	number, err := strconv.ParseFloat(v[:end], 64)
	return number, strings.TrimSpace(v[end:]), err == nil
}

// farOutside is the distance from the left or upper edge, in CSS pixels, at which text is
// outside of any window.
const farOutside = 500

// isFar reports whether a list of lengths has one outside of any window: to the left or
// above, or very far anywhere; or a computed one.
func isFar(v string) bool {
	for field := range strings.FieldsSeq(v) {
		n, unit, ok := measure(field)
		switch unit {
		case "em", "rem", "ch", "ex", "vw", "vh", "vmin", "vmax", "%", "in", "cm", "pc":
			n *= 10
		}
		if ok && (n <= -farOutside || n >= 10*farOutside) || !ok && isComputed(field) {
			return true
		}
	}
	return false
}
