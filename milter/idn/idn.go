// Package idn converts international domain names to the one form in which they are
// compared: the ASCII form, "xn--bcher-kva.example" for "bücher.example" (RFC 5890, section
// 2.3.2). Configuration, envelope, header and a verifier's results may contain either. The
// package owns which names have that form. Its callers check whether a name in ASCII is a
// domain.
//
// A name is never mapped to another one, except for its case. Software that maps (IDNA2003,
// UTS #46) reads full-width letters as ASCII, U+3002 as a dot, and ignores soft hyphens;
// other software does not, and MTAs pass on all of it unchanged. Such a name would be an
// allowed domain to one program and unknown to the next. Here it has no form, and matches
// nothing.
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

// ASCII returns the name in its ASCII form and in lower case. A name in ASCII may contain
// anything, and only its case changes. For any other name ASCII returns an error if a label
// is not valid UTF-8, or would have to be mapped. It is safe for concurrent use.
func ASCII(name string) (string, error) {
	if IsASCII(name) {
		return strings.ToLower(name), nil
	}
	if len(name) > maxName {
		return "", fmt.Errorf("name of %d bytes, limit %d", len(name), maxName)
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
		return "", fmt.Errorf("name of %d bytes in ASCII form, limit %d", len(name), maxName)
	}
	return name, nil
}

// Written is ASCII for a name that an administrator wrote: an invalid "xn--" label is an
// error too.
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
			return "", fmt.Errorf("%q is not a valid ASCII form: %w", label, err)
		}
	}
	return name, nil
}

// Ambiguous reports whether a name contains characters that IDNA2003 replaces and thereby
// turns into another domain: ß by ss, ς by σ, joiners by nothing (UTS #46, section 7). What
// such software reports for the name does not concern the domain of its ASCII form.
func Ambiguous(name string) bool { return strings.ContainsAny(name, "ßẞς\u200c\u200d") }

var errCase = errors.New("contains a non-ASCII letter whose lower case is an ASCII letter")

// asciiLabel tries the label unchanged first: for Cherokee letters the valid form is the
// upper case. idna.Registration is the only profile that maps nothing.
func asciiLabel(label string) (string, error) {
	form, err := idna.Registration.ToASCII(label)
	if err == nil {
		return form, nil
	}
	lower := strings.ToLower(label)
	for _, r := range label {
		if r >= utf8.RuneSelf && unicode.ToLower(r) < utf8.RuneSelf { // U+212A, the Kelvin sign
			return "", errCase
		}
	}
	return idna.Registration.ToASCII(lower)
}

// IsASCII reports whether a name is in ASCII, so that it needs no conversion.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
