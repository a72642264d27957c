package policy

import (
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// fieldResults is the name of the header fields in which a verifier reports its results
// (RFC 8601).
const fieldResults = "Authentication-Results"

// Bounds on the part of a header that is read for results. The fields of real verifiers
// stay below them. The bounds on one field are OpenDKIM's, with some margin.
const (
	maxResults    = 4000 // bytes of one field; a separator such as ";" counts as three
	maxWords      = 500  // words of one field, including comments and separators
	maxMethods    = 16   // results of one field
	maxProperties = 15   // of one result
	maxTop        = 100  // fields from the top
)

// result is what a verifier reported for one method (resinfo in RFC 8601, section 2.2).
type result struct {
	method, value string // lower case
	properties    []property
}

// property is one of the properties that the verifier checked.
type property struct{ name, value string } // name as in "header.d", lower case

// property returns the value of the named property. It returns "" if there is none, or two.
func (r *result) property(name string) (value string) {
	for _, p := range r.properties {
		if p.name == name && value != "" {
			return ""
		}
		if p.name == name {
			value = p.value
		}
	}
	return value
}

// ownResults returns the results reported by the verifier called authservID, by method.
// MTAs show a milter the header without their own Received field, and verifiers insert
// their fields directly below it. Therefore only the fields above the first field of
// another kind are read. Fields below it arrived with the message, or this site wrote them
// when it saw the message earlier.
//
// The first field with a method decides about that method. No field below one that does not
// parse counts, so a forged pass below a genuine failure has no effect. A forged field with
// a method that the verifier did not report cannot be detected here; the MTA must remove
// incoming fields with authservID.
func ownResults(header []signature.Field, authservID string) map[string][]result {
	own := make(map[string][]result)
	for _, f := range header[:min(len(header), maxTop)] {
		if !isVerifierField(f.Name) {
			break
		}
		id, rest, ok := cutAuthservID(f.Value)
		if !ok || !isResults(f.Name) || !strings.EqualFold(id, authservID) {
			continue
		}
		results, ok := parseResults(rest)
		if !ok {
			break
		}
		field := make(map[string][]result)
		for _, r := range results {
			field[r.method] = append(field[r.method], r)
		}
		for _, method := range []string{"dkim", "spf", "dmarc"} {
			if _, decided := own[method]; !decided && field[method] != nil {
				own[method] = field[method]
			}
		}
	}
	return own
}

// isResults compares ASCII only. EqualFold takes U+017F for an s; an MTA that removes
// forged fields does not.
func isResults(name string) bool {
	return len(name) == len(fieldResults) && strings.EqualFold(name, fieldResults)
}

// isVerifierField reports whether filters insert fields of this name at the top: OpenDKIM,
// OpenDMARC, OpenARC, policyd-spf, rspamd, amavis.
func isVerifierField(name string) bool {
	for _, whole := range []string{fieldResults, "Received-SPF", "DKIM-Filter", "DMARC-Filter"} {
		if strings.EqualFold(name, whole) {
			return true
		}
	}
	for _, prefix := range []string{"ARC-", "X-"} {
		if len(name) > len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			return true
		}
	}
	return false
}

// cutAuthservID cuts a field's value after its authserv-id. The id must be plain, as all
// verifiers write it. RFC 8601 allows a comment before it and quotes, but an MTA that
// removes forged fields looks for the plain form.
func cutAuthservID(value string) (id, rest string, ok bool) {
	value = strings.TrimLeft(value, whitespace)
	end := strings.IndexFunc(value, func(r rune) bool { return r > 0x7e || !isToken(byte(r)) })
	if end < 0 {
		end = len(value)
	}
	id, rest = value[:end], value[end:]
	return id, rest, id != "" && (rest == "" || strings.IndexByte(whitespace+";", rest[0]) >= 0)
}

