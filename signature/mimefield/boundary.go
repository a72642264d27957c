package mimefield

import (
	"cmp"
	"mime"
	"slices"
	"strings"
)

// MaxBoundary bounds the length of a boundary. RFC 2046 allows 70, and mail programs read longer ones.
const MaxBoundary = 64 << 10

// Boundaries returns what programs may take for the boundary of a multipart: what the grammar
// gives, and what those read that stop at a blank, keep or drop backslashes, see quotes in the middle
// of a value or not, and believe the first or the last of several parameters.
// It appends them to list.
func Boundaries(list []string, value, strict string) []string {
	add := func(reading string) {
		if reading = strings.TrimRight(reading, " \t"); reading != "" && len(reading) <= MaxBoundary && !slices.Contains(list, reading) {
			list = append(list, reading)
		}
	}
	add(strict)
	for _, cut := range []func(string) (param, rest string){cutParam, cutPlainParam} {
		first, last := "", ""
		extended := []byte("multipart/mixed")
		for _, rest := cutMediaType(value); rest != ""; {
			var param string
			param, rest = cut(rest)
			name, val, _ := strings.Cut(param, "=")
			switch name = strings.ToLower(strings.Trim(name, " \t,;")); {
			case name == "boundary":
				first, last = cmp.Or(first, val), val
			case strings.HasPrefix(name, "boundary*") && len(extended)+len(param) < maxStrict: // RFC 2231
				extended = append(append(extended, ';'), param...)
			}
		}
		_, params, _ := mime.ParseMediaType(string(extended))
		add(params["boundary"])
		for _, val := range []string{first, last} {
			val = strings.Trim(val, " \t")
			add(unquote(val))
			if inside, isQuoted := strings.CutPrefix(val, `"`); isQuoted {
				add(inside[:quoteEnd(inside)])
			} else {
				add(val[:strings.IndexAny(val+" ", " \t")])
			}
		}
	}
	return list
}

// cutPlainParam is cutParam for programs that see a quote only where a value begins.
func cutPlainParam(s string) (param, rest string) {
	end := 0
	if at := strings.IndexAny(s, "=;"); at >= 0 && s[at] == '=' {
		end = at + 1 + len(s[at+1:]) - len(strings.TrimLeft(s[at+1:], " \t"))
		if end < len(s) && s[end] == '"' && quoteEnd(s[end+1:]) < len(s[end+1:]) {
			end += 1 + quoteEnd(s[end+1:])
		}
	}
	semicolon := strings.IndexByte(s[end:], ';')
	if semicolon < 0 {
		return s, ""
	}
	return s[:end+semicolon], s[end+semicolon+1:]
}

// quoteEnd returns the index of the quote that ends a quoted string, or the length of s.
func quoteEnd(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(s)
}
