package css

import "bytes"

// IsForWindow reports whether the block of an at-rule may apply in a window of 1,000
// pixels.
func IsForWindow(head []byte) bool {
	queries, isMedia := bytes.CutPrefix(head, []byte("@media"))
	if !isMedia {
		name, _, _ := bytes.Cut(head, []byte(" "))
		name, _, _ = bytes.Cut(name, []byte("("))
		return groupingRules[string(name)]
	}
	for query := range bytes.SplitSeq(queries, []byte(",")) {
		if isForMedia(query) {
			return true
		}
	}
	return false
}

// isForMedia reports whether one of several media queries may hold.
func isForMedia(query []byte) bool {
	if bytes.Contains(query, []byte("not")) || bytes.Contains(query, []byte(" or ")) {
		return true
	}
	if bytes.Contains(query, []byte("print")) {
		return false
	}
	for _, feature := range []string{"max-width", "max-device-width"} {
		if _, most, isNarrow := bytes.Cut(query, []byte(feature)); isNarrow {
			most = bytes.TrimSpace(bytes.TrimLeft(most, " :\t\r\n\f"))
			most, _, _ = bytes.Cut(most[:min(len(most), 16)], []byte(")"))
			n, unit, ok := Measure(string(most))
			if unit == "em" || unit == "rem" {
				n *= 1.6
			}
			return !ok || n*Pixels(unit) >= 1000
		}
	}
	return true
}

// groupingRules are the at-rules whose block is of rules that may apply.
var groupingRules = map[string]bool{"@supports": true, "@layer": true, "@container": true, "@scope": true, "@starting-style": true}
