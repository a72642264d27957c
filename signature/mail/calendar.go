package mail

import (
	"bytes"
	"strings"

	"github.com/spambloom/spambloom/signature/ascii"
)

// calendarProse are the properties of a calendar object that mail programs show as text (RFC 5545
// section 3.8.1).
var calendarProse = map[string]bool{"summary": true, "description": true, "location": true, "comment": true, "x-alt-desc": true}

// IsCalendar reports whether a type is that of a calendar object, which mail programs show as an
// invitation.
func IsCalendar(mediaType string) bool {
	return mediaType == "text/calendar" || mediaType == "application/ics"
}

// CalendarText returns what readers of a calendar object see, in place.
func CalendarText(content []byte) []byte {
	out := content[:0]
	for pos := 0; pos < len(content); {
		line, next := CutLine(content, pos)
		end := bytes.IndexAny(line, ":;")
		name := ""
		if end > 0 {
			name = string(ascii.AppendLower(nil, line[:min(end, 16)]))
		}
		isProse, start := calendarProse[name], len(out)
		if isProse {
			out = appendProperty(out, line[valueOf(line):])
		}
		for pos = next; pos < len(content) && (content[pos] == ' ' || content[pos] == '\t'); pos = next {
			if line, next = CutLine(content, pos); isProse {
				out = appendProperty(out, line[1:])
			}
		}
		if name == "x-alt-desc" {
			out = appendUntagged(out[:start], out[start:])
		}
		if isProse {
			out = append(out, '\n')
		}
	}
	return out
}

// valueOf returns where the value of a property begins. A colon in quotes belongs to a parameter.
func valueOf(line []byte) int {
	isQuoted := false
	for i, c := range line {
		switch {
		case c == '"':
			isQuoted = !isQuoted
		case c == ':' && !isQuoted:
			return i + 1
		}
	}
	return len(line)
}

// appendProperty appends a piece of a value without backslashes (RFC 5545 section 3.3.11). A fold
// between a backslash and its letter costs one word.
func appendProperty(dst, value []byte) []byte {
	for i := 0; i < len(value); i++ {
		c := value[i]
		if c == '\\' && i+1 < len(value) {
			i++
			if c = value[i]; strings.IndexByte("nN", c) >= 0 {
				c = '\n'
			}
		}
		dst = append(dst, c)
	}
	return dst
}

// appendUntagged appends a page without tags, in place; a blank stands for each.
func appendUntagged(dst, page []byte) []byte {
	for {
		open := bytes.IndexByte(page, '<')
		if open < 0 {
			return append(dst, page...)
		}
		end := bytes.IndexByte(page[open:], '>')
		if end < 0 {
			return append(dst, page...)
		}
		dst = append(append(dst, page[:open]...), ' ')
		page = page[open+end+1:]
	}
}
