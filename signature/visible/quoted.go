package visible

import (
	"bytes"
	"unicode"

	"github.com/spambloom/spambloom/signature/ascii"
	"github.com/spambloom/spambloom/signature/mail"
	"github.com/spambloom/spambloom/signature/span"
	"github.com/spambloom/spambloom/signature/work"
)

// The lengths, in bytes, up to which text below a signature's mark or a list's ruler can
// be a signature or a footer. Longer text is the message, whatever stands above it.
const (
	maxSignature   = 600
	maxAddedByList = 900 // by a mailing list, after a signature
)

// appendQuoted appends the stretches of a text that its author did not write:
//
//   - lines that begin with a quotation mark, and the line before them that names their author;
//   - all below "-- ", and in mail of a mailing list, all that lists and scanners add;
//   - lines of SpamAssassin.
//
// In an answer, they also are: all below a line that announces another message, and lines
// with any mark that its first quoted line has. In other mail these would be a place to
// hide, as they show little or nothing.
func appendQuoted(spans []span.Span, text []byte, from mail.Origin, w *work.Steps) []span.Span {
	q := quotes{isAnswer: from.Answer != mail.NoAnswer, spans: spans, work: w, isFirst: true}
	if q.tail = tailOf(text, maxSignature); from.IsList {
		q.tail = tailOf(text, maxAddedByList)
	}
	for pos := 0; pos < len(text) && !w.IsOver(); {
		line, next := mail.CutLine(text, pos)
		w.Spend(work.PerLine + len(line)/8)
		words := bytes.TrimSpace(line)
		switch {
		case len(words) == 0:
		case pos >= q.tail && isSignatureMark(line):
			return append(q.spans, span.Span{Start: pos, End: len(text), By: span.ByProgram})
		case pos >= q.tail && from.IsList && q.footer(text, words, pos):
			next, words = q.spans[len(q.spans)-1].End, nil
		case q.isAnswer && isForward(words):
			return append(q.spans, span.Span{Start: pos, End: len(text), By: span.ByOther})
		case bytes.HasPrefix(words, []byte("SPAM: ")): // older versions of SpamAssassin
			q.spans = append(q.spans, span.Span{Start: pos, End: next, By: span.ByProgram})
		default:
			q.line(text, words, span.Span{Start: pos, End: next, By: span.ByOther})
		}
		q.isFirst, pos = len(words) == 0, next
	}
	return q.spans
}

// quotes collects quoted lines.
type quotes struct {
	spans     []span.Span
	isAnswer  bool
	tail      int       // from here on, an addition may begin
	mark      []byte    // of an answer's quoted lines
	previous  span.Span // the last line that is not empty
	isInside  bool      // that line is quoted
	hasFooter bool      // a list's footer was found
	isFirst   bool      // the line is the first of a paragraph
	work      *work.Steps
}

// line reads one line that is not empty.
func (q *quotes) line(text, words []byte, at span.Span) {
	isIntroduced := func() bool { return !q.isInside && isAttribution(text[q.previous.Start:q.previous.End]) }
	if q.isAnswer && len(q.mark) == 0 && isIntroduced() {
		q.mark = markOf(words)
	}
	if isQuoted(words) || len(q.mark) > 0 && bytes.HasPrefix(words, q.mark) {
		if isIntroduced() {
			q.spans = append(q.spans, q.previous)
		}
		q.spans = append(q.spans, at)
		q.isInside = true
	} else {
		q.isInside = false
	}
	q.previous = at
}

// tailOf returns where the last lines of a text begin that have at most left bytes
// together. Lines that begin with ">" are not counted.
func tailOf(text []byte, left int) int {
	start := len(text)
	for start > 0 {
		line := text[bytes.LastIndexByte(text[:start-1], '\n')+1 : start]
		if trimmed := bytes.TrimLeft(line, " \t"); len(trimmed) == 0 || trimmed[0] != '>' {
			left -= len(line)
		}
		if left < 0 {
			break
		}
		start -= len(line)
	}
	return start
}

// maxInitials is the length of the initials that some mail programs put before each
// quoted line, as in "JH> ".
const maxInitials = 12

