package css

import (
	"iter"
	"math"
	"strings"

	"github.com/spambloom/spambloom/signature/ascii"
)

// least is the size, in pixels, up to which a box shows nothing.
const least = 2

// IsComputed reports whether a value is known only to a program that computes it.
func IsComputed(v string) bool { return strings.Contains(v, "(") }

// term is a number in an expression.
type term struct {
	number, pixels float64
	unit           string
	operator       byte // '+' or '-' if the number is added or subtracted
}

// terms are the numbers of an expression such as "calc(100% - 2px)", without those in names.
func terms(v string) iter.Seq[term] {
	return func(yield func(term) bool) {
		for i := 0; i < len(v); {
			if !isInName(v[i]) {
				i++
				continue
			}
			from := i
			for i < len(v) && isInName(v[i]) {
				i++
			}
			n, unit, ok := Measure(strings.TrimRight(v[from:i], "-"))
			if !ok {
				continue
			}
			t := term{number: n, pixels: n * Pixels(unit), unit: unit}
			before := strings.TrimRight(v[:from], " \t\r\n\f")
			if before != "" && (before[len(before)-1] == '+' || before[len(before)-1] == '-') {
				t.operator = before[len(before)-1]
			}
			if !yield(t) {
				return
			}
		}
	}
}

// isInName reports whether c is part of a name, or of a number with its unit.
func isInName(c byte) bool {
	return ascii.IsAlphanumeric(c) || c == '.' || c == '-' || c == '+' || c == '_' || c == '%'
}

// IsSmall reports whether a width or height shows nothing: a measure, an expression that contains such a one, which is
// neither added nor subtracted, or a variable, if those count.
func IsSmall(v string, ofVariables bool) bool {
	if !IsComputed(v) {
		n, unit, ok := Measure(v)
		return ok && n*Pixels(unit) <= least
	}
	if strings.HasPrefix(v, "var(") && !strings.Contains(v, ",") {
		return ofVariables
	}
	for t := range terms(v) {
		if t.operator == 0 && t.pixels <= least && (t.unit != "" || t.number == 0) {
			return true
		}
	}
	return false
}

// IsSmallGrid reports whether a row or column of a grid has no size.
func IsSmallGrid(v string) bool {
	if IsComputed(v) {
		return !strings.Contains(v, "fr") && !strings.Contains(v, "auto") && !strings.Contains(v, "content") && IsSmall(v, false)
	}
	for field := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ' ' || r == '/' }) {
		if IsSmall(field, false) {
			return true
		}
	}
	return false
}

// isFarApart reports whether a padding, or a distance of words or lines, moves text out of any window.
func isFarApart(v string) bool {
	if !IsComputed(v) {
		return IsFar(v)
	}
	for t := range terms(v) {
		if n := math.Abs(t.pixels); t.unit != "%" && (n >= farOutside && t.operator != '-' || n >= 10*farOutside) || t.unit == "%" && n >= 100*farOutside {
			return true
		}
	}
	return false
}

// isWrittenOver reports whether a distance of letters has them written over each other, or out of any window.
func isWrittenOver(v string) bool {
	const narrowest = -8
	if !IsComputed(v) {
		n, unit, ok := Measure(v)
		return ok && n*Pixels(unit) <= narrowest
	}
	for t := range terms(v) {
		if t.operator == '-' {
			t.pixels = -t.pixels
		}
		if t.pixels <= narrowest || t.pixels >= farOutside {
			return true
		}
	}
	return false
}

// IsLegible reports whether an expression is a size of fonts that can be read, whatever the window is: a clamp() or sum
// without anything small, subtracted or multiplied.
func IsLegible(v string) bool {
	const legible = 8
	before := strings.Split(v, "(")
	for _, name := range before[:len(before)-1] {
		switch name[strings.LastIndexAny(name, " ,()")+1:] {
		case "", "calc", "min", "max", "clamp":
		default:
			return false
		}
	}
	if strings.ContainsAny(v, "*/") {
		return false
	}
	isFound := false
	for t := range terms(v) {
		if t.unit == "" || t.operator == '-' || t.pixels < 0 || t.operator == 0 && t.pixels < legible {
			return false
		}
		isFound = true
	}
	return isFound
}
