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
	masked                     // its text is not seen, but a picture is

	flat    // lines of no height, which hide text where it is clipped
	clipped // text beyond it is not shown
	narrow  // a box of no width, which hides text that is clipped inside it

	// hides is what hides an element and, other than by masked, its pictures.
	hides = gone | invisible | unshown | masked
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
	isMasked           bool // its text is hidden, but not a picture
	isBlended          bool // its text is hidden, unless it is for a program that inverts colours
	isStroked, isPale  bool // a stroke around its letters has a width; it is white
	isAnimated         bool
	isHeld, isEndless  bool // its animation may show any frame for long, or each again and again
	font               size
	zoom, seen         float64 // 0 if not declared
	hidden, shown      look    // of invisible, flat and narrow, where the last declaration counts
	ink, paper         int32
	hasInk, hasPaper   bool
	isClipped, isSmall bool // text beyond it is not shown; it has no width or height
	isPlaced, isAway   bool // it has a position of its own; that is outside the window, or below what is behind it
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
	s.isStroked, s.isPale = s.isStroked || other.isStroked, s.isPale || other.isPale
	s.isHeld, s.isEndless = s.isHeld || other.isHeld, s.isEndless || other.isEndless
	s.isMasked, s.isBlended = s.isMasked || other.isMasked, s.isBlended || other.isBlended
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
	if s.isMasked {
		b.look |= masked
	}
	isTooSmall := s.isClipped && (s.isSmall || b.look&narrow != 0) || b.zoom <= leastZoom
	if s.isGone || s.isBlended || s.isStroked && s.isPale || isTooSmall || s.isPlaced && s.isAway || b.seen <= leastSeen {
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
		s.setLook(invisible, v == "hidden" || v == "collapse" || css.IsComputed(v))
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
	case "z-index": // below what is behind it
		s.isAway, s.isSignificant = s.isAway || strings.HasPrefix(v, "-") || strings.HasPrefix(v, "calc("), true
	case "text-stroke", "text-stroke-color", "text-stroke-width":
		c := colour.OfBackground(value)
		s.isPale = s.isPale || c == colour.Computed || c >= 0 && colour.NearlyEqual(c, colour.White)
		s.isStroked, s.isSignificant = s.isStroked || css.HasWidth(v), true
	default:
		s.declareBox(string(name), v)
		s.declareEffect(string(name), v)
	}
}

// declareEffect reads a declaration that moves or paints an element.
func (s *style) declareEffect(name, v string) {
	switch {
	case css.Hides(name, v):
		s.hide(true)
	case css.Masks(name, v):
		s.isMasked, s.isSignificant = true, true
	case name == "mix-blend-mode" && css.IsForBlends(v):
		s.isBlended, s.isSignificant = true, true
	case strings.HasPrefix(name, "animation"):
		if name == "animation" || name == "animation-name" {
			s.isAnimated = v != "none"
		}
		s.isHeld, s.isEndless = s.isHeld || css.IsHeld(name, v), s.isEndless || strings.Contains(v, "infinite")
		s.isSignificant = true
	}
}

// declareBox reads a declaration of the size or opacity of an element.
func (s *style) declareBox(name, v string) {
	n, unit, ok := css.Measure(v)
	isSmall := css.IsSmall(v, true)
	switch name {
	case "opacity":
		if unit == "%" {
			n /= 100
		}
		if s.hide(ok && n <= leastSeen || css.IsComputed(v)); ok && n > leastSeen {
			s.seen, s.isSignificant = min(n, 1), true
		}
	case "height", "max-height", "block-size", "max-block-size":
		s.isSmall, s.isSignificant = s.isSmall || isSmall, s.isSignificant || isSmall
	case "width", "max-width", "inline-size", "max-inline-size":
		s.isSmall = s.isSmall || isSmall
		if isSmall || ok && unit != "%" {
			s.setLook(narrow, isSmall)
		}
	case "grid", "grid-template", "grid-template-columns", "grid-template-rows", "grid-auto-columns", "grid-auto-rows":
		if css.IsSmallGrid(v) {
			s.isSmall = true
			s.setLook(narrow, true)
		}
	case "contain":
		s.isSmall, s.isSignificant = s.isSmall || strings.Contains(v, "size") || v == "strict", true
		s.isClipped = s.isClipped || v == "strict" || v == "content" || strings.Contains(v, "paint")
	}
}

// declareSize reads a declaration of the size of text.
func (s *style) declareSize(name, v string) {
	switch name {
	case "font-size":
		s.fontSize(v)
	case "font": // the size is the first measure, with the height of lines behind a slash
		for field := range strings.FieldsSeq(v) {
			field, height, hasHeight := strings.Cut(field, "/")
			if _, unit, ok := css.Measure(field); ok && (unit != "" || field == "0") || css.IsComputed(field) {
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
		if s.hide(css.IsComputed(v)); ok && n > 0 {
			s.zoom, s.isSignificant = n, true
		}
	case "font-size-adjust": // the share that a small letter has of the size, about 1/2
		n, _, ok := css.Measure(v[strings.LastIndexByte(v, ' ')+1:])
		s.hide(ok && n <= leastZoom/2 || css.IsComputed(v))
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
	s.setLook(flat, ok && n*css.Pixels(unit) <= leastFont || css.IsComputed(v) && css.IsSmall(v, false))
}

// hide records that a declaration hides an element. Others do not show it again.
func (s *style) hide(hides bool) {
	if hides {
		s.isGone, s.isSignificant = true, true
	}
}

func (s *style) display(v string) {
	s.isSignificant = true
	switch {
	case v == "none", css.IsComputed(v), strings.HasPrefix(v, "table-column"):
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
	case !ok && css.IsComputed(v) && !css.IsLegible(v), isShare && n <= 0.1:
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
