package mail

import "bytes"

// A mail server that delivers or relays a message breaks the lines that are too long for
// SMTP, in the middle of words, after its filters have seen the whole message. The copy
// that a reader reports has the breaks, so they are undone.
//
// Postfix (smtp_line_length_limit, lmtp_line_length_limit: 998) goes on in a new line
// that begins with a blank, which is the first of its 998 bytes. Sendmail (L= of its
// mailers: 990 for SMTP, 2040 for relays) puts "!" at the end of the broken line, as its
// last byte.
const (
	postfixLimit       = 998
	sendmailLimit      = 990
	sendmailRelayLimit = 2040
)

// rejoin joins, in place, the lines of b that servers broke; they end in LF. A line that
// only looks broken is joined as well, in every copy of the message. No line that a limit
// leaves is long enough for a larger limit, so the breaks were made from the largest to
// the smallest one.
func rejoin(b []byte) []byte {
	if !hasLongLine(b) {
		return b
	}
	b = undoBreaks(b, sendmailBreak(sendmailLimit))
	b = undoBreaks(b, postfixBreak)
	return undoBreaks(b, sendmailBreak(sendmailRelayLimit))
}

// hasLongLine reports whether a line may have been broken.
func hasLongLine(b []byte) bool {
	for len(b) >= sendmailLimit-1 {
		end := bytes.LastIndexByte(b[:sendmailLimit-1], '\n')
		if end < 0 {
			return true
		}
		b = b[end+1:]
	}
	return false
}

// breakRule is how a server breaks lines.
type breakRule struct {
	// size returns how many bytes of a line stand before a break, for the piece of a line
	// that begins with piece.
	size func(piece []byte, first bool) int
	// spare is how many bytes more than size the last piece may have.
	spare int
	// end and begin stand before and after the line end of a break.
	end, begin string
}

var postfixBreak = breakRule{
	size: func(_ []byte, first bool) int {
		if first {
			return postfixLimit
		}
		return postfixLimit - len(" ")
	},
	begin: " ",
}

// sendmailBreak counts the dot that SMTP puts before a line that begins with one (RFC
// 5321 section 4.5.2), as Sendmail does.
func sendmailBreak(limit int) breakRule {
	return breakRule{
		size: func(piece []byte, _ bool) int {
			if piece[0] == '.' {
				return limit - len("!") - len(".")
			}
			return limit - len("!")
		},
		spare: len("!"),
		end:   "!",
	}
}

// undoBreaks joins, in place, the lines that rule broke. It breaks each line again as it
// goes along, so that a whole long line and its broken copy become the same, whatever
// they contain.
func undoBreaks(b []byte, rule breakRule) []byte {
	out := b[:0]
	piece, first := 0, true // where the piece begins in out, and whether it begins a line
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return append(out, b...)
		}
		out, b = append(out, b[:end]...), b[end+1:]
		for piece < len(out) {
			size := rule.size(out[piece:], first)
			if len(out)-piece <= size+rule.spare {
				break
			}
			piece, first = piece+size, false
		}
		if piece < len(out) && len(out)-piece == rule.size(out[piece:], first)+len(rule.end) &&
			bytes.HasSuffix(out, []byte(rule.end)) && bytes.HasPrefix(b, []byte(rule.begin)) {
			out, b = out[:len(out)-len(rule.end)], b[len(rule.begin):]
			piece, first = len(out), false
			continue
		}
		out = append(out, '\n')
		piece, first = len(out), true
	}
}
