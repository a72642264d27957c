package value

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spambloom/spambloom/milter/idn"
	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/suffix"
)

// Bounds on mail addresses (RFC 5321, section 4.5.3.1) and names (RFC 1035, section 2.3.4).
// Unit: bytes.
const (
	maxLocal  = 64
	maxDomain = 255
	maxLabel  = 63
)

// listOf is a list of texts of one form. The function returns a text in lower case, or an
// error.
func listOf(allowed string, form func(string) (string, error)) Kind[[]string] {
	return Kind[[]string]{"a list of " + allowed, func(v any) ([]string, error) {
		list, err := stringList(v)
		if err != nil {
			return nil, err
		}
		var formed []string // nil for an empty list
		for _, s := range list {
			f, err := form(s)
			if err != nil {
				return nil, err
			}
			formed = append(formed, f)
		}
		return formed, nil
	}, showTexts}
}

const patternsAllowed = `"user@example.org", "example.org" (that domain) and ".example.org" (it and its subdomains)`

// Patterns are patterns of mail addresses.
func Patterns() Kind[[]string] {
	return listOf(patternsAllowed, func(s string) (string, error) {
		if strings.Contains(s, "@") {
			return mailAddress(s)
		}
		return domainPattern(s)
	})
}

// Addresses are complete mail addresses.
func Addresses() Kind[[]string] {
	return listOf(`mail addresses such as "user@example.org"`, mailAddress)
}

// Domains are the domains of mail addresses.
func Domains() Kind[[]string] {
	return listOf(`"example.org" (that domain) and ".example.org" (it and its subdomains)`, domainPattern)
}

// ListIDs are identifiers of mailing lists.
func ListIDs() Kind[[]string] {
	return listOf(`list identifiers (the text between < and > of List-Id) such as "news.example.org"`, func(s string) (string, error) {
		if in := strings.Trim(s, "<>"); in != s && in != "" {
			return "", fmt.Errorf("%s is not a list identifier: did you mean %q?", Literal(s), in)
		}
		if len(s) > maxDomain || strings.ContainsFunc(s, notInName) {
			return "", wrong(s, "a list identifier")
		}
		return strings.ToLower(s), nil
	})
}

// Registrable are domains as links of a message have them in its signatures.
func Registrable() Kind[[]string] {
	return listOf(`registrable domains such as "example.com", without a host and not a public suffix`, func(s string) (string, error) {
		name := s
		if !strings.HasPrefix(s, "[") { // the address of a public host
			host, err := domain(s)
			if err != nil {
				return "", because(wrong(s, "a registrable domain"), err)
			}
			name = host
		}
		if signature.IsDomain(name) {
			return name, nil
		}
		if in := suffix.Registrable(name); signature.IsDomain(in) {
			return "", fmt.Errorf("%s is not a registrable domain: did you mean %q?", Literal(s), in)
		}
		return "", wrong(s, "a registrable domain")
	})
}

// Listeners are addresses of the milter, or names of systemd's sockets.
func Listeners() Kind[[]string] {
	return listOf(`addresses as in milter.listen, or names of systemd's sockets`, func(s string) (string, error) {
		if strings.ContainsFunc(s, unicode.IsControl) {
			return "", wrong(s, "a listener")
		}
		return s, nil
	})
}

func mailAddress(s string) (string, error) {
	at := strings.LastIndexByte(s, '@')
	if at < 1 || at > maxLocal || strings.ContainsFunc(s[:at], notInName) {
		return "", wrong(s, "a mail address")
	}
	host, err := domain(s[at+1:])
	if err != nil {
		return "", because(wrong(s, "a mail address"), err)
	}
	return strings.ToLower(s[:at]) + "@" + host, nil
}

func domainPattern(s string) (string, error) {
	dot, name := "", s
	if strings.HasPrefix(s, ".") {
		dot, name = ".", s[1:]
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return "", wrong(s, "a domain")
	}
	host, err := domain(name)
	if err != nil {
		return "", because(wrong(s, "a domain"), err)
	}
	return dot + host, nil
}

// errForm marks an error that is obvious from the domain itself.
var errForm = errors.New("not a valid domain")

// because adds the reason unless it is obvious.
func because(fault, reason error) error {
	if errors.Is(reason, errForm) {
		return fault
	}
	return fmt.Errorf("%w: %w", fault, reason)
}

// domain returns the name in lower case and in its ASCII form, so that international
// domains match in either form, also with SMTPUTF8. A single label, such as localhost, is a
// domain.
func domain(s string) (string, error) {
	if s == "" || len(s) > maxDomain {
		return "", errForm
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || label[0] == '-' || label[len(label)-1] == '-' {
			return "", errForm
		}
		for _, r := range label {
			if r < utf8.RuneSelf && r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return "", errForm
			}
		}
	}
	host, err := idn.Written(s)
	if err != nil {
		return "", err
	}
	for label := range strings.SplitSeq(host, ".") {
		if len(label) > maxLabel {
			return "", errForm
		}
	}
	return host, nil
}

// notInName reports whether a character is not allowed in an unquoted user or list name.
func notInName(r rune) bool {
	return unicode.IsSpace(r) || unicode.IsControl(r) || r == unicode.ReplacementChar || strings.ContainsRune(`@<>()[]",;:\`, r)
}

// AuthservID is the first word of Authentication-Results (RFC 8601, section 2.2). Only a
// token (RFC 2045, section 5.1) may stand there without quotes, and the milter accepts
// nothing else.
func AuthservID() Kind[string] {
	return Text(`a name such as "mx1.example.org"`).checked(func(v any) error {
		if s, ok := v.(string); ok && (len(s) > maxDomain || strings.ContainsFunc(s, notInToken)) {
			return wrong(v, "an authserv-id")
		}
		return nil
	})
}

// ofMail are fields without a standard that programs write into mail of their users.
var ofMail = []string{
	"X-Spambloom", "X-Mailer", "X-Priority", "X-MSMail-Priority", "X-Original-To", "X-Received", "X-Originating-IP", "X-Sender",
	"X-Envelope-From", "X-Envelope-To", "X-Loop", "X-BeenThere", "X-Face", "X-Keywords", "X-Status", "X-UID", "X-Mozilla-Status",
}

// HeaderName is the name of a header field (RFC 5322, section 2.2) that mail does not have of itself:
// the field is removed from mail. The fields of standards do not begin with X- (RFC 6648).
func HeaderName() Kind[string] {
	return Text(`the name of a header that begins with X- and that mail does not have otherwise, such as "X-Spam-Flag"`).checked(func(v any) error {
		s, ok := v.(string)
		if ok && s != "" && (len(s) > maxLabel || len(s) < 3 || !strings.EqualFold(s[:2], "X-") || strings.ContainsFunc(s, notInToken) ||
			slices.ContainsFunc(ofMail, func(name string) bool { return strings.EqualFold(s, name) })) {
			return wrong(v, "the name of a second header")
		}
		return nil
	})
}

func notInToken(r rune) bool {
	return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?=`, r)
}