// parseResults reads what follows the authserv-id (RFC 8601, section 2.2). It is lenient in
// two respects, as verifiers require: a value may contain all characters that do not end
// one, and a semicolon may follow the last result. Anything else that does not conform is
// an error, including a format version other than 1.
//
// It accepts less than the RFC allows, and nothing that OpenDKIM 2.11.0 does not
// understand: OpenDKIM removes forged fields, but leaves a field that it cannot parse.
// Therefore property types are its four, in lower case; a reason precedes them; values
// contain only single dots and equal signs, and not at either end; a comment is separated
// from words; and a field does not exceed OpenDKIM's buffers.
func parseResults(s string) (results []result, ok bool) {
	marks := strings.Count(s, ";") + strings.Count(s, "=") + strings.Count(s, ".")
	comments := strings.Count(s, ")")
	if len(s)+2*marks+comments > maxResults || len(strings.Fields(s))+2*marks+comments > maxWords {
		return nil, false
	}
	p := scanner{rest: s}
	if !p.skip() {
		return nil, false
	}
	if version := p.run(isDigit); version != "" && (version != "1" || !p.skip()) {
		return nil, false
	}
	for !p.done() {
		if !p.take(';') || !p.skip() {
			return nil, false
		}
		if p.done() {
			break
		}
		r, ok := p.result()
		if !ok {
			return nil, false
		}
		if r.method == "none" && r.value == "" { // "none" stands alone: there are no results
			return nil, results == nil && p.done()
		}
		if results = append(results, r); len(results) > maxMethods {
			return nil, false
		}
	}
	return results, results != nil
}

// result reads one result and its properties.
func (p *scanner) result() (r result, ok bool) {
	r.method = strings.ToLower(p.run(isKeyword))
	if r.method == "" || p.take('/') && p.run(isDigit) != "1" || !p.apart() {
		return r, false
	}
	if !p.take('=') {
		return r, r.method == "none"
	}
	if !p.skip() {
		return r, false
	}
	r.value = strings.ToLower(p.run(isKeyword))
	if r.value == "" || !p.apart() {
		return r, false
	}
	for !p.done() && p.rest[0] != ';' {
		name, value, ok := p.property()
		if !ok || name == "reason" && r.properties != nil || len(r.properties) == maxProperties {
			return r, false
		}
		r.properties = append(r.properties, property{name, value})
	}
	return r, true
}

// property reads "header.d=example.org", or "reason=..." without a dot.
func (p *scanner) property() (name, value string, ok bool) {
	name = p.run(isKeyword)
	isReason := strings.EqualFold(name, "reason")
	if !isReason && name != "smtp" && name != "header" && name != "body" && name != "policy" || !p.apart() {
		return "", "", false
	}
	if isReason {
		name = "reason"
	} else {
		if !p.take('.') || !p.skip() {
			return "", "", false
		}
		of := strings.ToLower(p.run(isKeyword))
		if of == "" || !p.apart() {
			return "", "", false
		}
		name += "." + of
	}
	if !p.take('=') || !p.skip() {
		return "", "", false
	}
	marks := ".="
	if isReason {
		marks = ""
	}
	if value, ok = p.value(marks); !ok || !p.apart() {
		return "", "", false
	}
	return name, value, true
}

// apart is like skip, but returns false for a comment without white space before it.
func (p *scanner) apart() bool { return (p.done() || p.rest[0] != '(') && p.skip() }

// value reads characters and quoted strings up to the end of a value. A quoted local part
// is followed by "@" and the domain. Outside quotes, the only characters of ".=" allowed
// are marks, and a mark may not be first, last or next to another.
func (p *scanner) value(marks string) (string, bool) {
	var b strings.Builder
	mark := true // whether the last byte was a mark; true at the beginning
	for !p.done() {
		c := p.rest[0]
		switch {
		case c == '"':
			text, ok := p.quoted()
			if !ok {
				return "", false
			}
			b.WriteString(text)
			mark = false
		case c == '.' || c == '=':
			if mark || strings.IndexByte(marks, c) < 0 {
				return "", false
			}
			p.take(c)
			b.WriteByte(c)
			mark = true
		case isValue(c):
			b.WriteString(p.run(func(c byte) bool { return isValue(c) && c != '.' && c != '=' }))
			mark = false
		default:
			return b.String(), !mark
		}
	}
	return b.String(), !mark
}
