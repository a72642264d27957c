package page

import (
	"bytes"
	"strings"

	"github.com/spambloom/spambloom/signature/page/colour"
	"github.com/spambloom/spambloom/signature/page/css"
)

// look is the inherited part of what hides an element's text.
type look uint8

const (
	gone      look = 1 << iota // display:none and the like: nothing inside undoes it
	invisible                  // visibility:hidden
	tiny                       // a font too small to be read
	unshown                    // no program shows it, whatever its style

	flat    // lines of no height, which hide text where it is clipped
	clipped // text beyond it is not shown
	narrow  // a box of no width, which hides text that is clipped inside it

	// hides is what hides an element and its pictures.
	hides = gone | invisible | unshown
)

// box decides whether the text of an element is hidden.
type box struct {
	look       look
	ink, paper int32   // colours of the text, and of its background
	font       float64 // size in pixels, without zoom
	root       float64 // that of the element html
	zoom, seen float64 // the products of zoom and opacity
}

// window is the box of a page.
var window = box{paper: colour.White, font: usualFont, root: usualFont, zoom: 1, seen: 1}

const (
	usualFont = 16
	leastFont = 2 // pixels: text of this size or less is not read
	leastZoom = leastFont / usualFont
	leastSeen = 0.05 // opacity
	smaller   = 0.83 // the share that the next smaller size of fonts is
)

// size is a size of fonts.
type size struct {
	of   float64 // pixels, or a share
	isOf basis
}

// basis is what a size is a share of.
type basis uint8

const (
	unset basis = iota
	ofPixel
	ofOuter // of the element around it
	ofRoot
)

// style is what attributes and style sheets declare for an element. It contains what
// plainly hides; anything else is shown, and nothing undoes what hides. It may differ
// from a browser's result: text that counts as hidden is signed too, in the other
// reading.
type style struct {
	isGone             bool
	isAnimated         bool
	font               size
	zoom, seen         float64 // 0 if not declared
	hidden, shown      look    // of invisible, flat and narrow, where the last declaration counts
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
	if other.font.isOf != unset {
		s.font = other.font
	}
	if other.zoom > 0 {
		s.zoom = other.zoom
	}
	if other.seen > 0 {
		s.seen = other.seen
	}
	if other.breaks != asNamed {
		s.breaks = other.breaks
	}
	s.isAnimated = s.isAnimated || other.isAnimated
	s.isGone, s.isClipped, s.isSmall = s.isGone || other.isGone, s.isClipped || other.isClipped, s.isSmall || other.isSmall
	s.isPlaced, s.isAway = s.isPlaced || other.isPlaced, s.isAway || other.isAway
	s.isRightToLeft, s.isOverride = s.isRightToLeft || other.isRightToLeft, s.isOverride || other.isOverride
}

// inside returns the box of an element of style s in b.
func (b box) inside(s *style) box {
	b.look = b.look&^s.shown | s.hidden
	if s.isClipped {
		b.look |= clipped
	}
	switch s.font.isOf {
	case ofPixel:
		b.font = s.font.of
	case ofOuter:
		b.font *= s.font.of
	case ofRoot:
		b.font = b.root * s.font.of
	}
	if s.zoom > 0 {
		b.zoom *= s.zoom
	}
	if s.seen > 0 {
		b.seen *= s.seen
	}
	isTooSmall := s.isClipped && (s.isSmall || b.look&narrow != 0) || b.zoom <= leastZoom
	if s.isGone || isTooSmall || s.isPlaced && s.isAway || b.seen <= leastSeen {
		b.look |= gone
	}
	if b.look &^= tiny; b.font*b.zoom <= leastFont {
		b.look |= tiny
	}
	if s.hasInk && s.ink != colour.Inherited {
		b.ink = s.ink
	}
	if s.hasPaper && s.paper != colour.Transparent && s.paper != colour.Inherited {
		b.paper = s.paper
	}
	return b
}

