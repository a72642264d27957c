package css

import (
	"bytes"
	"strings"
)

// Measure splits a CSS measure into number and unit. The number may have an exponent.
func Measure(v string) (number float64, unit string, ok bool) {
	end := strings.IndexFunc(v, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '+' && r != '-' })
	if end < 0 {
		end = len(v)
	}
	if exponent, ok := strings.CutPrefix(v[end:], "e"); ok {
		if n := len(exponent) - len(strings.TrimLeft(exponent, "+-0123456789")); n > 0 {
			end += 1 + n
		}
	}
	number, ok = Number(v[:end])
	return number, strings.TrimSpace(v[end:]), ok
}

// Pixels returns how many CSS pixels a unit has. Those that depend on a font or window are taken for ten.
func Pixels(unit string) float64 {
	switch unit {
	case "", "px", "q":
		return 1
	case "pt":
		return 4. / 3
	case "pc":
		return 16
	case "mm":
		return 3.78
	case "cm":
		return 37.8
	case "in":
		return 96
	}
	return 10
}

// farOutside is the distance from the left or upper edge, in CSS pixels, at which text is
// outside of any window.
const farOutside = 500

// IsFar reports whether a list of lengths has one outside of any window: to the left or
// above, or very far anywhere; or a computed one.
func IsFar(v string) bool {
	for field := range strings.FieldsSeq(v) {
		n, unit, ok := Measure(field)
		isBeside := unit == "vw" && n >= 100 // of the window
		n *= Pixels(unit)
		if ok && isBeside || ok && (n <= -farOutside || n >= 10*farOutside) || !ok && IsComputed(field) {
			return true
		}
	}
	return false
}

// isBeside reports whether a length is the whole width of the box around it, or more.
func isBeside(v string) bool {
	n, unit, ok := Measure(v)
	return ok && unit == "%" && n >= 100
}

// IsPulse reports whether a transformation enlarges, turns or moves an element, and leaves it in sight.
func IsPulse(value []byte) bool {
	for one := range bytes.SplitSeq(value, []byte(")")) {
		name, arguments, _ := bytes.Cut(bytes.TrimSpace(one), []byte("("))
		all := strings.Split(string(arguments), ",")
		switch string(name) {
		case "", "none", "rotate", "rotatez":
		case "scale", "scalex", "scaley", "scale3d":
			for _, one := range all {
				if n, _, _ := Measure(strings.TrimSpace(one)); n < 0.5 {
					return false
				}
			}
		case "translate", "translatex", "translatey", "translatez", "translate3d":
			for _, one := range all {
				if one = strings.TrimSpace(one); IsFar(one) || isBeside(one) {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}
