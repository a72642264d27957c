package digest_test

import (
	"encoding/hex"
	"testing"

	"pgregory.net/rapid"

	"github.com/spambloom/spambloom/signature/digest"
)

// The numbers and names of kinds are stored and sent: they never change.
func TestKinds(t *testing.T) {
	for kind, want := range map[digest.Kind]struct {
		number uint8
		name   string
	}{
		digest.KindBody: {1, "body"}, digest.KindAttachment: {3, "attachment"}, digest.KindText: {4, "text"}, digest.KindSketch: {5, "sketch"},
		digest.KindImage: {6, "image"}, digest.KindDomain: {7, "domain"}, digest.KindContent: {8, "content"},
	} {
		if uint8(kind) != want.number || kind.String() != want.name {
			t.Errorf("kind %d is %s, want %d and %s", kind, kind, want.number, want.name)
		}
		if got, err := digest.ParseKind(want.name); err != nil || got != kind {
			t.Errorf("%s is read as %v, %v", want.name, got, err)
		}
	}
	if _, err := digest.ParseKind("kind-2"); err == nil {
		t.Error("an unknown kind is read")
	}
	if name := digest.Kind(2).String(); name != "kind-2" {
		t.Errorf("kind 2 is %s", name)
	}
}

// SHA-256 of the kind, the length in eight bytes and the content, as sha256sum has it.
func TestSum(t *testing.T) {
	const sumOfText = "645d885943beb987fe35639d25bc950f91bd388ed5e71a8383524953b6873722"
	a, b := digest.Sum(digest.KindText, []byte("abc")), digest.Sum(digest.KindBody, []byte("abc"))
	if got := hex.EncodeToString(a[:]); got != sumOfText {
		t.Errorf("digest of a text is %s, want %s", got, sumOfText)
	}
	if a == b {
		t.Error("two kinds have one digest")
	}
}

// RFC 4231, section 4.3; the data in any pieces.
func TestKeyed(t *testing.T) {
	const data, want = "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
	keyed := digest.NewKeyed([]byte("Jefe"))
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.IntRange(0, len(data)).Draw(t, "cut")
		d := keyed.Sum([]byte(data[:at]), []byte(data[at:]))
		if got := hex.EncodeToString(d[:]); got != want {
			t.Fatalf("HMAC is %s, want %s", got, want)
		}
	})
}
