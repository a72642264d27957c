package css

import "strings"

// Hides reports whether a declaration hides an element by itself.
func Hides(name, v string) bool {
	switch name {
	case "text-indent": // 100 % is the width of the box around it
		return IsFar(v) || isBeside(v)
	case "margin-left", "margin-top", "margin-right", "margin", "margin-inline", "margin-inline-start", "margin-block", "margin-block-start":
		return IsFar(v)
	case "padding-left", "padding-top", "padding", "padding-inline", "padding-inline-start", "padding-block", "padding-block-start",
		"vertical-align", "word-spacing":
		return isFarApart(v)
	case "clip":
		return strings.HasPrefix(v, "rect(")
	case "mask", "mask-image", "offset", "offset-path":
		return v != "none" && v != ""
	case "transform":
		return IsComputed(v)
	case "translate", "rotate":
		return v != "none"
	case "mix-blend-mode":
		return IsComputed(v) || blends[v]
	case "content-visibility":
		return v == "hidden"
	case "mso-hide":
		return v == "all"
	case "letter-spacing":
		return isWrittenOver(v)
	}
	return false
}

// Masks reports whether a declaration hides the text of an element. A picture of such a style is often seen.
func Masks(name, v string) bool {
	switch name {
	case "clip-path":
		return v != "none" && v != ""
	case "content": // a picture in its place
		return IsComputed(v)
	case "scale":
		return v != "none"
	case "filter":
		if strings.Contains(v, "opacity") {
			return true
		}
		for _, function := range []string{"blur(", "brightness(", "contrast(", "invert(", "url("} {
			if strings.Contains(v, function) && !strings.HasPrefix(v, "progid:") {
				return true
			}
		}
	}
	return false
}

// IsForBlends reports whether a mode of blending is one by which programs keep light text in a dark mode that inverts
// colours. Black text is not seen on white with it.
func IsForBlends(mode string) bool { return mode == "screen" || mode == "difference" }

// blends are the other modes by which black text is not seen on white.
var blends = map[string]bool{"lighten": true, "color-dodge": true, "exclusion": true, "hue": true,
	"saturation": true, "color": true, "overlay": true, "hard-light": true, "soft-light": true, "plus-lighter": true}

// HasWidth reports whether the stroke around letters has a width.
func HasWidth(stroke string) bool {
	for field := range strings.FieldsSeq(stroke) {
		n, unit, ok := Measure(field)
		isLength := ok && n > 0 && unit != "" && 'a' <= unit[0] && unit[0] <= 'z'
		if isLength || field == "thin" || field == "medium" || field == "thick" || strings.HasPrefix(field, "calc(") || strings.HasPrefix(field, "var(") {
			return true
		}
	}
	return false
}

// IsHeld reports whether an animation may show a frame other than its last one for long, by a declaration of it.
func IsHeld(name, v string) bool {
	if name == "animation-timeline" {
		return v != "auto"
	}
	for _, way := range []string{"reverse", "alternate", "paused", "calc("} {
		if strings.Contains(v, way) {
			return true
		}
	}
	if strings.Contains(v, "var(") && !strings.Contains(v, ",") {
		return true
	}
	for t := range terms(v) {
		if t.unit == "s" && t.number >= longest || t.unit == "ms" && t.number >= 1000*longest {
			return true
		}
	}
	return false
}

// longest is the time, in seconds, from which on readers do not wait for the end of an animation.
const longest = 10
