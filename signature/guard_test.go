package signature_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/spambloom/spambloom/signature"
	"github.com/spambloom/spambloom/signature/guard"
	"github.com/spambloom/spambloom/signature/sketch/sketchtest"
)

// guardFile reads a message of testdata/guard.
func guardFile(t *testing.T, name string) signature.Message {
	t.Helper()
	return signature.Parse(readVector(t, filepath.Join("testdata/guard", name+".eml")))
}

// weakKinds do not change with what differs in guarded messages.
var weakKinds = []signature.Kind{signature.KindText, signature.KindSketch}

// hasWeak reports whether a report of a message lists by one of them.
func hasWeak(s signature.Set) bool {
	return slices.ContainsFunc(s.Signatures, func(s signature.Signature) bool { return slices.Contains(weakKinds, s.Kind) }) ||
		slices.ContainsFunc(s.Sketches, func(s signature.Sketch) bool { return slices.Contains(weakKinds, s.Kind) && !s.AskOnly })
}

// One user reports a; b, the same mail for somebody else, must not be listed. An
// imitation still signs.
func TestGuards(t *testing.T) {
	for _, tt := range []struct {
		name string
		want guard.Guard
		spam bool // there is an imitation
	}{
		{"code", guard.Code, true},
		{"code-chinese", guard.Code, false},
		{"code-german", guard.Code, false},
		{"invitation", guard.Invitation, true},
		{"bounce", guard.Bounce, true},
		{"receipt", guard.Receipt, true},
		{"away", guard.Away, true},
		{"away-subject", guard.Away, false},
		{"challenge", guard.Challenge, true},
		{"list", guard.List, true},
		{"confirm", guard.List, true},
		{"disclaimer", guard.None, true}, // no content is left to sign
		{"unsubscribe", guard.None, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := guardFile(t, tt.name+"-a"), guardFile(t, tt.name+"-b")
			reported, checked := signature.Compute(a), signature.Compute(b)
			for _, m := range []signature.Message{a, b} {
				if got := signature.GuardOf(m); got != tt.want {
					t.Errorf("guard %v, want %v", got, tt.want)
				}
			}
			if hasWeak(reported) || hasWeak(checked) {
				t.Errorf("its text signs: %v", checked.Signatures)
			}
			for _, s := range checked.Signatures {
				if slices.Contains(reported.Signatures, s) {
					t.Errorf("both have %s", s.ID())
				}
			}
			if text := signature.Text(a); text != "" {
				t.Errorf("text %q", text)
			}
			if !tt.spam {
				return
			}
			if spam := guardFile(t, tt.name+"-spam"); !hasWeak(signature.Compute(spam)) || signature.GuardOf(spam) != guard.None {
				t.Errorf("the imitation does not sign: guard %v", signature.GuardOf(spam))
			}
		})
	}
}

// Words of a guard in the copy of a reported spam do not hide it. Words that nobody sees,
// or that stand far below, make no guard.
func TestGuardsHideNothing(t *testing.T) {
	page := func(more string) signature.Message {
		return signature.Parse([]byte("Content-Type: text/html\n\n<style>.q{display:none}</style><p>" + ampleProse + "</p>" + more))
	}
	code := "<p>Your code is 482913. It is valid for ten minutes. Do not share it.</p>"
	guarded := signature.Compute(page(code))
	if signature.GuardOf(page(code)) != guard.Code || len(guarded.Sketches) != 1 || !guarded.Sketches[0].AskOnly {
		t.Fatalf("with a code: guard %v, sketches %d", signature.GuardOf(page(code)), len(guarded.Sketches))
	}
	if n := len(guarded.Sketches[0].Asked(func(h uint64) uint64 { return h })); n == 0 {
		t.Error("nothing is asked for")
	}
	for name, more := range map[string]string{
		"code":      "<p class=q>Your code is 482913. It is valid for ten minutes. Do not share it.</p>",
		"list":      "<p class=q>mailing list memberships reminder</p>",
		"below":     "<p>mailing list memberships reminder</p>",
		"challenge": "<p>challenge-response system to</p>",
	} {
		if got := signature.GuardOf(page(more)); got != guard.None {
			t.Errorf("%s: guard %v", name, got)
		}
	}
}

// Text that services add to the mail of all their customers is not the customers' own.
func TestServicesAddBoilerplate(t *testing.T) {
	mailer := func(words, firm string) string {
		return words + "\nYou are receiving this email because you signed up at our website. Our mailing address is: " + firm +
			". Want to change how you receive these emails? You can update your preferences or unsubscribe from this list.\n"
	}
	pull := func(words, path string) string {
		return words + "\n\nYou can view, comment on, or merge this pull request online at:\n\nhttps://github.com/" + path +
			"\n\nCommit Summary\n\nFile Changes\n\nPatch Links:\n\nReply to this email directly or view it on GitHub:\nYou are receiving this because you are subscribed to this thread.\n"
	}
	for name, pair := range map[string][2]string{
		"mailer": {mailer(ampleProse[:240], "City Library, Box 12"), mailer(ampleProse[250:], "Rook and Pawn, Box 7")},
		"pulls":  {pull(ampleProse[:240], "a/b/pull/5"), pull(ampleProse[250:], "c/d/pull/77")},
	} {
		for key := range uint64(20) {
			reported := sketchtest.Store{}
			for _, s := range signature.Compute(signature.Message{Body: []byte(pair[0])}).Sketches {
				reported.Report(s, sketchtest.KeyedBy(key))
			}
			sketches := signature.Compute(signature.Message{Body: []byte(pair[1])}).Sketches
			if len(reported) == 0 || len(sketches) == 0 {
				t.Fatalf("%s: no sketch", name)
			}
			if best, _ := reported.Found(sketches[0], sketchtest.KeyedBy(key)); best > 0 {
				t.Errorf("%s: %d keys in common under key %d", name, best, key)
			}
		}
	}
}

// The body, not the sender's logo, is the key of counting for a guarded text.
func TestGuardedCounting(t *testing.T) {
	a := guardFile(t, "code-a")
	s := signature.Compute(a)
	if len(s.Counting) != 1 || s.Counting[0].Kind != signature.KindBody {
		t.Errorf("counted under %v", s.Counting)
	}
	text := string(a.Body)
	withLogo := signature.Compute(signature.Parse([]byte(multi("related", "Content-Type: text/plain\n\n"+text, image("Content-ID: <logo>\n")))))
	if d := ofKind(withLogo, signature.KindAttachment); len(d) != 0 || hasWeak(withLogo) {
		t.Errorf("the logo signs: %v", withLogo.Signatures)
	}
}
