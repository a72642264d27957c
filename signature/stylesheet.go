package signature

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	// maxSheet bounds the style sheets of a page that are read, in bytes.
	maxSheet = 256 << 10
	// maxSelectors bounds the different selectors of a page.
	maxSelectors = 5000
	// maxClasses bounds the classes of an element that are looked up.
	maxClasses = 16
)

// property is what of CSS decides whether text is seen.
type property uint8

const (
	display    property = iota // 0: none, 1: as the element, 2: within a line, 3: in lines of its own
	visibility                 // 0: hidden, 1: visible, 2: as outside
	textSize                   // of the font; 0: too small to be read, 1: not, 2: a share of that outside
	ink                        // the colour of the text
	paper                      // and of what is behind it
	opacity                    // 0: none
	overflow                   // 0: hidden
	extent                     // 0: no height or no width
	indent                     // 0: far outside the window
	offset                     // likewise, where the element may be moved
	movable                    // 1: it may be
	properties
)

// Colours are 0xRRGGBB, or one of these.
const (
	unknownColour = -1 - iota
	transparent
	inheritedColour
)

// declared is a set of declarations: a value each, the last one given.
type declared struct {
	values    [properties]int32
	set       uint16 // by property
	important uint16
}

func (d *declared) put(p property, value int32, important bool) {
	if d.important&(1<<p) != 0 && !important {
		return
	}
	d.values[p] = value
	d.set |= 1 << p
	if important {
		d.important |= 1 << p
	}
}

// add puts what other declares over d.
func (d *declared) add(other *declared) {
	for p := range properties {
		if other.set&(1<<p) != 0 {
			d.put(p, other.values[p], other.important&(1<<p) != 0)
		}
	}
}

// declare reads declarations, in lower case.
func (d *declared) declare(list []byte) {
	for len(list) > 0 {
		var one []byte
		one, list, _ = bytes.Cut(list, []byte(";"))
		name, value, ok := bytes.Cut(one, []byte(":"))
		if !ok {
			continue
		}
		name = bytes.TrimSpace(name)
		if reads := reader[string(name)]; reads != nil {
			value, mark, _ := bytes.Cut(value, []byte("!"))
			reads(d, string(bytes.TrimSpace(value)), bytes.HasPrefix(bytes.TrimSpace(mark), []byte("important")))
		}
	}
}

// reader has what reads the value of a property, by its name in CSS.
var reader = map[string]func(d *declared, value string, important bool){
	"display": readDisplay,
	"visibility": func(d *declared, v string, i bool) {
		d.put(visibility, map[string]int32{"hidden": 0, "collapse": 0, "inherit": 2}[v]|zeroIf(v == "hidden" || v == "collapse" || v == "inherit"), i)
	},
	"font-size":        func(d *declared, v string, i bool) { d.put(textSize, fontSize2(v), i) },
	"font":             readFont,
	"color":            func(d *declared, v string, i bool) { d.put(ink, colourOf(v), i) },
	"background-color": func(d *declared, v string, i bool) { d.put(paper, colourOf(v), i) },
	"background":       readBackground,
	"background-image": func(d *declared, v string, i bool) {
		if v != "none" {
			d.put(paper, unknownColour, i)
		}
	},
	"opacity":     readOpacity,
	"overflow":    func(d *declared, v string, i bool) { d.put(overflow, zeroIf(v == "hidden" || v == "clip"), i) },
	"overflow-y":  func(d *declared, v string, i bool) { d.put(overflow, zeroIf(v == "hidden" || v == "clip"), i) },
	"height":      readExtent,
	"max-height":  readExtent,
	"width":       readExtent,
	"max-width":   readExtent,
	"text-indent": readIndent,
	"margin-left": readIndent,
	"margin-top":  readIndent,
	"left":        readOffset,
	"top":         readOffset,
	"right":       readOffset,
	"bottom":      readOffset,
	"position":    func(d *declared, v string, i bool) { d.put(movable, 1-zeroIf(v != "static"), i) },
	"clip":        func(d *declared, v string, i bool) { hideIf(d, strings.HasPrefix(v, "rect(0"), i) },
	"clip-path": func(d *declared, v string, i bool) {
		hideIf(d, v == "inset(100%)" || v == "inset(50%)" || v == "circle(0)", i)
	},
	"transform": func(d *declared, v string, i bool) { hideIf(d, strings.Contains(v, "scale(0)"), i) },
	"filter": func(d *declared, v string, i bool) {
		hideIf(d, strings.Contains(v, "opacity=0)") || strings.Contains(v, "opacity(0"), i)
	},
	"mso-hide": func(d *declared, v string, i bool) { hideIf(d, v == "all", i) },
}

// hideIf notes what hides an element; what does not hide it, does not show it either.
func hideIf(d *declared, hides, important bool) {
	if hides {
		d.put(display, 0, important)
	}
}

func readDisplay(d *declared, v string, important bool) {
	value := int32(1)
	switch {
	case v == "none":
		value = 0
	case strings.HasPrefix(v, "inline"), v == "contents":
		value = 2
	case v == "block", v == "flex", v == "grid", v == "list-item", strings.HasPrefix(v, "table"):
		value = 3
	}
	d.put(display, value, important)
}

func readOpacity(d *declared, v string, important bool) {
	n, unit, ok := measure(v)
	if unit == "%" {
		n /= 100
	}
	d.put(opacity, zeroIf(ok && n <= 0.05), important)
}

func zeroIf(hidden bool) int32 {
	if hidden {
		return 0
	}
	return 1
}

