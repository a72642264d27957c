// Package colour reads the colours of CSS and HTML as far as a reader of hidden text needs them.
package colour

import (
	"bytes"
	"maps"
	"strconv"
	"strings"

	"golang.org/x/image/colornames"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/page/css"
)

// Colours are 0xRRGGBB, or one of these.
const (
	Unknown = -1 - iota
	Transparent
	Inherited
	Computed // by a program that knows more functions of CSS
)

const (
	White = 0xFFFFFF
	// Link is the colour of links without another one.
	Link = 0x0000EE
)

// OfText returns the colour of text. A computed one may be that of the background.
func OfText(v []byte) int32 {
	c := Of(v)
	if c == Unknown && bytes.IndexByte(v, '(') >= 0 {
		return Transparent
	}
	return c
}

// OfBackground returns the colour of a background, which is unknown if that has a picture.
func OfBackground(v []byte) int32 {
	c := Of(v)
	_, stops, isGradient := bytes.Cut(v, []byte("gradient("))
	switch {
	case bytes.Contains(v, []byte("currentcolor")): // that of the text
		return Computed
	case isGradient:
		return ofGradient(stops)
	case c != Unknown:
		return c
	case bytes.IndexByte(v, '(') < 0: // asked once, as there may be very many fields
		for field := range bytes.FieldsSeq(v) {
			if c := Of(field); c != Unknown {
				return c
			}
		}
	default:
		return ofFields(v)
	}
	return Unknown
}

// ofFields returns the first colour that is a field of a background with functions. A colour of channels that cannot be
// read is computed, unless it has a variable; so is none in another function, which may be any.
func ofFields(v []byte) int32 {
	for len(v) > 0 {
		var field []byte
		field, v = css.Cut(v, isBetween)
		if bytes.IndexByte(field, '(') < 0 {
			continue
		}
		if c := Of(field); c != Unknown {
			return c
		}
		if bytes.HasPrefix(field, []byte("rgb")) && !isOfVariables(field) {
			return Computed
		}
	}
	return Unknown
}

// isBetween reports whether a character separates the fields of a value.
func isBetween(c byte) bool { return c == ',' || ascii.IsSpace(c) }

// Of returns the colour that a value means. The value must be in lower case.
func Of(v []byte) int32 {
	v = Fallback(bytes.TrimSpace(v))
	if c, ok := names[string(v)]; ok {
		return c
	}
	if c := ofFunction(v); c != Unknown {
		return c
	}
	if list, ok := strings.CutPrefix(string(v), "rgb"); ok {
		return ofRGB(list)
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
		return Unknown
	case len(hex) == 6:
		return int32(n)
	case len(hex) == 8:
		return onWhite(int32(n>>8), float64(n&0xff)/255)
	}
	return Unknown
}

// OfAttribute returns the colour that the value of an attribute names, in lower case, as all values do (HTML
// Standard, "rules for parsing a legacy color value").
func OfAttribute(v []byte) int32 {
	v = bytes.TrimSpace(v)
	switch c := Of(v); {
	case c >= 0:
		return c
	case len(v) == 0, string(v) == "transparent":
		return Inherited
	}
	v = bytes.Map(func(r rune) rune {
		if '0' <= r && r <= '9' || 'a' <= r && r <= 'f' {
			return r
		}
		return '0'
	}, bytes.TrimPrefix(v[:min(len(v), 128)], []byte("#")))
	for len(v) == 0 || len(v)%3 != 0 {
		v = append(v, '0')
	}
	n := len(v) / 3
	fields := [][]byte{v[:n], v[n : 2*n], v[2*n:]}
	from, isZero := max(0, n-8), func(at int) bool { return fields[0][at] == '0' && fields[1][at] == '0' && fields[2][at] == '0' }
	for n-from > 2 && isZero(from) {
		from++
	}
	var colour int32
	for _, f := range fields {
		channel, _ := strconv.ParseUint(string(f[from:min(n, from+2)]), 16, 8)
		colour = colour<<8 | int32(channel)
	}
	return colour
}

