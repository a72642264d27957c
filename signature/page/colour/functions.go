package colour

import (
	"bytes"
	"math"
	"strings"
)

const (
	// maxFallback is the length, in bytes, of a value whose fallback is read.
	maxFallback = 256
	// turn is a full circle of hues, in degrees.
	turn = 360
)

// Fallback returns what var(--x, value) has without a value of --x, and v itself if it is anything else.
func Fallback(v []byte) []byte {
	for len(v) <= maxFallback && bytes.HasPrefix(v, []byte("var(")) && bytes.HasSuffix(v, []byte(")")) {
		_, inside, ok := bytes.Cut(v[:len(v)-1], []byte(","))
		if !ok {
			return v
		}
		v = bytes.TrimSpace(inside)
	}
	return v
}

// isOfVariables reports whether a colour depends on a variable.
func isOfVariables(v []byte) bool { return bytes.Contains(v, []byte("var(")) }

// ofFunction returns the colour of a function that is no name and no number.
func ofFunction(v []byte) int32 {
	if bytes.IndexByte(v, '(') < 0 {
		return Unknown
	}
	name, list, _ := strings.Cut(string(v), "(")
	mix, ok := spaces[strings.TrimSuffix(name, "a")]
	if !ok {
		return Unknown
	}
	fields := strings.FieldsFunc(strings.TrimSuffix(list, ")"), func(r rune) bool { return strings.ContainsRune(",/ \t\r\n\f", r) })
	if len(fields) < 3 || len(fields) > 4 {
		return Unknown
	}
	values, alpha := [3]float64{}, 1.0
	for i, f := range fields {
		n, isShare, ok := numberOf(f)
		if !ok {
			return Unknown
		}
		if isShare {
			n /= 100
		}
		if i == 3 {
			alpha = n
			continue
		}
		values[i] = n
		if !isShare && strings.HasPrefix(name, "h") && i > 0 { // hsl(0 50 50)
			values[i] /= 100
		}
	}
	var c int32
	for _, channel := range mix(values) {
		c = c<<8 | int32(max(0, min(channel*255+0.5, 255)))
	}
	return onWhite(c, alpha)
}

// numberOf reads a number, a share, or an angle in degrees.
func numberOf(field string) (n float64, isShare, ok bool) {
	for unit, degrees := range angles {
		if value, isAngle := strings.CutSuffix(field, unit); isAngle {
			n, isShare, ok = number(value)
			return n * degrees, isShare, ok
		}
	}
	if field == "none" {
		return 0, false, true
	}
	return number(field)
}

var angles = map[string]float64{"deg": 1, "turn": turn}

// spaces are the functions of colours besides those of channels (CSS Color 4), which return red, green and blue from 0 to 1.
var spaces = map[string]func([3]float64) [3]float64{
	"hsl": func(v [3]float64) [3]float64 { return ofHue(v[0], v[2], min(v[1], 1)*min(v[2], 1-v[2])) },
	"hwb": func(v [3]float64) [3]float64 {
		white, black := v[1], v[2]
		if sum := white + black; sum > 1 {
			white, black = white/sum, black/sum
		}
		return ofHue(v[0], (1+white-black)/2, (1-white-black)/2)
	},
	"oklab": ofLab,
	"oklch": func(v [3]float64) [3]float64 {
		angle := v[2] * 2 * math.Pi / turn
		return ofLab([3]float64{v[0], v[1] * math.Cos(angle), v[1] * math.Sin(angle)})
	},
}

// mostHue is the greatest hue that is read: math.Mod takes a step for each bit of a quotient.
const mostHue = 1 << 40

// ofHue returns the colour of a hue whose channels are at most around apart from a middle.
func ofHue(hue, middle, around float64) (rgb [3]float64) {
	hue = max(-mostHue, min(hue, mostHue))
	for i, from := range []float64{0, 8, 4} {
		k := math.Mod(from+hue/30, 12)
		if k < 0 {
			k += 12
		}
		rgb[i] = middle - around*max(-1, min(k-3, 9-k, 1))
	}
	return rgb
}

// ofLab returns a colour of Oklab.
func ofLab(v [3]float64) (rgb [3]float64) {
	cube := func(a, b float64) float64 { return math.Pow(v[0]+a*v[1]+b*v[2], 3) }
	l, m, s := cube(0.3963377774, 0.2158037573), cube(-0.1055613458, -0.0638541728), cube(-0.0894841775, -1.2914855480)
	for i, x := range []float64{4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s, -0.0041960863*l - 0.7034186147*m + 1.7076147010*s} {
		if rgb[i] = 12.92 * x; x > 0.0031308 {
			rgb[i] = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
	}
	return rgb
}
