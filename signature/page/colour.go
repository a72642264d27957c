package page

import (
	"bytes"
	"strconv"
	"strings"
)

// Colours are 0xRRGGBB, or one of these.
const (
	unknownColour = -1 - iota
	transparent
	inheritedColour
)

const (
	white = 0xFFFFFF
	// linkColour is the colour of links without another one.
	linkColour = 0x0000EE
)

// inkOf returns the colour of text. A computed one may be that of the background.
func inkOf(v []byte) int32 {
	c := colourOf(v)
	if c == unknownColour && bytes.IndexByte(v, '(') >= 0 {
		return transparent
	}
	return c
}

// colourOf returns the colour that v names, in lower case.
func colourOf(v []byte) int32 {
	v = bytes.TrimSpace(v)
	if c, ok := colourNames[string(v)]; ok {
		return c
	}
	if list, ok := strings.CutPrefix(string(v), "rgb"); ok {
		return rgbOf(list)
	}
	hex := string(bytes.TrimPrefix(v, []byte("#")))
	switch len(hex) {
	case 3, 4:
		var long []byte
		for i := range hex {
			long = append(long, hex[i], hex[i])
		}
		hex = string(long)
	}
	n, err := strconv.ParseUint(hex, 16, 64)
	switch {
	case err != nil:
		return unknownColour
	case len(hex) == 6:
		return int32(n)
	case len(hex) == 8 && n&0xff < 0x10:
		return transparent
	case len(hex) == 8:
		return int32(n >> 8)
	}
	return unknownColour
}

// colourOfGradient returns the colour of a gradient whose stops are nearly the same colour.
func colourOfGradient(stops []byte) int32 {
	colour := int32(unknownColour)
	for _, field := range bytes.FieldsFunc(stops, func(r rune) bool { return strings.ContainsRune("(), ", r) }) {
		switch c := colourOf(field); {
		case c < 0:
		case colour >= 0 && !nearlyEqual(c, colour):
			return unknownColour
		default:
			colour = c
		}
	}
	return colour
}

// rgbOf reads the rest after "rgb" of "rgb(1,2,3)" and "rgba(1 2 3 / 0)".
func rgbOf(list string) int32 {
	fields := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("a(),/ ", r) })
	if len(fields) < 3 || len(fields) > 4 {
		return unknownColour
	}
	if len(fields) == 4 {
		if n, unit, ok := measure(fields[3]); ok && (n <= 0.05 || unit == "%" && n <= 5) {
			return transparent
		}
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

var colourNames = namedColours()

// namedColours returns the names that occur in mail, and all of those that are nearly
// white.
func namedColours() map[string]int32 {
	m := map[string]int32{
		"transparent": transparent, "inherit": inheritedColour, "currentcolor": inheritedColour,
		"black": 0, "red": 0xFF0000, "lime": 0x00FF00, "blue": 0x0000FF, "green": 0x008000,
		"yellow": 0xFFFF00, "aqua": 0x00FFFF, "cyan": 0x00FFFF, "fuchsia": 0xFF00FF, "magenta": 0xFF00FF,
		"silver": 0xC0C0C0, "gray": 0x808080, "grey": 0x808080, "maroon": 0x800000, "olive": 0x808000,
		"navy": 0x000080, "purple": 0x800080, "teal": 0x008080, "orange": 0xFFA500, "darkgray": 0xA9A9A9, "lightgrey": 0xD3D3D3, "lightgray": 0xD3D3D3,
	}
	for name := range strings.FieldsSeq("white snow ivory whitesmoke ghostwhite floralwhite honeydew mintcream azure aliceblue seashell " +
		"lightyellow beige oldlace linen lavenderblush lavender cornsilk lightcyan antiquewhite papayawhip blanchedalmond lemonchiffon mistyrose gainsboro") {
		m[name] = white
	}
	return m
}

// nearlyEqual reports whether a reader hardly sees a difference of two colours.
func nearlyEqual(a, b int32) bool {
	const most = 32
	for shift := 0; shift < 24; shift += 8 {
		if d := a>>shift&0xff - b>>shift&0xff; d > most || d < -most {
			return false
		}
	}
	return true
}