// readExtent notes a side of nothing, or of so few pixels that no letter shows;
// another side that is something does not undo it.
func readExtent(d *declared, v string, important bool) {
	if n, unit, ok := measure(v); ok && (n <= 0 || n <= 2 && (unit == "px" || unit == "")) {
		d.put(extent, 0, important)
	}
}

// farOutside is where, in CSS pixels, no window is.
const farOutside = -500

func readIndent(d *declared, v string, important bool) {
	d.put(indent, zeroIf(isAtMost(v, farOutside)), important)
}

func readOffset(d *declared, v string, important bool) {
	d.put(offset, zeroIf(isAtMost(v, farOutside)), important)
}

// isAtMost tells a number of whatever unit that is at most limit.
func isAtMost(v string, limit float64) bool {
	n, _, ok := measure(v)
	return ok && n <= limit
}

// measure splits a CSS measure into number and unit.
func measure(v string) (number float64, unit string, ok bool) {
	end := strings.IndexFunc(v, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '+' && r != '-' })
	if end < 0 {
		end = len(v)
	}
	number, err := strconv.ParseFloat(v[:end], 64)
	return number, strings.TrimSpace(v[end:]), err == nil
}

// fontSize2 is the value of textSize: nothing is read that is 2 pixels high.
func fontSize2(v string) int32 {
	number, unit, ok := measure(v)
	switch {
	case !ok && (v == "inherit" || v == "smaller" || v == "larger"):
		return 2
	case !ok:
		return 1
	case number == 0:
		return 0
	case unit == "%":
		return 2 * zeroIf(number <= 10)
	case unit == "em" || unit == "ex":
		return 2 * zeroIf(number <= 0.1)
	case unit == "rem":
		return zeroIf(number <= 0.1)
	case unit == "pt":
		return zeroIf(number <= 1.5)
	}
	return zeroIf(number <= 2)
}

// readFont finds the size in the shorthand: the first measure.
func readFont(d *declared, v string, important bool) {
	for field := range strings.FieldsSeq(v) {
		field, _, _ = strings.Cut(field, "/")
		if _, unit, ok := measure(field); ok && (unit != "" || field == "0") {
			d.put(textSize, fontSize2(field), important)
			return
		}
	}
}

func readBackground(d *declared, v string, important bool) {
	colour := int32(transparent)
	if strings.Contains(v, "url") || strings.Contains(v, "gradient") {
		colour = unknownColour
	} else if c := colourOf(v); c != unknownColour {
		colour = c
	} else {
		for field := range strings.FieldsSeq(v) {
			if c := colourOf(field); c != unknownColour {
				colour = c
			}
		}
	}
	d.put(paper, colour, important)
}

// colourOf reads a colour of CSS or HTML, in lower case.
func colourOf(v string) int32 {
	v = strings.TrimSpace(v)
	if c, ok := colourNames[v]; ok {
		return c
	}
	if hex, ok := strings.CutPrefix(v, "#"); ok || len(v) == 6 {
		if len(hex) == 3 || len(hex) == 4 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		if len(hex) == 8 {
			hex = hex[:6]
		}
		if n, err := strconv.ParseUint(hex, 16, 24); err == nil && len(hex) == 6 {
			return int32(n)
		}
		return unknownColour
	}
	if list, ok := strings.CutPrefix(v, "rgb"); ok {
		return rgbOf(list)
	}
	return unknownColour
}

// rgbOf reads what follows "rgb" in "rgb(1,2,3)" and "rgba(1 2 3 / 0)".
func rgbOf(list string) int32 {
	fields := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("a(),/ ", r) })
	if len(fields) < 3 || len(fields) > 4 {
		return unknownColour
	}
	if len(fields) == 4 && isAtMost(fields[3], 0.05) {
		return transparent
	}
	var colour int32
	for _, f := range fields[:3] {
		n, unit, ok := measure(f)
		if !ok {
			return unknownColour
		}
		if unit == "%" {
			n *= 2.55
		}
		colour = colour<<8 | int32(max(0, min(n, 255)))
	}
	return colour
}

var colourNames = map[string]int32{
	"transparent": transparent, "inherit": inheritedColour, "currentcolor": inheritedColour,
	"white": 0xFFFFFF, "black": 0, "red": 0xFF0000, "lime": 0x00FF00, "blue": 0x0000FF, "green": 0x008000,
	"yellow": 0xFFFF00, "aqua": 0x00FFFF, "cyan": 0x00FFFF, "fuchsia": 0xFF00FF, "magenta": 0xFF00FF,
	"silver": 0xC0C0C0, "gray": 0x808080, "grey": 0x808080, "maroon": 0x800000, "olive": 0x808000,
	"navy": 0x000080, "purple": 0x800080, "teal": 0x008080, "orange": 0xFFA500, "snow": 0xFFFAFA,
	"ivory": 0xFFFFF0, "whitesmoke": 0xF5F5F5, "ghostwhite": 0xF8F8FF, "floralwhite": 0xFFFAF0,
	"mintcream": 0xF5FFFA, "azure": 0xF0FFFF, "aliceblue": 0xF0F8FF, "seashell": 0xFFF5EE,
	"lightyellow": 0xFFFFE0, "lightgrey": 0xD3D3D3, "lightgray": 0xD3D3D3, "darkgray": 0xA9A9A9, "beige": 0xF5F5DC,
}

// nearlyEqual tells two colours that no eye tells apart on a screen.
func nearlyEqual(a, b int32) bool {
	const most = 20
	for shift := 0; shift < 24; shift += 8 {
		if d := a>>shift&0xff - b>>shift&0xff; d > most || d < -most {
			return false
		}
	}
	return true
}
