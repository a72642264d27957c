package layers

import (
	"slices"
	"strings"
	"testing"
)

// signatureOrder is the order of the packages of signature: each imports only packages
// before it.
var signatureOrder = []string{
	"signature/work", "signature/ascii", "signature/span", "signature/digest", "signature/suffix", "signature/picture",
	"signature/sketch", "signature/mimefield", "signature/mail/utf7", "signature/mail/charsets", "signature/mail", "signature/skeleton", "signature/page/css", "signature/page/colour", "signature/page", "signature/visible", "signature/words", "signature/links",
	"signature/guard", "signature/archive", "signature",
}

// The packages of signature are read from the last one down, and none refers to a later one.
func TestOrderOfSignature(t *testing.T) {
	for pkg, imported := range allowed {
		if pkg != "signature" && !strings.HasPrefix(pkg, "signature/") || strings.HasSuffix(pkg, "test") {
			continue
		}
		at := slices.Index(signatureOrder, pkg)
		if at < 0 {
			t.Errorf("package %s has no place in the order", pkg)
			continue
		}
		for _, other := range imported {
			if !slices.Contains(signatureOrder[:at], other) {
				t.Errorf("%s must not import %s, which is not before it in the order", pkg, other)
			}
		}
	}
}