// isQuoted reports whether a line begins with ">" or "|", or with initials and ">".
func isQuoted(words []byte) bool {
	switch words[0] {
	case '>':
		return true
	case '|':
		return len(words) > 1
	}
	i := 0
	for i < len(words) && i <= maxInitials && isAlphanumericByte(words[i]) {
		i++
	}
	if i == 0 || i > maxInitials || i == len(words) || words[i] != '>' {
		return false
	}
	return i+1 == len(words) || words[i+1] == ' ' || words[i+1] == '>'
}

// markOf returns the beginning of a line if a mail program may have put it there: one to
// four signs, except those that begin items of lists.
func markOf(words []byte) []byte {
	const longest = 4
	i := 0
	for i < len(words) && words[i] > ' ' && words[i] < 0x7f && !isAlphanumericByte(words[i]) {
		i++
	}
	if i == 0 || i > longest || i == 1 && bytes.IndexByte([]byte(`*-+"'([<&$`), words[0]) >= 0 {
		return nil
	}
	return words[:i]
}

// isAttribution reports whether a line may name the author of what is quoted below it: it
// ends with a colon.
func isAttribution(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) < 300 && bytes.HasSuffix(line, []byte(":"))
}

// isForward reports whether another message stands below a line: dashes around words for
// that.
func isForward(words []byte) bool {
	title := bytes.Trim(words, "-_ ")
	if words[0] != '-' && words[0] != '_' || len(words) <= len(title)+6 || len(title) > 40 {
		return false
	}
	return ascii.ContainsAny(ascii.AppendLower(nil, title), forwardTitles)
}

// isSignatureMark reports whether line stands above a signature (RFC 3676 section 4.3).
func isSignatureMark(line []byte) bool {
	return bytes.Equal(bytes.TrimRight(line, "\r\n"), []byte("-- "))
}

// beginsFooter reports whether a line is a ruler, below which a list's footer may stand.
func beginsFooter(words []byte) bool {
	if bytes.IndexByte([]byte("_-=~*"), words[0]) < 0 {
		return false
	}
	title := bytes.Trim(words, "-_=~*> ")
	if len(title) > 0 {
		return len(words) > len(title)+6 && len(title) <= 40 && ascii.ContainsAny(ascii.AppendLower(nil, title), footerTitles)
	}
	return len(words) >= 10
}

// footer adds the paragraph at pos if a mailing list added it: it has the words of lists,
// and begins with a ruler or stands after a paragraph that does.
func (q *quotes) footer(text, words []byte, pos int) bool {
	if !beginsFooter(words) && !(q.hasFooter && q.isFirst) {
		return false
	}
	end := paragraphEnd(text, pos)
	q.work.Spend(2 * (end - pos))
	if !ascii.ContainsAny(ascii.AppendLower(nil, text[pos:end]), footerPhrases) {
		return false
	}
	q.spans, q.hasFooter = append(q.spans, span.Span{Start: pos, End: end, By: span.ByProgram}), true
	return true
}

// paragraphEnd returns where the next empty line begins after pos, apart from those that
// follow the first line. It stops where no footer is that long.
func paragraphEnd(text []byte, pos int) int {
	limit := pos + maxAddedByList
	_, pos = mail.CutLine(text, pos)
	hasText := false
	for pos < len(text) && pos < limit {
		line, next := mail.CutLine(text, pos)
		isEmpty := len(bytes.TrimSpace(line)) == 0
		if isEmpty && hasText {
			break
		}
		hasText, pos = hasText || !isEmpty, next
	}
	return pos
}

var (
	forwardTitles = phrasesOf("original", "forwarded message", "ursprüngliche nachricht", "weitergeleitete nachricht",
		"message d'origine", "message transféré", "mensaje original", "messaggio originale", "mensagem original",
		"oorspronkelijk bericht")
	footerTitles  = phrasesOf("yahoo! groups")
	footerPhrases = phrasesOf("mailing list", "mailman/listinfo", "unsubscribe", "to post to this group", "yahoo! groups",
		"yahoogroups", "list archive", "this sf.net email", "sponsored by", "scanned for virus", "checked for virus",
		"this e-mail is confidential", "listserv", "majordomo", "do you yahoo", "hotmail.com", "msn.com")
)

func phrasesOf(list ...string) [][]byte {
	var phrases [][]byte
	for _, p := range list {
		phrases = append(phrases, []byte(p))
	}
	return phrases
}

// isAlphanumericByte reports whether c is a letter or digit in ISO 8859-1.
func isAlphanumericByte(c byte) bool {
	return unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c))
}
