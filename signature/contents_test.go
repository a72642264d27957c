package signature_test

import (
	"strings"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/archive/archivetest"
)

// The archives of a message share the bytes that may be inflated.
func TestInflationBounded(t *testing.T) {
	var raw strings.Builder
	raw.WriteString("Content-Type: multipart/mixed; boundary=b\n\n")
	for i := range 8 {
		bomb := archivetest.Gzip(t, "", append([]byte(archivetest.Random(uint64(i), 3000)), make([]byte, freeInflated*2/5)...))
		raw.WriteString("--b\nContent-Type: application/gzip\nContent-Transfer-Encoding: base64\n\n" + encode(bomb) + "\n")
	}
	s := signature.Compute(signature.Parse([]byte(raw.String())))
	if got := len(ofKind(s, signature.KindContent)); got != 2 {
		t.Errorf("%d archives inflated, want 2", got)
	}
}
