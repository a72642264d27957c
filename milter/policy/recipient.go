package policy

import "strings"

// Recipient returns an address of RCPT TO as MTAs deliver it: without quotes, escapes, comments,
// blanks, a route and final dots of the domain (RFC 5321, section 4.1.1.3; RFC 5322, section 4.4).
// They accept anna@example.org in all these forms, and a sender could so choose one that no policy
// names. What cannot be read, or has such a form within the domain, is returned unchanged.
func Recipient(address string) string {
	if address == "" || !strings.ContainsAny(address, "\"\\("+whitespace) && address[0] != '@' && address[len(address)-1] != '.' {
		return address // the common case
	}
	p := scanner{rest: address}
	if p.blank(); strings.HasPrefix(p.rest, "@") { // @a.example,@b.example:anna@example.org
		if _, after, isRoute := strings.Cut(p.rest, ":"); isRoute {
			p.rest = after
		}
	}
	var plain strings.Builder
	hasDomain := false
	for p.skip() && !p.done() {
		isLiteral := strings.IndexByte(`"\`, p.rest[0]) >= 0
		text, ok := p.piece()
		if !ok || isLiteral && hasDomain {
			return address
		}
		hasDomain = hasDomain || !isLiteral && text == "@"
		plain.WriteString(text)
	}
	if !p.done() || !hasDomain {
		return address
	}
	return strings.TrimRight(plain.String(), ".")
}

// piece reads a quoted string, an escaped character, a run of atoms with the blanks between them or
// of dots, or else one character.
func (p *scanner) piece() (text string, ok bool) {
	switch p.rest[0] {
	case '"':
		return p.quoted()
	case '\\':
		p.rest = p.rest[1:]
		if p.done() {
			return "", false
		}
	default:
		if text = p.run(func(c byte) bool { return isAtom(c) || c == ' ' }); text != "" {
			return strings.TrimRight(text, " "), true
		}
	}
	if text = p.run(func(c byte) bool { return c == '.' }); text == "" {
		text, p.rest = p.rest[:1], p.rest[1:]
	}
	return text, true
}