// isHidden reports whether text in b is hidden: by its look, or by the colour of its
// background.
func (b box) isHidden() bool {
	return b.look&(hides|tiny) != 0 || b.look&flat != 0 && b.look&clipped != 0 || b.ink == colour.Transparent || b.paper == colour.Computed ||
		b.ink >= 0 && b.paper >= 0 && colour.NearlyEqual(b.ink, b.paper)
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
	for _, prefix := range []string{"-webkit-", "-moz-"} {
		name = bytes.TrimPrefix(name, []byte(prefix))
	}
	v := string(value)
	switch string(name) {
	case "display":
		s.display(v)
	case "visibility":
		s.setLook(invisible, v == "hidden" || v == "collapse" || isComputed(v))
	case "font-size", "font", "zoom", "line-height", "font-size-adjust":
		s.declareSize(string(name), v)
	case "color", "text-fill-color":
		s.setInk(colour.OfText(value))
	case "background-color":
		s.setPaper(colour.OfBackground(value))
	case "background", "background-image":
		if v != "none" {
			s.setPaper(colour.OfBackground(value))
		}
	case "overflow", "overflow-x", "overflow-y", "overflow-block", "overflow-inline":
		s.isClipped, s.isSignificant = s.isClipped || v != "visible", true
	case "left", "top", "bottom", "inset", "inset-inline", "inset-inline-start", "inset-block", "inset-block-start":
		s.isAway, s.isSignificant = s.isAway || css.IsFar(v), true
	case "right", "inset-inline-end": // to the left by as much
		s.isAway, s.isSignificant = s.isAway || css.IsFar(v) || css.IsFar("-"+v), true
	case "position":
		s.isPlaced, s.isSignificant = s.isPlaced || v != "static", true
	case "direction":
		s.isRightToLeft, s.isSignificant = v == "rtl", true
	case "unicode-bidi":
		s.isOverride, s.isSignificant = strings.HasSuffix(v, "override"), true
	case "animation", "animation-name":
		s.isAnimated, s.isSignificant = v != "none", true
	default:
		s.declareBox(string(name), v)
		s.hide(hidesBy(string(name), v))
	}
}

// hidesBy reports whether a declaration hides an element by itself.
func hidesBy(name, v string) bool {
	switch name {
	case "text-indent", "margin-left", "margin-top", "margin-right", "margin", "margin-inline", "margin-inline-start", "margin-block", "margin-block-start",
		"padding-left", "padding-top", "padding", "padding-inline", "padding-inline-start", "padding-block", "padding-block-start",
		"vertical-align", "word-spacing":
		return css.IsFar(v)
	case "clip":
		return strings.HasPrefix(v, "rect(")
	case "clip-path", "mask", "mask-image", "offset", "offset-path":
		return v != "none" && v != ""
	case "content": // a picture in its place
		return isComputed(v)
	case "transform":
		return isComputed(v)
	case "translate", "scale", "rotate":
		return v != "none"
	case "filter":
		return strings.Contains(v, "opacity") || isComputed(v) && !strings.HasPrefix(v, "progid:")
	case "mix-blend-mode":
		return isComputed(v) || blends[v]
	case "content-visibility":
		return v == "hidden"
	case "mso-hide":
		return v == "all"
	case "z-index": // below what is behind it
		return strings.HasPrefix(v, "-") || isComputed(v)
	case "letter-spacing":
		n, unit, ok := css.Measure(v)
		return isComputed(v) || ok && n*css.Pixels(unit) <= -8
	case "text-stroke", "text-stroke-color":
		c := colour.OfBackground([]byte(v))
		return c == colour.Computed || c >= 0 && colour.NearlyEqual(c, colour.White)
	}
	return false
}

// blends are the modes by which black text is not seen on white.
var blends = map[string]bool{"screen": true, "lighten": true, "color-dodge": true, "difference": true, "exclusion": true, "hue": true,
	"saturation": true, "color": true, "overlay": true, "hard-light": true, "soft-light": true, "plus-lighter": true}

