package css

import (
	"bytes"
	"slices"
)

// Cut cuts a list at its first separator outside parentheses.
func Cut(list []byte, isSeparator func(byte) bool) (one, rest []byte) {
	depth := 0
	for i, c := range list {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth <= 0 && isSeparator(c):
			return list[:i], list[i+1:]
		}
	}
	return list, nil
}

// Subject returns the part of a selector that is about the selected element itself: that
// behind its last combinator outside parentheses and brackets.
func Subject(selector []byte) []byte {
	depth := 0
	for i, c := range slices.Backward(selector) {
		switch c {
		case ')', ']':
			depth++
		case '(', '[':
			depth--
		case ' ', '\t', '\r', '\n', '\f', '>', '+', '~':
			if depth == 0 {
				return selector[i+1:]
			}
		}
	}
	return selector
}

// IsForGmail reports whether a selector begins with "u + ", as only Gmail puts an element u before the page.
func IsForGmail(selector []byte) bool {
	rest, ok := bytes.CutPrefix(selector, []byte("u"))
	return ok && bytes.HasPrefix(bytes.TrimSpace(rest), []byte("+"))
}
