package milter

import (
	"strings"

	"github.com/spambloom/spambloom/signature"
)

// fieldResults is the name of the header fields by which a verifier tells what it
// found (RFC 8601).
const fieldResults = "Authentication-Results"

// Bounds of what is read of a header for its results. The field of a real verifier
// is below them. Those of one field are OpenDKIM's, with some room.
const (
	maxResults    = 4000 // bytes of one field; a mark such as ";" counts for three
	maxWords      = 500  // of one field, comments and marks among them
	maxMethods    = 16   // results of one field
	maxProperties = 15   // of one result
	maxTop        = 100  // fields from the top
)

// result is what a verifier found by one method: RFC 8601, section 2.2, resinfo.
type result struct {
	method, value string // lower case
	properties    []property
}

// property is one of the things that the verifier looked at.
type property struct{ name, value string } // name as "header.d", lower case

// property is the value of the property of that name; "" if there is none, or two.
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

// ownResults are the results that the verifier called authservID found, by their
// method. MTAs show a milter the header without their own Received field, and
// verifiers insert their fields right below that one. So only what stands above
// every field of another kind is looked at: further down is what came with the
// message, or what this site wrote when the message came by before.
//
// The first field with a method decides about it, and none below a field that does
// not parse: a forged pass below a genuine failure is nothing. Against a forged
// field with a method that the verifier did not report there is no means here; the
// MTA must remove the fields that come in with authservID.
func ownResults(header []signature.Field, authservID string) map[string][]result {
	own := make(map[string][]result)
	for _, f := range header[:min(len(header), maxTop)] {
		if !ofVerifiers(f.Name) {
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

// isResults is for ASCII only: to EqualFold, but not to an MTA that removes forged fields,
// U+017F is an s.
func isResults(name string) bool {
	return len(name) == len(fieldResults) && strings.EqualFold(name, fieldResults)
}

// ofVerifiers says whether a field is of a kind that filters insert on top: OpenDKIM,
// OpenDMARC, OpenARC, policyd-spf, rspamd, amavis.
func ofVerifiers(name string) bool {
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

// cutAuthservID parts a field's value behind its authserv-id. The id must be plain,
// as all verifiers write it: RFC 8601 allows a comment before it and quotes, but
// what the MTA looks for, to remove forged fields, has neither.
func cutAuthservID(value string) (id, rest string, ok bool) {
	value = strings.TrimLeft(value, whitespace)
	end := strings.IndexFunc(value, func(r rune) bool { return r > 0x7e || !isToken(byte(r)) })
	if end < 0 {
		end = len(value)
	}
	id, rest = value[:end], value[end:]
	return id, rest, id != "" && (rest == "" || strings.IndexByte(whitespace+";", rest[0]) >= 0)
}

// parseResults reads what stands behind the authserv-id: RFC 8601, section 2.2. It
// is lenient in two things that verifiers do: a value may have all characters that
// end none, and the last result a semicolon behind it. What else does not conform
// is an error, and so is a version of the format other than 1.
//
// It takes less than the RFC allows, so that it takes nothing that OpenDKIM 2.11.0 does
// not understand: that removes forged fields, but leaves one that it cannot parse. So
// types of properties are its four, in lower case; a reason stands before them; values
// have dots and equal signs one at a time, and in between; a comment sticks to no word;
// and a field has no more than its buffers.
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
		if r.method == "none" && r.value == "" { // stands alone: no results
			return nil, results == nil && p.done()
		}
		if results = append(results, r); len(results) > maxMethods {
			return nil, false
		}
	}
	return results, results != nil
}

// result reads one result, and what may stand behind it.
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

// apart skips like skip, but is false at a comment without white space before it.
func (p *scanner) apart() bool { return (p.done() || p.rest[0] != '(') && p.skip() }

// value reads characters and quoted strings up to what ends a value. A quoted local
// part is followed by "@" and the domain. Outside of quotes, of ".=" it has only marks,
// and these neither first nor last nor next to each other.
func (p *scanner) value(marks string) (string, bool) {
	var b strings.Builder
	mark := true // the last byte was one, or there was none yet
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