// declareBox reads a declaration of the size or opacity of an element.
func (s *style) declareBox(name, v string) {
	n, unit, ok := css.Measure(v)
	isSmall := ok && n*css.Pixels(unit) <= leastFont || isComputed(v)
	switch name {
	case "opacity":
		if unit == "%" {
			n /= 100
		}
		if s.hide(ok && n <= leastSeen || isComputed(v)); ok && n > leastSeen {
			s.seen, s.isSignificant = min(n, 1), true
		}
	case "height", "max-height", "block-size", "max-block-size", "flex-basis":
		s.isSmall, s.isSignificant = s.isSmall || isSmall, s.isSignificant || isSmall
	case "width", "max-width", "inline-size", "max-inline-size":
		s.isSmall = s.isSmall || isSmall
		if isSmall || ok && unit != "%" {
			s.setLook(narrow, isSmall)
		}
	case "grid", "grid-template", "grid-template-columns", "grid-template-rows", "grid-auto-columns", "grid-auto-rows":
		if hasSmallTrack(v) {
			s.isSmall = true
			s.setLook(narrow, true)
		}
	case "contain":
		s.isSmall, s.isSignificant = s.isSmall || strings.Contains(v, "size") || v == "strict", true
		s.isClipped = s.isClipped || v == "strict" || v == "content" || strings.Contains(v, "paint")
	}
}

// hasSmallTrack reports whether a row or column of a grid has no size.
func hasSmallTrack(v string) bool {
	if isComputed(v) {
		return !strings.Contains(v, "fr") && !strings.Contains(v, "auto") && !strings.Contains(v, "content")
	}
	for field := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ' ' || r == '/' }) {
		if n, unit, ok := css.Measure(field); ok && n*css.Pixels(unit) <= leastFont {
			return true
		}
	}
	return false
}

// declareSize reads a declaration of the size of text.
func (s *style) declareSize(name, v string) {
	switch name {
	case "font-size":
		s.fontSize(v)
	case "font": // the size is the first measure, with the height of lines behind a slash
		for field := range strings.FieldsSeq(v) {
			field, height, hasHeight := strings.Cut(field, "/")
			if _, unit, ok := css.Measure(field); ok && (unit != "" || field == "0") || isComputed(field) {
				if s.fontSize(field); hasHeight {
					s.lineHeight(height)
				}
				return
			}
		}
	case "line-height":
		s.lineHeight(v)
	case "zoom":
		n, unit, ok := css.Measure(v)
		if unit == "%" {
			n /= 100
		}
		if s.hide(isComputed(v)); ok && n > 0 {
			s.zoom, s.isSignificant = n, true
		}
	case "font-size-adjust": // the share that a small letter has of the size, about 1/2
		n, _, ok := css.Measure(v[strings.LastIndexByte(v, ' ')+1:])
		s.hide(ok && n <= leastZoom/2 || isComputed(v))
	}
}

// lineHeight records whether lines have no height.
func (s *style) lineHeight(v string) {
	n, unit, ok := css.Measure(v)
	if unit == "%" {
		n /= 100
	}
	if unit == "" || unit == "%" {
		unit = "em"
	}
	s.setLook(flat, ok && n*css.Pixels(unit) <= leastFont || isComputed(v))
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
	case v == "none", isComputed(v), strings.HasPrefix(v, "table-column"):
		s.isGone = true
	case strings.Contains(v, "inline"), v == "contents", v == "initial", v == "unset", v == "ruby":
		s.breaks = inLine
	case v == "block", v == "flex", v == "grid", v == "list-item", strings.HasPrefix(v, "table"):
		s.breaks = inLines
	}
}

// fontSize records the size of a font. A share near zero of the size outside is none at all, however large that is.
func (s *style) fontSize(v string) {
	n, unit, ok := css.Measure(v)
	isShare := unit == "em" || unit == "%" || unit == "ex" || unit == "ch"
	if unit == "%" {
		n /= 100
	}
	var font size
	switch {
	case !ok && isComputed(v), isShare && n <= 0.1:
		font = size{0, ofPixel}
	case v == "smaller":
		font = size{smaller, ofOuter}
	case v == "larger":
		font = size{1 / smaller, ofOuter}
	case v == "inherit":
		return
	case !ok:
		font = size{usualFont, ofPixel}
	case unit == "em", unit == "%":
		font = size{n, ofOuter}
	case isShare:
		font = size{n / 2, ofOuter}
	case unit == "rem":
		font = size{n, ofRoot}
	default:
		font = size{n * css.Pixels(unit), ofPixel}
	}
	s.font, s.isSignificant = font, true
}
