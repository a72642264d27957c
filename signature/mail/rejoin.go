package mail

import "bytes"

// A mail server that delivers or relays a message breaks the lines that are too
// long for SMTP, in the middle of words, after its filters have seen the message
// whole. The copy that a reader reports has the breaks, so they are undone.
//
// Postfix (smtp_line_length_limit, lmtp_line_length_limit: 998) goes on in a new
// line that begins with a blank, which is the first of its 998 bytes. Sendmail
// (L= of its mailers: 990 for SMTP, 2040 for relays) puts "!" at the end of the
// broken line, as its last byte.
const (
	postfixLimit       = 998
	sendmailLimit      = 990
	sendmailRelayLimit = 2040
)

// rejoin undoes, in place, what servers did to the lines of b, whose lines end
// in LF. A line that only looks like a broken one is joined as well, in every
// copy of the message. Each limit leaves no line for a larger one to break, so
// the order on the way was from the largest to the smallest.
func rejoin(b []byte) []byte {
	if !hasLongLine(b) {
		return b
	}
	b = undoBreaks(b, sendmailBreak(sendmailLimit))
	b = undoBreaks(b, postfixBreak)
	return undoBreaks(b, sendmailBreak(sendmailRelayLimit))
}

// hasLongLine tells whether a line could have been broken.
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
	// size is how many bytes of a line stand before a break, for the piece of
	// a line that begins with piece.
	size func(piece []byte, first bool) int
	// spare is how many more than size a piece may have and be the last.
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

// sendmailBreak counts the dot that SMTP puts before a line that begins with
// one (RFC 5321 section 4.5.2), as Sendmail does.
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

// undoBreaks joins, in place, lines where rule broke them. It breaks each line
// anew as it goes along, so that a long line that was left whole and the same
// line broken end up the same, whatever is in them.
func undoBreaks(b []byte, rule breakRule) []byte {
	out := b[:0]
	piece, first := 0, true // where in out the piece begins, and whether a line does
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
