package signature

import "bytes"

// appendQuoted appends the stretches of a text that its author did not write: lines
// that begin with ">" or "|" and the line before them that says who wrote them; what
// is below "-- " or a line that says that a message was attached, and what mailing
// lists add, up to the end.
func appendQuoted(spans []span, text []byte) []span {
	previous := span{} // the last line that is not empty
	inQuote := false
	rulers := maxRulers
	for pos := 0; pos < len(text); {
		line, next := cutLine(text, pos)
		words := bytes.TrimSpace(line)
		switch {
		case len(words) == 0:
		case endsOwnWords(line, words, text[next:], &rulers):
			return append(spans, span{pos, len(text)})
		case words[0] == '>' || words[0] == '|' && len(words) > 1:
			if !inQuote && isAttribution(text[previous.start:previous.end]) {
				spans = append(spans, previous)
			}
			spans = append(spans, span{pos, next})
			inQuote = true
		default:
			previous, inQuote = span{pos, next}, false
		}
		pos = next
	}
	return spans
}

// isAttribution tells a line that says who wrote what is quoted below it: it ends
// with a colon.
func isAttribution(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) < 300 && bytes.HasSuffix(line, []byte(":"))
}

// endsOwnWords tells a line from which on nothing is the author's own: a signature's
// mark, a separator of mail programs, a ruler above what a mailing list adds.
func endsOwnWords(line, words, below []byte, rulers *int) bool {
	if bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("-- ")) {
		return true
	}
	switch words[0] {
	case '_', '-', '=', '~', '*':
	default:
		return false
	}
	if title := bytes.Trim(words, "-_=~*> "); len(title) > 0 {
		return words[0] == '-' && len(words) > len(title)+6 && isForwardTitle(title)
	}
	if len(words) < 10 || *rulers == 0 {
		return false
	}
	*rulers--
	return isListFooter(below)
}

// isForwardTitle tells what stands between dashes above a message that is quoted
// whole.
func isForwardTitle(title []byte) bool {
	if len(title) > 40 {
		return false
	}
	lower := appendLower(nil, title)
	for _, word := range []string{"original", "forwarded message", "ursprüngliche nachricht", "weitergeleitete nachricht", "message d'origine",
		"message transféré", "mensaje original", "messaggio originale", "mensagem original", "oorspronkelijk bericht", "yahoo! groups"} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	return false
}

const (
	// maxFooter is how much of what is below a ruler is looked at, in bytes.
	maxFooter = 600
	// maxRulers is below how many rulers of a part is looked.
	maxRulers = 32
)

// isListFooter tells what mailing lists and scanners add below a ruler.
func isListFooter(below []byte) bool {
	lower := appendLower(nil, below[:min(len(below), maxFooter)])
	for _, word := range []string{"mailing list", "mailman/listinfo", "unsubscribe", "to post to this group", "yahoo! groups", "yahoogroups",
		"list archive", "this sf.net email", "sponsored by", "scanned for virus", "checked for virus", "this e-mail is confidential", "listserv", "majordomo"} {
		if bytes.Contains(lower, []byte(word)) {
			return true
		}
	}
	return false
}
