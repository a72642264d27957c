package signature_test

import (
	"bytes"
	"testing"

	"github.com/spambloom/spambloom/signature"
)

// ParseID is the inverse of ID, and refuses everything else.
func TestParseID(t *testing.T) {
	s := signature.Signature{Kind: signature.KindText, Digest: signature.Sum(signature.KindText, []byte("a text"))}
	kind, digest, err := signature.ParseID(s.ID())
	if err != nil || kind != s.Kind || !bytes.HasPrefix(s.Digest[:], digest[:]) {
		t.Errorf("%s: %v %x, %v", s.ID(), kind, digest, err)
	}
	for _, id := range []string{"", ":", "text", "text:", "text:0011", "text:00112233445566778", "text:001122334455667x", "cheese:0011223344556677", "0011223344556677", " text:0011223344556677"} {
		if kind, digest, err := signature.ParseID(id); err == nil {
			t.Errorf("%q: %v %x", id, kind, digest)
		}
	}
}
