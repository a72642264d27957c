// Package idn gives international domain names the one form in which they are
// compared: the ASCII form, "xn--bcher-kva.example" for "bücher.example" (RFC 5890,
// section 2.3.2). Configuration, envelope, header and a verifier's results may have
// either. It owns which names have that form. Whether a name in ASCII is a domain is
// for its callers to say.
//
// A name is never mapped into another one, but for its case. Software that maps
// (IDNA2003, UTS #46) reads full-width letters as ASCII, U+3002 as a dot, and leaves soft
// hyphens out; other software does not, and MTAs pass all of it on as it came. So such
// a name would be an allowed domain to one program and a stranger's to the next. Here
// it has no form, and matches nothing.
package idn

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// maxName bounds a name, in bytes and in either form (RFC 5321, section 4.5.3.1.2).
const maxName = 255

// ASCII is the name in its ASCII form and in lower case. A name in ASCII may be
// anything, and stays as it is but for its case. Any other is an error if one of its
// labels is not valid in UTF-8, or would have to be mapped. It is safe for concurrent
// use.
func ASCII(name string) (string, error) {
	if IsASCII(name) {
		return strings.ToLower(name), nil
	}
	if len(name) > maxName {
		return "", fmt.Errorf("a name of %d bytes, over %d", len(name), maxName)
	}
	labels := strings.Split(name, ".")
	for i, label := range labels {
		if IsASCII(label) {
			labels[i] = strings.ToLower(label)
			continue
		}
		form, err := asciiLabel(label)
		if err != nil {
			return "", fmt.Errorf("%+q has no ASCII form: %w", label, err)
		}
		labels[i] = form
	}
	if name = strings.Join(labels, "."); len(name) > maxName {
		return "", fmt.Errorf("a name of %d bytes in ASCII form, over %d", len(name), maxName)
	}
	return name, nil
}

// Written is ASCII for a name that an administrator wrote: a label with "xn--" that
// stands for nothing is an error, too.
func Written(name string) (string, error) {
	name, err := ASCII(name)
	if err != nil {
		return "", err
	}
	for label := range strings.SplitSeq(name, ".") {
		if !strings.HasPrefix(label, "xn--") {
			continue
		}
		if _, err := idna.Punycode.ToUnicode(label); err != nil {
			return "", fmt.Errorf("%q is the ASCII form of nothing: %w", label, err)
		}
	}
	return name, nil
}

// Ambiguous says that a name has characters that IDNA2003 takes for others, which made
// it another domain: ß for ss, ς for σ, joiners for nothing (UTS #46, section 7). What
// such software says of a name is not about the domain of its ASCII form.
func Ambiguous(name string) bool { return strings.ContainsAny(name, "ßẞς\u200c\u200d") }

var errCase = errors.New("a letter beyond ASCII whose lower case is an ASCII letter")

// asciiLabel tries the label as it is first: of the Cherokee letters the valid form is
// the upper case. idna.Registration is the one profile that maps nothing.
func asciiLabel(label string) (string, error) {
	form, err := idna.Registration.ToASCII(label)
	if err == nil {
		return form, nil
	}
	lower := strings.ToLower(label)
	for _, r := range label {
		if r >= utf8.RuneSelf && unicode.ToLower(r) < utf8.RuneSelf { // U+212A, the sign for Kelvin
			return "", errCase
		}
	}
	return idna.Registration.ToASCII(lower)
}

// IsASCII reports whether a name is in ASCII, so that ASCII has nothing to convert.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
