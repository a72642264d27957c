package policy

import (
	"strings"

	"github.com/spambloom/spambloom/milter/idn"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/suffix"
)

// maxSignatures bounds the signatures of a message that are read, in bytes: fifty forwarders add some 150 KiB (ARC).
const maxSignatures = 256 << 10

// authenticFrom returns the address of the header From if the results of the MTA's own
// verifier prove its domain; otherwise "". The address is in lower case and its domain in
// ASCII form, like the domains it is compared with. The proof is one of
//
//   - dmarc=pass with header.from equal to the domain,
//   - dkim=pass with an aligned header.d,
//   - spf=pass with an aligned smtp.mailfrom that is the sender of this envelope.
//
// The owner of a domain may use any local part.
//
// A message that could make the verifier write something else proves nothing; see
// isRepeatable. Neither does one of which only the beginning is signed; see mayGrow.
func authenticFrom(e *Envelope, header []signature.Field, authservID string) string {
	if authservID == "" || !isRepeatable(e, header) || mayGrow(header) {
		return ""
	}
	address, sender := e.headerFrom(header), e.plainAddress(e.Sender)
	if address == "" || sender == "" && e.Sender != "" {
		return ""
	}
	_, domain, _ := cutAddress(address)
	own := ownResults(header, authservID)
	if e.passes(own["dmarc"], "header.from", func(d string) bool { return d == domain }) ||
		e.passes(own["dkim"], "header.d", func(d string) bool { return isAligned(d, domain) }) {
		return address
	}
	_, host, _ := cutAddress(sender)
	if e.passes(own["spf"], "smtp.mailfrom", func(d string) bool { return d == host && isAligned(d, domain) }) {
		return address
	}
	return ""
}

// Sender returns the registrable domain of From, if the results of the MTA's own verifier prove it,
// else "". The header is nil if part of it was not kept.
func (r *Rules) Sender(e *Envelope, header []signature.Field) string {
	_, host, _ := cutAddress(authenticFrom(e, header, r.allow.authservID))
	return suffix.Registrable(host)
}

// isRepeatable reports whether the parts of a message that verifiers copy into their fields
// stay within one value or comment there. Verifiers copy them unchanged, so a sender who
// closes a comment or ends a result can append results of his own:
//
//   - policyd-spf 3.0.4 puts sender and recipient into a comment, without their quotes; for
//     the sender see authenticFrom.
//   - OpenDMARC 1.4.2 writes the HELO name of a bounce as a value.
//   - OpenDKIM 2.11.0 decodes the tag i of a signature: "i=x=3B=20dkim=3Dpass...@evil.example".
//     d and s may contain blanks if the signer's own name server answers for such names.
//
// A message with more of these fields than any verifier reads proves nothing.
func isRepeatable(e *Envelope, header []signature.Field) bool {
	if int(e.Count) > len(e.Recipients) || len(e.Helo) > MaxAddress || !isPlain(e.Helo, isValue) {
		return false
	}
	for _, address := range e.Recipients {
		if !isPlain(address, isValue) {
			return false
		}
	}
	size := 0
	for _, f := range header {
		switch strings.ToLower(strings.TrimSpace(f.Name)) {
		case "dkim-signature", "arc-seal", "arc-message-signature":
			if size += len(f.Value); size > maxSignatures || !hasRepeatableTags(f.Value) {
				return false
			}
		}
	}
	return true
}

// mayGrow reports whether a signature covers only the beginning of the body (tag l; RFC 6376, sections
// 3.5 and 8.2). It still passes when anyone has added a body of his own behind another's message, and
// changed the Content-Type so that only that is shown.
func mayGrow(header []signature.Field) bool {
	for _, f := range header {
		if !strings.EqualFold(strings.TrimSpace(f.Name), "DKIM-Signature") {
			continue
		}
		for tag := range strings.SplitSeq(f.Value, ";") {
			if name, _, _ := strings.Cut(tag, "="); strings.EqualFold(strings.Trim(name, whitespace), "l") {
				return true
			}
		}
	}
	return false
}

