package policy

import "strings"

// whitespace is the white space allowed between the words of a header field's value. Values
// arrive folded.
const whitespace = " \t\r\n"

// scanner reads a structured header field from its beginning (RFC 5322, section 3.2). It
// reads each byte once, whatever the field contains.
type scanner struct{ rest string }

func (p *scanner) done() bool { return p.rest == "" }

// take reads c, if it is next, and reports whether it was.
func (p *scanner) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

// run reads all bytes up to one that is not of the given kind.
func (p *scanner) run(kind func(byte) bool) (text string) {
	n := 0
	for n < len(p.rest) && kind(p.rest[n]) {
		n++
	}
	text, p.rest = p.rest[:n], p.rest[n:]
	return text
}

// blank reads white space.
func (p *scanner) blank() { p.rest = strings.TrimLeft(p.rest, whitespace) }

// skip reads white space and comments. It returns false for an unterminated comment.
func (p *scanner) skip() bool {
	for {
		if p.blank(); p.done() || p.rest[0] != '(' {
			return true
		}
		if _, ok := p.comment(); !ok {
			return false
		}
	}
}

// comment reads one comment, including nested ones, and returns it whole.
func (p *scanner) comment() (text string, ok bool) {
	depth := 0
	for i := 0; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				text, p.rest = p.rest[:i+1], p.rest[i+1:]
				return text, true
			}
		}
	}
	return "", false
}

// quoted reads a quoted string and returns its content.
func (p *scanner) quoted() (text string, ok bool) {
	var b strings.Builder
	for i := 1; i < len(p.rest); i++ {
		switch p.rest[i] {
		case '"':
			p.rest = p.rest[i+1:]
			return b.String(), true
		case '\\':
			if i++; i == len(p.rest) {
				return "", false
			}
		}
		b.WriteByte(p.rest[i])
	}
	return "", false
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isKeyword accepts the names of methods, results and properties. RFC 5321 excludes the
// underscore, but some verifiers use it.
func isKeyword(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' || c == '_' }

// isToken is MIME's token (RFC 2045, section 5.1).
func isToken(c byte) bool {
	return c > ' ' && c < 0x7f && strings.IndexByte(`()<>@,;:\"/[]?=`, c) < 0
}

// isValue accepts the characters of values: all except those that end one or begin another
// element.
func isValue(c byte) bool { return c > ' ' && c != 0x7f && strings.IndexByte(`();"\,`, c) < 0 }

// isAtom is the atext of names and local parts (RFC 5322, section 3.2.3), 8-bit
// characters included (RFC 6532).
func isAtom(c byte) bool {
	return c > ' ' && c != 0x7f && strings.IndexByte(`()<>@,;:\".[]`, c) < 0
}
