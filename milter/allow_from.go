package milter

import (
	"strings"

	"github.com/spambloom/spambloom/milter/idn"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/suffix"
)

// authenticFrom is the address of the header From, if the results of the MTA's own
// verifier prove its domain; else "". It is in lower case, its domain in ASCII form, and
// so are the domains that it is compared with. The proof is one of
//
//   - dmarc=pass with header.from equal to the domain,
//   - dkim=pass with a header.d that is aligned with it,
//   - spf=pass with a smtp.mailfrom that is aligned with it, and is the sender of
//     this very envelope.
//
// Whose domain it is, it can call itself by any local part.
//
// A message with which the verifier could be made to write something else proves
// nothing; see repeatable.
func authenticFrom(e *envelope, header []signature.Field, authservID string) string {
	if authservID == "" || !repeatable(e, header) {
		return ""
	}
	address, sender := e.headerFrom(header), e.plainAddress(e.sender)
	if address == "" || sender == "" && e.sender != "" {
		return ""
	}
	_, domain, _ := cutAddress(address)
	own := ownResults(header, authservID)
	if e.passes(own["dmarc"], "header.from", func(d string) bool { return d == domain }) ||
		e.passes(own["dkim"], "header.d", func(d string) bool { return aligned(d, domain) }) {
		return address
	}
	_, host, _ := cutAddress(sender)
	if e.passes(own["spf"], "smtp.mailfrom", func(d string) bool { return d == host && aligned(d, domain) }) {
		return address
	}
	return ""
}

// repeatable says whether what verifiers repeat of a message in their fields stays
// within its value or comment there. They write it as it came, and who closes a comment
// or ends a result goes on with results of his own:
//
//   - policyd-spf 3.0.4 has sender and recipient in a comment, without their quotes; of
//     the sender see authenticFrom.
//   - OpenDMARC 1.4.2 has the name in HELO of a bounce, as a value.
//   - OpenDKIM 2.11.0 decodes the tag i of a signature: "i=x=3B=20dkim=3Dpass...@evil.example".
//     d and s may have blanks where the signer's own name server answers to such names.
func repeatable(e *envelope, header []signature.Field) bool {
	if int(e.count) > len(e.recipients) || len(e.helo) > maxAddress || !plain(e.helo, isValue) {
		return false
	}
	for _, address := range e.recipients {
		if !plain(address, isValue) {
			return false
		}
	}
	for _, f := range header {
		switch strings.ToLower(strings.TrimSpace(f.Name)) {
		case "dkim-signature", "arc-seal", "arc-message-signature":
			if !repeatableTags(f.Value) {
				return false
			}
		}
	}
	return true
}

// repeatableTags looks at the tags of a signature that verifiers repeat (RFC 6376,
// section 3.5).
func repeatableTags(signature string) bool {
	for tag := range strings.SplitSeq(signature, ";") {
		name, value, _ := strings.Cut(tag, "=")
		name, value = strings.Trim(name, whitespace), strings.Trim(value, whitespace)
		switch strings.ToLower(name) {
		case "a", "d", "i", "s":
			if strings.Contains(value, "=") || !plain(value, isValue) { // "=": quoted-printable
				return false
			}
		case "b":
			if !plain(value, isBase64) {
				return false
			}
		}
	}
	return true
}

func plain(s string, kind func(byte) bool) bool {
	for i := range len(s) {
		if !kind(s[i]) {
			return false
		}
	}
	return true
}

// isBase64 takes what folds it, too.
func isBase64(c byte) bool {
	return isLetter(c) || isDigit(c) || strings.IndexByte("+/="+whitespace, c) >= 0
}

// passes says whether one of the results is a pass for a domain that is wanted. Of a
// property with an address, such as smtp.mailfrom, it is the address's domain. A name
// that the verifier may have looked up as another one proves nothing: by IDNA2003 it asks
// the DNS for strasse.example where it writes straße.example.
func (e *envelope) passes(results []result, property string, wanted func(domain string) bool) bool {
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

// aligned says whether two domains are one owner's: they are equal, or one is above
// the other and no public suffix, below which strangers are. Both are lower case.
func aligned(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return a == b || strings.HasSuffix(a, "."+b) && suffix.Registrable(b) != ""
}

// headerFrom is the one address of the one From field, as plainAddress gives it; "" if
// there are more of either, or whenever a mail program could read another address from it
// than this does.
func (e *envelope) headerFrom(header []signature.Field) (address string) {
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

// mailbox reads a field with one address: "a@example.org", or a name and then
// "<a@example.org>". Of the syntax of RFC 5322, section 3.4, it takes what people
// write. "" stands for all else, such as lists, groups, routes, an address in the
// unquoted name or in a comment, white space or quotes in the address.
func (e *envelope) mailbox(value string) (address string) {
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

// plainAddress is an address in lower case if it is of dots and atoms, with a local part
// in ASCII and a domain of at least two labels, which is given in ASCII form; else "". An
// encoded word is no local part.
func (e *envelope) plainAddress(s string) string {
	if len(s) > maxAddress {
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

// isDomain is for host names of at least two labels (RFC 5321, section 4.1.2), in
// their ASCII form.
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