// hasRepeatableTags checks the tags of a signature that verifiers copy (RFC 6376, section
// 3.5).
func hasRepeatableTags(signature string) bool {
	for tag := range strings.SplitSeq(signature, ";") {
		name, value, _ := strings.Cut(tag, "=")
		name, value = strings.Trim(name, whitespace), strings.Trim(value, whitespace)
		switch strings.ToLower(name) {
		case "a", "d", "i", "s":
			if strings.Contains(value, "=") || !isPlain(value, isValue) { // "=": quoted-printable
				return false
			}
		case "b":
			if !isPlain(value, isBase64) {
				return false
			}
		}
	}
	return true
}

func isPlain(s string, kind func(byte) bool) bool {
	for i := range len(s) {
		if !kind(s[i]) {
			return false
		}
	}
	return true
}

// isBase64 also accepts folding white space.
func isBase64(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("+/="+whitespace, c) >= 0
}

// passes reports whether one of the results is a pass for a wanted domain. For a property
// with an address, such as smtp.mailfrom, the address's domain is used. A name that the
// verifier may have looked up as another one proves nothing: IDNA2003 asks the DNS for
// strasse.example but writes straße.example.
func (e *Envelope) passes(results []result, property string, wanted func(domain string) bool) bool {
	for _, r := range results {
		if r.value != "pass" {
			continue
		}
		value := r.property(property)
		name := value[strings.LastIndexByte(value, '@')+1:]
		if domain := e.ascii(name); isDomain(domain) && !idn.Ambiguous(name) && wanted(domain) {
			return true
		}
	}
	return false
}

// isAligned reports whether two domains have one owner: they are equal, or one is a
// subdomain of the other and the other is not a public suffix. Both are in lower case.
func isAligned(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || strings.HasSuffix(a, "."+b) && suffix.Registrable(b) != ""
}

// headerFrom returns the only address of the only From field, as plainAddress returns it.
// It returns "" if there are more addresses or fields, or if a mail program could read
// another address from the field.
func (e *Envelope) headerFrom(header []signature.Field) (address string) {
	found := false
	for _, f := range header {
		if !strings.EqualFold(strings.TrimSpace(f.Name), "From") {
			continue
		}
		if found || len(f.Name) != len("From") {
			return ""
		}
		found = true
		address = e.mailbox(f.Value)
	}
	return address
}

// mailbox reads a field with one address: "a@example.org", or a name followed by
// "<a@example.org>". It accepts the common part of RFC 5322, section 3.4. It returns "" for
// everything else: lists, groups, routes, an address in the unquoted name or in a comment,
// white space or quotes in the address.
func (e *Envelope) mailbox(value string) (address string) {
	p := scanner{rest: value}
	var words []string // unquoted
	quoted := false
	for p.blank(); !p.done(); p.blank() {
		switch p.rest[0] {
		case '(':
			if text, ok := p.comment(); !ok || strings.ContainsAny(text[1:len(text)-1], `@<>"\()`) {
				return ""
			}
		case '"':
			if _, ok := p.quoted(); !ok {
				return ""
			}
			quoted = true
		case '<':
			inside, after, closed := strings.Cut(p.rest[1:], ">")
			if !closed || strings.Trim(after, whitespace) != "" || strings.Contains(strings.Join(words, ""), "@") {
				return ""
			}
			return e.plainAddress(inside)
		default:
			word := p.run(func(c byte) bool { return isAtom(c) || c == '.' || c == '@' })
			if word == "" {
				return ""
			}
			words = append(words, word)
		}
	}
	if quoted || len(words) != 1 {
		return ""
	}
	return e.plainAddress(words[0])
}

// plainAddress returns an address in lower case, with its domain in ASCII form. The address
// must consist of dots and atoms, with an ASCII local part and a domain of at least two
// labels; otherwise plainAddress returns "". An encoded word is not a local part.
func (e *Envelope) plainAddress(s string) string {
	if len(s) > MaxAddress {
		return ""
	}
	address := e.compared(s)
	_, host, _ := cutAddress(address)
	local, _, _ := cutAddress(s)
	if !isDomain(host) || strings.Contains(local, "=?") {
		return ""
	}
	for word := range strings.SplitSeq(local, ".") {
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return r > 0x7e || !isAtom(byte(r)) }) {
			return ""
		}
	}
	return address
}

// isDomain reports whether host is a host name of at least two labels in ASCII form (RFC
// 5321, section 4.1.2).
func isDomain(host string) bool {
	labels := 0
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool { return r > 0x7e || !isKeyword(byte(r)) }) {
			return false
		}
		labels++
	}
	return labels >= 2 && len(host) <= 255
}