// ofGradient returns the colour of a gradient whose stops are nearly the same colour, as far as they are known.
func ofGradient(stops []byte) int32 {
	colour := int32(Unknown)
	for stops = bytes.ReplaceAll(stops, []byte("gradient("), []byte(" ")); len(stops) > 0; {
		var field []byte
		field, stops = css.Cut(stops, isBetween)
		isFunction := bytes.IndexByte(field, '(') >= 0
		if field = bytes.TrimRight(field, ")"); isFunction {
			field = append(field[:len(field):len(field)], ')')
		}
		switch c := Of(field); {
		case c == Unknown && isFunction && !bytes.HasPrefix(field, []byte("url(")) && !bytes.HasPrefix(field, []byte("calc(")):
			return Unknown
		case c < 0:
		case colour >= 0 && !NearlyEqual(c, colour):
			return Unknown
		default:
			colour = c
		}
	}
	return colour
}

// ofRGB reads the rest after "rgb" of "rgb(1,2,3)" and "rgba(1 2 3 / 0)".
func ofRGB(list string) int32 {
	fields := strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune("a(),/ \t\r\n\f", r) })
	if len(fields) < 3 || len(fields) > 4 {
		return Unknown
	}
	alpha := 1.0
	if len(fields) == 4 {
		n, isShare, ok := number(fields[3])
		if isShare {
			n /= 100
		}
		if ok {
			alpha = n
		}
	}
	var colour int32
	for _, f := range fields[:3] {
		n, isShare, ok := number(f)
		if !ok {
			return Unknown
		}
		if isShare {
			n *= 2.55
		}
		colour = colour<<8 | int32(max(0, min(n, 255)))
	}
	return onWhite(colour, alpha)
}

// number reads a number, or a share in percent.
func number(field string) (n float64, isShare, ok bool) {
	field, isShare = strings.CutSuffix(field, "%")
	n, ok = css.Number(field)
	return n, isShare, ok
}

// hardlySeen is the opacity up to which black text differs from white by most or less.
const hardlySeen = most / 255.

// onWhite returns what a colour of an opacity is on white.
func onWhite(c int32, opacity float64) int32 {
	if opacity <= hardlySeen {
		return Transparent
	}
	opacity = min(opacity, 1)
	var mixed int32
	for shift := 16; shift >= 0; shift -= 8 {
		mixed = mixed<<8 | int32(255.5-opacity*float64(255-c>>shift&0xff))
	}
	return mixed
}

var names = allNames()

// allNames returns the names of colours. Those that are nearly white are white.
func allNames() map[string]int32 {
	m := map[string]int32{"transparent": Transparent, "inherit": Inherited, "currentcolor": Inherited, "linktext": Link}
	for name, c := range maps.All(colornames.Map) {
		m[name] = int32(c.R)<<16 | int32(c.G)<<8 | int32(c.B)
	}
	for name := range strings.FieldsSeq("white snow ivory whitesmoke ghostwhite floralwhite honeydew mintcream azure aliceblue seashell " +
		"lightyellow beige oldlace linen lavenderblush lavender cornsilk lightcyan antiquewhite papayawhip blanchedalmond lemonchiffon mistyrose gainsboro " +
		// of systems
		"canvas window field menu infobackground buttonface buttonhighlight threedface threedhighlight threedlightshadow highlighttext selecteditemtext " +
		"accentcolortext appworkspace background scrollbar activecaption inactivecaption activeborder inactiveborder -moz-dialog -moz-field") {
		m[name] = White
	}
	for name := range strings.FieldsSeq("canvastext windowtext fieldtext menutext infotext buttontext captiontext -moz-dialogtext -moz-fieldtext") {
		m[name] = 0
	}
	return m
}

// most is the difference of two channels up to which colours look the same.
const most = 32

// NearlyEqual reports whether a reader hardly sees a difference of two colours.
func NearlyEqual(a, b int32) bool {
	for shift := 0; shift < 24; shift += 8 {
		if d := a>>shift&0xff - b>>shift&0xff; d > most || d < -most {
			return false
		}
	}
	return true
}
